// SPDX-License-Identifier: Apache-2.0
// loop_test -- watches, timers, tasks and mail reach their owners, and only them.
#include "event/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "os/clock.h"
#include "os/fd.h"

// Two ends of a connection: `watch` is on one, the test writes to the other.
struct end {
    struct loop_watch watch;
    int fds[2];
    int calls;
    unsigned ready;
    struct end *stops; // on_ready stops this one
    bool closes;       // ... by closing it
};

static struct loop *loop;

static int set_up(void **state)
{
    (void)state;
    int error = 0;
    loop = loop_new(&error);
    return loop ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

static void on_ready(struct loop_watch *w, unsigned ready)
{
    struct end *e = CONTAINER_OF(w, struct end, watch);
    e->calls++;
    e->ready |= ready;
    if (e->stops && e->closes)
        loop_watch_close(&e->stops->watch);
    else if (e->stops)
        loop_watch_stop(&e->stops->watch);
}

static void open_end(struct end *e)
{
    *e = (struct end){.watch.on_ready = on_ready};
    assert_int_equal(fd_pair(SOCK_STREAM | SOCK_NONBLOCK, e->fds), 0);
}

static void close_end(struct end *e)
{
    fd_close(&e->fds[0]);
    fd_close(&e->fds[1]);
}

static void start(struct end *e)
{
    assert_int_equal(loop_watch_start(loop, &e->watch, e->fds[0], POLL_READ), 0);
}

static void poke(struct end *e)
{
    assert_int_equal(fd_write(e->fds[1], STR("x")), 1);
}

static void what_is_ready_at_the_start_is_told_once(void **state)
{
    (void)state;
    struct end e;
    open_end(&e);
    poke(&e);
    start(&e);
    loop_turn(loop, -1);
    assert_int_equal(e.calls, 1);
    assert_int_equal(e.ready, POLL_READ);
    loop_turn(loop, 0);
    assert_int_equal(e.calls, 1);
    poke(&e);
    loop_turn(loop, -1);
    assert_int_equal(e.calls, 2);
    loop_watch_stop(&e.watch);
    loop_watch_stop(&e.watch);
    poke(&e);
    loop_turn(loop, 0);
    assert_int_equal(e.calls, 2);
    start(&e);
    loop_turn(loop, -1);
    assert_int_equal(e.calls, 3);
    loop_watch_stop(&e.watch);
    close_end(&e);
    assert_int_equal(loop_watch_start(loop, &e.watch, FD_NONE, POLL_READ), -EBADF);
    loop_watch_stop(&e.watch);
}

static void an_event_of_this_turn_does_not_reach_a_stopped_watch(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        struct end a;
        struct end b;
        open_end(&a);
        open_end(&b);
        a.stops = &b;
        b.stops = &a;
        a.closes = b.closes = closes;
        start(&a);
        start(&b);
        poke(&a);
        poke(&b);
        loop_turn(loop, -1);
        // Whichever came first has stopped the other.
        assert_int_equal(a.calls + b.calls, 1);
        struct end *stopped = a.calls ? &b : &a;
        struct end *first = a.calls ? &a : &b;
        loop_turn(loop, 0);
        assert_int_equal(a.calls + b.calls, 1);
        if (closes) {
            assert_int_equal(stopped->watch.fd, FD_NONE);
            assert_int_equal(fd_write(stopped->fds[1], STR("x")), -EPIPE);
            stopped->fds[0] = FD_NONE;
        }
        first->stops = NULL;
        loop_watch_stop(&first->watch);
        close_end(&a);
        close_end(&b);
    }
}

static void closing_a_stopped_watch_closes_nothing(void **state)
{
    (void)state;
    struct end e;
    open_end(&e);
    loop_watch_close(&e.watch); // zeroed: its fd is 0
    start(&e);
    loop_watch_stop(&e.watch);
    loop_watch_close(&e.watch);
    poke(&e);
    char byte;
    assert_int_equal(fd_read(e.fds[0], &byte, 1), 1);
    close_end(&e);
}

static void a_watch_moves_to_another_loop(void **state)
{
    (void)state;
    int error;
    struct loop *other = loop_new(&error);
    assert_non_null(other);
    struct end e;
    open_end(&e);
    start(&e);
    poke(&e);
    assert_int_equal(loop_watch_start(other, &e.watch, e.fds[0], POLL_READ), 0);
    loop_turn(loop, 0);
    assert_int_equal(e.calls, 0);
    loop_turn(other, -1);
    assert_int_equal(e.calls, 1);
    poke(&e);
    loop_turn(loop, 0);
    assert_int_equal(e.calls, 1);
    start(&e);
    loop_turn(other, 0);
    assert_int_equal(e.calls, 1);
    loop_turn(loop, -1);
    assert_int_equal(e.calls, 2);
    loop_watch_stop(&e.watch);
    close_end(&e);
    loop_free(other);
}

// A watch whose event is in this turn's batch when another one moves it away.
struct mover {
    struct end end;
    struct loop *to;
    struct mover *moves;
};

static void on_ready_move(struct loop_watch *w, unsigned ready)
{
    struct mover *m = CONTAINER_OF(w, struct mover, end.watch);
    struct mover *other = m->moves;
    (void)ready;
    m->end.calls++;
    assert_int_equal(loop_watch_start(m->to, &other->end.watch, other->end.fds[0], POLL_READ), 0);
}

static void a_watch_moved_within_a_turn_is_called_by_its_new_loop_only(void **state)
{
    (void)state;
    int error;
    struct loop *other = loop_new(&error);
    struct mover a = {.to = other};
    struct mover b = {.to = other};
    a.moves = &b;
    b.moves = &a;
    open_end(&a.end);
    open_end(&b.end);
    start(&a.end);
    start(&b.end);
    a.end.watch.on_ready = b.end.watch.on_ready = on_ready_move;
    poke(&a.end);
    poke(&b.end);
    loop_turn(loop, -1);
    assert_int_equal(a.end.calls + b.end.calls, 1);
    a.end.watch.on_ready = b.end.watch.on_ready = on_ready;
    loop_turn(loop, 0);
    assert_int_equal(a.end.calls + b.end.calls, 1);
    loop_turn(other, -1);
    assert_true(a.end.calls == 1 && b.end.calls == 1);
    loop_watch_stop(&a.end.watch);
    loop_watch_stop(&b.end.watch);
    close_end(&a.end);
    close_end(&b.end);
    loop_free(other);
}

struct alarm {
    struct loop_timer timer;
    int calls;
    uint64_t at_us;
    struct alarm *stops;
    uint64_t again_us; // restarts itself when not 0
};

static void on_expired(struct loop_timer *t)
{
    struct alarm *a = CONTAINER_OF(t, struct alarm, timer);
    a->calls++;
    a->at_us = loop_now_us(loop);
    assert_false(loop_timer_is_armed(t));
    if (a->stops)
        loop_timer_stop(&a->stops->timer);
    if (a->again_us && a->calls < 3)
        loop_timer_start(loop, t, a->again_us);
}

static void timers_wake_the_loop_in_time(void **state)
{
    (void)state;
    struct alarm a = {.timer.on_expired = on_expired, .again_us = 3000};
    uint64_t from_us = loop_now_us(loop);
    loop_timer_start(loop, &a.timer, 5000);
    assert_true(loop_timer_is_armed(&a.timer));
    while (a.calls < 1)
        loop_turn(loop, -1);
    assert_true(a.at_us >= from_us + 5000);
    while (a.calls < 3)
        loop_turn(loop, -1);
    assert_true(a.at_us >= from_us + 11000);
    assert_false(loop_timer_is_armed(&a.timer));
    loop_timer_start(loop, &a.timer, UINT64_MAX);
    loop_turn(loop, 0);
    assert_true(loop_timer_is_armed(&a.timer));
    loop_timer_stop(&a.timer);
    assert_false(loop_timer_is_armed(&a.timer));
}

static void a_timer_of_the_same_moment_can_be_stopped(void **state)
{
    (void)state;
    struct alarm a = {.timer.on_expired = on_expired};
    struct alarm b = {.timer.on_expired = on_expired};
    a.stops = &b;
    b.stops = &a;
    loop_timer_start(loop, &a.timer, 1000);
    loop_timer_start(loop, &b.timer, 1000);
    while (a.calls + b.calls == 0)
        loop_turn(loop, -1);
    assert_false(loop_timer_is_armed(&a.timer) || loop_timer_is_armed(&b.timer));
    assert_int_equal(a.calls + b.calls, 1);
}

struct errand {
    struct loop_task task;
    int calls;
    bool again;
};

static void run_errand(struct loop_task *task)
{
    struct errand *e = CONTAINER_OF(task, struct errand, task);
    e->calls++;
    if (e->again)
        loop_later(loop, task);
}

static void a_later_task_runs_once_and_the_loop_does_not_wait_for_it(void **state)
{
    (void)state;
    struct errand once = {.task.run = run_errand};
    struct errand always = {.task.run = run_errand, .again = true};
    struct errand never = {.task.run = run_errand};
    loop_later(loop, &once.task);
    loop_later(loop, &once.task);
    loop_later(loop, &always.task);
    loop_later(loop, &never.task);
    loop_later_cancel(&never.task);
    loop_later_cancel(&never.task);
    for (int turn = 1; turn <= 3; turn++) {
        loop_turn(loop, -1);
        assert_int_equal(always.calls, turn);
    }
    assert_int_equal(once.calls, 1);
    assert_int_equal(never.calls, 0);
    loop_later_cancel(&always.task);
}

#define POSTS   20000
#define POSTERS 3

static struct errand posted[POSTERS][POSTS];
static _Atomic int left;

static void run_posted(struct loop_task *task)
{
    run_errand(task);
    if (atomic_fetch_sub(&left, 1) == 1)
        loop_stop(loop);
}

static void *post_all(void *arg)
{
    struct errand *mine = arg;
    for (int i = 0; i < POSTS; i++) {
        mine[i].task.run = run_posted;
        loop_post(loop, &mine[i].task);
    }
    return NULL;
}

static void mail_of_other_threads_comes_once_each(void **state)
{
    (void)state;
    pthread_t threads[POSTERS];
    left = POSTERS * POSTS;
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, posted[i]), 0);
    loop_run(loop);
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
        for (int n = 0; n < POSTS; n++)
            assert_int_equal(posted[i][n].calls, 1);
    }
    loop_turn(loop, 0);
    assert_int_equal(left, 0);
}

static void clocks_are_read_once_a_turn(void **state)
{
    (void)state;
    loop_turn(loop, 0);
    uint64_t now_us = loop_now_us(loop);
    int64_t wall_us = loop_wall_us(loop);
    uint64_t real_us;
    while ((real_us = clock_mono_us()) == now_us)
        ;
    assert_true(loop_now_us(loop) == now_us && loop_wall_us(loop) == wall_us);
    loop_turn(loop, 0);
    assert_true(loop_now_us(loop) >= real_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ready_at_the_start_is_told_once),
        cmocka_unit_test(an_event_of_this_turn_does_not_reach_a_stopped_watch),
        cmocka_unit_test(closing_a_stopped_watch_closes_nothing),
        cmocka_unit_test(a_watch_moves_to_another_loop),
        cmocka_unit_test(a_watch_moved_within_a_turn_is_called_by_its_new_loop_only),
        cmocka_unit_test(timers_wake_the_loop_in_time),
        cmocka_unit_test(a_timer_of_the_same_moment_can_be_stopped),
        cmocka_unit_test(a_later_task_runs_once_and_the_loop_does_not_wait_for_it),
        cmocka_unit_test(mail_of_other_threads_comes_once_each),
        cmocka_unit_test(clocks_are_read_once_a_turn),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
