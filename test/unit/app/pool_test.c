// SPDX-License-Identifier: Apache-2.0
// pool_test -- the pool against a keeper and workers that the test plays on its own clock: order,
// limits, scaling, rolling change; and at random, with the invariants checked after each step.
#include "app/pool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
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

#include "app/pool_report.h"
#include "app/pool_restart.h"
#include "app/pool_state.h"
#include "base/hash.h"
#include "os/fd.h"
#include "os/file.h"

#define SECOND_US   UINT64_C(1000000)
#define WORKERS_MAX 64
#define CLIENTS_MAX 64

static struct thread thread;
static uint64_t now_us;

// A worker as the keeper knows it.
struct process {
    uint32_t id;
    struct str app;
    uint64_t anon_kib;
    int peer; // the worker's end; FD_NONE: not ready yet, or closed
    bool alive;
    bool kill_wanted;
};

static struct process processes[4096];
static size_t process_count;
static unsigned starts, kills, traces, app_idles, restarted, not_restarted;
static struct pool *pool;
static struct pool_limits limits;

// A request.
struct client {
    struct exchange exchange;
    struct ticket ticket;
    struct slot *slot;
    bool waits;
    int failure; // -1: none
    char text[512];
};

static struct client clients[CLIENTS_MAX];
static unsigned order[4096]; // of the clients that were given a slot by the inbox
static size_t ordered;

static void on_start(void *arg, struct str app, uint32_t id)
{
    (void)arg;
    struct str name = str_eq(app, STR("shop")) ? STR("shop") : STR("blog");
    assert_true(str_eq(app, name));
    assert_true(process_count < ARRAY_LEN(processes));
    processes[process_count++] =
        (struct process){.id = id, .app = name, .peer = FD_NONE, .alive = true};
    starts++;
}

static void on_signal(void *arg, uint32_t id, int signal)
{
    (void)arg;
    if (signal == SIGUSR2) {
        traces++;
        return;
    }
    assert_int_equal(signal, SIGKILL);
    kills++;
    for (size_t i = 0; i < process_count; i++)
        if (processes[i].id == id)
            processes[i].kill_wanted = true;
}

static void on_app_idle(void *arg, struct str app)
{
    (void)arg;
    (void)app;
    app_idles++;
}

static void on_restarted(void *arg, struct str app, bool ok, struct str text)
{
    (void)arg;
    assert_true(str_eq(app, STR("shop")));
    assert_int_equal(ok, text.len == 0);
    restarted += ok;
    not_restarted += !ok;
}

// Pids are the ids' low bits.
static uint64_t anon_kib(pid_t pid)
{
    for (size_t i = 0; i < process_count; i++)
        if ((int32_t)(processes[i].id & 0xffff) == pid)
            return processes[i].anon_kib;
    return 0;
}

static uint64_t clock_now(void)
{
    return now_us;
}

static void look(void)
{
    pool_look();
    for (int i = 0; i < 3; i++)
        loop_turn(thread.loop, 0);
    pool_report_check();
}

static void pass(uint64_t us)
{
    now_us += us;
    look();
}

static void ready(struct process *p)
{
    int pair[2];
    assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
    p->peer = pair[1];
    pool_ready(p->app, p->id, (int32_t)p->id & 0xffff, pair[0]);
    look();
}

static enum pool_exit end(struct process *p, int status)
{
    int32_t pid;
    fd_close(&p->peer);
    p->alive = false;
    enum pool_exit how = pool_exited(p->app, p->id, status, &pid);
    look();
    return how;
}

static void start_fails(struct process *p, const char *why)
{
    p->alive = false;
    pool_failed(p->app, p->id, str_c(why));
    look();
}

static void on_slot(struct ticket *t, struct slot *slot)
{
    struct client *c = CONTAINER_OF(t, struct client, ticket);
    assert_true(c->waits && !c->slot);
    c->waits = false;
    c->slot = slot;
    if (ordered < ARRAY_LEN(order))
        order[ordered++] = (unsigned)(c - clients);
}

static void on_failed(struct ticket *t, enum endpoint_failure failure, struct str text)
{
    struct client *c = CONTAINER_OF(t, struct client, ticket);
    assert_true(c->waits);
    c->waits = false;
    c->failure = (int)failure;
    size_t len = text.len < sizeof c->text ? text.len : sizeof c->text - 1;
    memcpy(c->text, text.ptr, len);
    c->text[len] = '\0';
}

static void ask_pool(struct client *c, struct pool *p)
{
    struct endpoint *ep = pool_endpoint(p);
    memset(c, 0, sizeof *c);
    c->exchange.thread = &thread;
    c->ticket =
        (struct ticket){.exchange = &c->exchange, .on_slot = on_slot, .on_failed = on_failed};
    c->failure = -1;
    c->slot = ep->ops->acquire(ep, &c->ticket);
    c->waits = !c->slot;
}

static void ask(struct client *c)
{
    ask_pool(c, pool);
}

static void leave(struct client *c)
{
    struct endpoint *ep = c->ticket.endpoint;
    if (c->waits)
        ep->ops->cancel(ep, &c->ticket);
    c->waits = false;
}

static void give(struct client *c, enum slot_outcome outcome)
{
    struct endpoint *ep = c->slot->endpoint;
    ep->ops->release(ep, c->slot, outcome);
    c->slot = NULL;
}

static struct process *process_of(const struct client *c)
{
    for (size_t i = 0; i < process_count; i++)
        if (processes[i].id == c->slot->worker_id)
            return &processes[i];
    fail_msg("the slot belongs to no process");
    return NULL;
}

static struct pool_settings settings(void)
{
    return (struct pool_settings){
        .name = STR("shop"),
        .digest = 1,
        .workers_max = 2,
        .queue_max = 8,
        .queue_us = 60 * SECOND_US,
        .idle_us = 60 * SECOND_US,
        .stop_us = 10 * SECOND_US,
        .request_us = 30 * SECOND_US,
        .detached_us = 600 * SECOND_US,
    };
}

static void commit(struct pool_settings set)
{
    pool_commit(&set, 1, &limits);
    look();
}

static int open_case(void **state)
{
    (void)state;
    int error;
    hash_key(1, 2);
    now_us = 1000 * SECOND_US;
    process_count = 0;
    starts = kills = traces = app_idles = restarted = not_restarted = 0;
    ordered = 0;
    limits = (struct pool_limits){0};
    memset(clients, 0, sizeof clients);
    struct loop *loop = loop_new(&error);
    assert_non_null(loop);
    thread_init(&thread, 0, loop, NULL);
    struct pool_link link = {on_start,  on_signal, on_app_idle, on_restarted,
                             clock_now, anon_kib,  NULL};
    pool_open(&link, &thread, 1);
    pool_thread_start(&thread);
    pool = pool_ref(STR("shop"));
    commit(settings());
    return 0;
}

static int close_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        leave(&clients[i]);
        if (clients[i].slot)
            give(&clients[i], SLOT_REUSE);
    }
    pool_unref(pool);
    pool_close();
    for (size_t i = 0; i < process_count; i++)
        fd_close(&processes[i].peer);
    struct loop *loop = thread.loop;
    thread_done(&thread);
    loop_free(loop);
    return 0;
}

static const struct pool_report *report(struct arena *a)
{
    size_t count;
    const struct pool_report *r = pool_report(a, &count);
    assert_int_equal(count, 1);
    return r;
}

// Its connection was closed: it is to leave.
static bool has_left(const struct process *p)
{
    char byte;
    return p->peer == FD_NONE || recv(p->peer, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

static void nothing_runs_without_requests(void **state)
{
    (void)state;
    assert_int_equal(starts, 0);
    pass(3600 * SECOND_US);
    assert_int_equal(starts, 0);
    assert_int_equal(app_idles, 0);
}

static void the_first_request_starts_a_worker(void **state)
{
    (void)state;
    ask(&clients[0]);
    look();
    assert_int_equal(starts, 1);
    assert_true(clients[0].waits);
    ready(&processes[0]);
    assert_non_null(clients[0].slot);
    give(&clients[0], SLOT_REUSE);
    ask(&clients[1]); // served by the one that is there
    assert_non_null(clients[1].slot);
    assert_int_equal(clients[1].slot->served, 1);
    assert_int_equal(starts, 1);
}

static void waiting_requests_are_served_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        ask(&clients[i]);
    look();
    assert_int_equal(starts, 2); // the maximum
    ready(&processes[0]);
    ready(&processes[1]);
    leave(&clients[3]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 6; i++)
            if (clients[i].slot)
                give(&clients[i], SLOT_REUSE);
        look();
    }
    static const unsigned WANTED[] = {0, 1, 2, 4, 5};
    assert_int_equal(ordered, ARRAY_LEN(WANTED));
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++)
        assert_int_equal(order[i], WANTED[i]);
}

static void a_short_wait_starts_no_second_worker(void **state)
{
    (void)state;
    ask(&clients[0]);
    look();
    now_us += 100000; // what a start takes
    ready(&processes[0]);
    ask(&clients[1]);
    pass(50000);
    assert_int_equal(starts, 1);
    pass(60000);
    assert_int_equal(starts, 2);
}

static void the_queue_has_its_limits(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        ask(&clients[i]);
    ask(&clients[8]);
    look();
    assert_int_equal(clients[8].failure, ENDPOINT_QUEUE_FULL);
    assert_non_null(strstr(clients[8].text, "queue 8"));
    pass(59 * SECOND_US);
    assert_true(clients[0].waits);
    pass(2 * SECOND_US);
    for (int i = 0; i < 8; i++)
        assert_int_equal(clients[i].failure, ENDPOINT_QUEUE_TIMEOUT);
    assert_non_null(strstr(clients[0].text, "queue_time"));
}

static void failed_starts_are_told_and_tried_later(void **state)
{
    (void)state;
    struct arena a = {0};
    ask(&clients[0]);
    look();
    for (size_t i = 0; i < POOL_FAILURES_MAX; i++) {
        assert_int_equal(starts, i + 1);
        assert_true(clients[0].waits); // one failure may have passed
        start_fails(&processes[i], "exited with 1: \"no such class\"");
        assert_int_equal(starts, i + 1); // not at once
        pass(POOL_BACKOFF_MIN_US << i);
    }
    assert_int_equal(clients[0].failure, ENDPOINT_START_FAILED);
    assert_non_null(strstr(clients[0].text, "no such class"));
    assert_true(str_eq(report(&a)->failure, STR("exited with 1: \"no such class\"")));
    ask(&clients[1]); // the back-off is over: it is tried
    look();
    assert_int_equal(starts, POOL_FAILURES_MAX + 1);
    start_fails(&processes[POOL_FAILURES_MAX], "again");
    assert_int_equal(clients[1].failure, ENDPOINT_START_FAILED);
    ask(&clients[2]); // in the back-off: refused at once
    look();
    assert_int_equal(clients[2].failure, ENDPOINT_START_FAILED);
    assert_int_equal(starts, POOL_FAILURES_MAX + 1);
    pass(POOL_BACKOFF_MAX_US);
    ask(&clients[3]);
    look();
    ready(&processes[POOL_FAILURES_MAX + 1]);
    assert_non_null(clients[3].slot);
    assert_int_equal(report(&a)->failures_in_row, 0);
    arena_done(&a);
}

// A regular file is what epoll refuses; it stands for a kernel without memory for one more.
static int unwatchable(void)
{
    int fd = file_unnamed("/tmp");
    assert_true(fd >= 0);
    return fd;
}

static void a_worker_that_can_not_be_watched_is_a_failed_start(void **state)
{
    (void)state;
    struct arena a = {0};
    ask(&clients[0]);
    look();
    pool_ready(STR("shop"), processes[0].id, 1, unwatchable());
    look();
    assert_true(str_starts(report(&a)->failure, STR("its connection cannot be watched: ")));
    assert_int_equal(starts, 1);
    assert_true(clients[0].waits);
    pass(POOL_BACKOFF_MIN_US);
    assert_int_equal(starts, 2);
    ready(&processes[1]);
    assert_non_null(clients[0].slot);
    pass(10 * SECOND_US); // stop_us: what could not be told to leave is killed
    assert_true(processes[0].kill_wanted);
    arena_done(&a);
}

// As if the worker's connection had to move to a loop that has no room for it.
static void spoil(struct slot *slot)
{
    int file = unwatchable();
    loop_watch_stop(&slot->watch);
    assert_int_equal(dup3(file, slot->fd, O_CLOEXEC), slot->fd);
    fd_close(&file);
}

static void a_worker_that_can_not_be_moved_is_let_go(void **state)
{
    (void)state;
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    struct slot *slot = clients[0].slot;
    assert_non_null(slot);
    give(&clients[0], SLOT_REUSE);
    spoil(slot);
    ask(&clients[1]); // finds it idle
    look();
    assert_true(clients[1].waits);
    assert_int_equal(starts, 2);
    assert_int_equal(end(&processes[0], 0), POOL_EXIT_WANTED);
    ready(&processes[1]);
    slot = clients[1].slot;
    assert_non_null(slot);
    ask(&clients[2]); // waits for it
    spoil(slot);
    give(&clients[1], SLOT_REUSE);
    look();
    assert_true(clients[2].waits && !clients[2].slot);
    assert_int_equal(starts, 3);
    ready(&processes[2]);
    assert_non_null(clients[2].slot);
}

static void a_failed_start_keeps_the_old_workers(void **state)
{
    (void)state;
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    ask(&clients[1]);
    look();
    assert_int_equal(starts, 2);
    for (size_t i = 1; i < 6; i++) {
        start_fails(&processes[i], "no memory");
        pass(POOL_BACKOFF_MAX_US / 10);
        pass(POOL_BACKOFF_MAX_US);
    }
    assert_true(clients[1].waits); // the old one will serve it
    give(&clients[0], SLOT_REUSE);
    look();
    assert_non_null(clients[1].slot);
}

static void idle_workers_leave_and_then_the_spawner(void **state)
{
    (void)state;
    ask(&clients[0]);
    ask(&clients[1]);
    look();
    ready(&processes[0]);
    ready(&processes[1]);
    give(&clients[0], SLOT_REUSE);
    give(&clients[1], SLOT_REUSE);
    pass(59 * SECOND_US);
    assert_int_equal(fd_read(processes[0].peer, (char[1]){0}, 0), 0);
    pass(2 * SECOND_US);
    char byte;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fd_read(processes[i].peer, &byte, 1), 0); // closed: it is to leave
        assert_int_equal(app_idles, 0);
        assert_int_equal(end(&processes[i], 0), POOL_EXIT_WANTED);
    }
    assert_int_equal(app_idles, 1);
    assert_int_equal(kills, 0);
}

static void a_worker_that_does_not_leave_is_killed(void **state)
{
    (void)state;
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    give(&clients[0], SLOT_REUSE);
    pass(61 * SECOND_US);
    pass(9 * SECOND_US);
    assert_int_equal(kills, 0);
    pass(2 * SECOND_US);
    assert_int_equal(kills, 1);
    assert_int_equal(end(&processes[0], 9), POOL_EXIT_WANTED);
}

static void the_minimum_is_kept(void **state)
{
    (void)state;
    struct pool_settings set = settings();
    set.workers_min = 2;
    set.workers_max = 4;
    commit(set);
    assert_int_equal(starts, 2);
    ready(&processes[0]);
    ready(&processes[1]);
    pass(3600 * SECOND_US);
    assert_int_equal(end(&processes[0], 9), POOL_EXIT_UNEXPECTED);
    assert_int_equal(starts, 3);
}

// What becomes of a worker by how its slot comes back.
static void outcomes(void **state)
{
    static const struct {
        enum slot_outcome outcome;
        const char *state;
        uint64_t kill_after_us;
    } CASES[] = {
        {SLOT_DETACHED, "detached", 600 * SECOND_US},
        {SLOT_BROKEN, "retiring", 30 * SECOND_US},
        {SLOT_STUCK, "retiring", 0},
    };

    close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a = {0};
        open_case(state);
        ask(&clients[0]);
        look();
        ready(&processes[0]);
        give(&clients[0], CASES[i].outcome);
        assert_string_equal(report(&a)->workers[0].state, CASES[i].state);
        if (CASES[i].kill_after_us) {
            pass(CASES[i].kill_after_us - 1);
            assert_int_equal(kills, 0);
        }
        pass(1);
        assert_int_equal(kills, 1);
        assert_int_equal(report(&a)->worker_count, 1); // counts until its end
        assert_int_equal(end(&processes[0], 9), POOL_EXIT_WANTED);
        assert_int_equal(report(&a)->worker_count, 0);
        arena_done(&a);
        close_case(state);
    }
    open_case(state);
}

static void a_stuck_worker_says_where_it_is(void **state)
{
    (void)state;
    pool_info(STR("shop"), STR("{\"runtime\":\"godwit-php\"}"));
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    give(&clients[0], SLOT_STUCK);
    look();
    assert_int_equal(traces, 1);
    assert_int_equal(kills, 0);
    pass(POOL_TRACE_US);
    assert_int_equal(kills, 1);
    assert_int_equal(end(&processes[0], 9), POOL_EXIT_WANTED);
}

static void detached_workers_count(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        ask(&clients[i]);
    look();
    ready(&processes[0]);
    ready(&processes[1]);
    give(&clients[0], SLOT_DETACHED);
    give(&clients[1], SLOT_DETACHED);
    pass(SECOND_US);
    assert_non_null(clients[2].slot ? NULL : &clients[2]); // nobody is left, nobody may be started
    assert_int_equal(starts, 2);
    assert_int_equal(end(&processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(starts, 3);
}

static void an_idle_worker_that_closes_is_not_given_out(void **state)
{
    (void)state;
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    give(&clients[0], SLOT_REUSE);
    fd_close(&processes[0].peer);
    look();
    ask(&clients[1]);
    assert_null(clients[1].slot);
    look();
    assert_int_equal(starts, 2);
    assert_int_equal(end(&processes[0], 0), POOL_EXIT_WANTED);
}

static void death_is_known_before_the_slot_comes_back(void **state)
{
    (void)state;
    struct arena a = {0};
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    assert_int_equal(end(&processes[0], 11), POOL_EXIT_UNEXPECTED);
    assert_int_equal(report(&a)->worker_count, 1); // its last bytes may still be read
    give(&clients[0], SLOT_BROKEN);
    assert_int_equal(report(&a)->worker_count, 0);
    arena_done(&a);
}

static void workers_are_replaced_by_count(void **state)
{
    (void)state;
    struct pool_settings set = settings();
    set.requests_max = 3;
    set.workers_min = set.workers_max = 1;
    commit(set);
    for (int i = 0; i < 3; i++) {
        ask(&clients[0]);
        look();
        if (!i)
            ready(&processes[0]);
        assert_non_null(clients[0].slot);
        give(&clients[0], SLOT_REUSE);
    }
    look();
    assert_int_equal(starts, 2); // its replacement
    ask(&clients[0]);
    assert_ptr_equal(process_of(&clients[0]), &processes[0]); // serves until that is ready
    ready(&processes[1]);
    assert_false(has_left(&processes[0])); // not in the middle of a request
    assert_false(has_left(&processes[1])); // nor is the new one too many
    give(&clients[0], SLOT_REUSE);
    assert_true(has_left(&processes[0]));
    ask(&clients[0]);
    assert_ptr_equal(process_of(&clients[0]), &processes[1]);
    assert_int_equal(end(&processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(starts, 2);
}

static void worn_workers_go_one_at_a_time(void **state)
{
    (void)state;
    struct arena a = {0};
    struct pool_settings set = settings();
    set.requests_max = 1;
    set.workers_max = 3;
    commit(set);
    for (int i = 0; i < 3; i++)
        ask(&clients[i]);
    look();
    for (int i = 0; i < 3; i++)
        ready(&processes[i]);
    for (int i = 0; i < 3; i++)
        give(&clients[i], SLOT_REUSE);
    look();
    assert_int_equal(report(&a)->worn, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(starts, 4 + i); // one more
        if (i == 0) {                    // one that fails changes nothing
            start_fails(&processes[3], "no memory");
            assert_int_equal(report(&a)->worn, 3);
            pass(POOL_BACKOFF_MAX_US);
            processes[3] = processes[--process_count];
            starts--;
        }
        unsigned left = 0;
        ready(&processes[3 + i]);
        for (int j = 0; j < 3; j++) {
            left += has_left(&processes[j]);
            if (processes[j].alive && has_left(&processes[j]))
                assert_int_equal(end(&processes[j], 0), POOL_EXIT_WANTED);
        }
        assert_int_equal(left, i + 1);
    }
    look();
    assert_int_equal(report(&a)->worn, 0);
    assert_int_equal(starts, 6);
    arena_done(&a);
}

static void requests_differ_by_a_tenth(void **state)
{
    (void)state;
    struct pool_settings set = settings();
    set.requests_max = 100;
    set.workers_min = set.workers_max = 60;
    commit(set);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (size_t i = 0; i < process_count; i++) {
        ready(&processes[i]);
        ask(&clients[i]);
        const struct pool_worker *w = CONTAINER_OF(clients[i].slot, struct pool_worker, slot);
        least = w->requests_max < least ? w->requests_max : least;
        most = w->requests_max > most ? w->requests_max : most;
    }
    assert_int_equal(process_count, 60);
    assert_true(least >= 90 && least < 97 && most > 103 && most <= 110);
}

static void workers_are_replaced_for_their_memory(void **state)
{
    (void)state;
    struct arena a = {0};
    struct pool_settings set = settings();
    set.memory_max_bytes = 1024 * 1024;
    commit(set);
    ask(&clients[0]);
    look();
    processes[0].anon_kib = 1000;
    ready(&processes[0]);
    give(&clients[0], SLOT_REUSE);
    look();
    assert_int_equal(report(&a)->worn, 0);
    processes[0].anon_kib = 2000;
    ask(&clients[0]);
    give(&clients[0], SLOT_REUSE);
    assert_int_equal(report(&a)->worn, 0); // measured once a second
    pass(SECOND_US);
    ask(&clients[0]);
    give(&clients[0], SLOT_REUSE);
    look();
    assert_int_equal(report(&a)->worn, 1);
    assert_int_equal(starts, 2);
    ready(&processes[1]);
    assert_true(has_left(&processes[0]));
    arena_done(&a);
}

// ---- several apps

static struct pool *blog;

static void commit_both(struct pool_settings shop_set, struct pool_settings blog_set)
{
    blog_set.name = STR("blog");
    struct pool_settings both[] = {shop_set, blog_set};
    if (!blog)
        blog = pool_ref(STR("blog"));
    pool_commit(both, 2, &limits);
    look();
}

static void forget_blog(void)
{
    pool_unref(blog);
    blog = NULL;
}

static void the_longest_idle_makes_room(void **state)
{
    (void)state;
    limits.workers_max = 2;
    commit_both(settings(), settings());
    ask(&clients[0]);
    ask(&clients[1]);
    look();
    ready(&processes[0]);
    ready(&processes[1]);
    give(&clients[1], SLOT_REUSE);
    pass(SECOND_US);
    give(&clients[0], SLOT_REUSE);
    ask_pool(&clients[2], blog);
    look();
    assert_int_equal(starts, 2); // not before there is room
    assert_true(has_left(&processes[1]) && !has_left(&processes[0]));
    assert_int_equal(end(&processes[1], 0), POOL_EXIT_WANTED);
    assert_int_equal(starts, 3);
    assert_true(str_eq(processes[2].app, STR("blog")));
    ready(&processes[2]);
    assert_non_null(clients[2].slot);
    forget_blog();
}

// An app whose queue is never empty has no idle worker: it gives one up after its request.
static void a_busy_app_makes_room(void **state)
{
    (void)state;
    limits.workers_max = 2;
    commit_both(settings(), settings());
    for (int i = 0; i < 6; i++)
        ask(&clients[i]);
    look();
    ready(&processes[0]);
    ready(&processes[1]);
    ask_pool(&clients[10], blog);
    look();
    assert_false(has_left(&processes[0]) || has_left(&processes[1]));
    give(&clients[0], SLOT_REUSE);
    look();
    assert_true(has_left(&processes[0]));
    assert_int_equal(end(&processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(starts, 3);
    assert_true(str_eq(processes[2].app, STR("blog"))); // who has none goes first
    ready(&processes[2]);
    assert_non_null(clients[10].slot);
    give(&clients[1], SLOT_REUSE);
    look();
    assert_non_null(clients[2].slot); // the other one serves on
    forget_blog();
}

static void memory_max_sends_idle_workers_home(void **state)
{
    (void)state;
    limits.memory_max_bytes = 1024 * 1024;
    commit_both(settings(), settings());
    ask(&clients[0]);
    look();
    processes[0].anon_kib = 700;
    ready(&processes[0]);
    give(&clients[0], SLOT_REUSE);
    ask_pool(&clients[1], blog);
    look();
    assert_int_equal(starts, 2); // each app may have one
    processes[1].anon_kib = 700;
    ready(&processes[1]);
    pass(SECOND_US);
    give(&clients[1], SLOT_REUSE);
    look();
    assert_true(has_left(&processes[0]) && !has_left(&processes[1]));
    forget_blog();
}

static void a_change_rolls(void **state)
{
    (void)state;
    struct pool_settings set = settings();
    ask(&clients[0]);
    ask(&clients[1]);
    look();
    ready(&processes[0]);
    ready(&processes[1]);
    give(&clients[1], SLOT_REUSE);
    set.digest = 2;
    commit(set);
    assert_int_equal(starts, 3); // one more than the maximum, to prove that it starts
    ask(&clients[2]);
    assert_ptr_equal(process_of(&clients[2]), &processes[1]); // the old ones serve
    start_fails(&processes[2], "syntax error");
    pass(SECOND_US);
    assert_int_equal(starts, 4);
    give(&clients[2], SLOT_REUSE);
    ask(&clients[2]);
    assert_non_null(clients[2].slot); // and go on when the new one fails
    give(&clients[2], SLOT_REUSE);
    ready(&processes[3]);
    char byte;
    assert_int_equal(fd_read(processes[1].peer, &byte, 1), 0); // the idle one leaves now
    ask(&clients[3]);
    assert_ptr_equal(process_of(&clients[3]), &processes[3]);
    give(&clients[0], SLOT_REUSE); // the busy one after its request
    assert_int_equal(fd_read(processes[0].peer, &byte, 1), 0);
    assert_int_equal(end(&processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(end(&processes[1], 0), POOL_EXIT_WANTED);
}

static void a_restart_proves_before_the_old_ones_leave(void **state)
{
    (void)state;
    assert_int_equal(pool_restart(STR("nobody")), POOL_RESTART_UNKNOWN);
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_DONE); // it has no workers
    ask(&clients[0]);
    ask(&clients[1]);
    look();
    ready(&processes[0]);
    assert_int_equal(app_idles, 0);
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    look();
    assert_int_equal(starts, 2);
    assert_int_equal(app_idles, 0); // not while one is on its way from the old spawner
    ready(&processes[1]);
    assert_int_equal(app_idles, 1); // the spawner leaves, and then
    assert_int_equal(starts, 3);    // one more than the maximum is to prove
    start_fails(&processes[2], "syntax error");
    assert_int_equal(not_restarted, 1);
    give(&clients[0], SLOT_REUSE);
    ask(&clients[2]);
    assert_ptr_equal(process_of(&clients[2]), &processes[0]); // the old ones stay
    give(&clients[2], SLOT_REUSE);
    pass(POOL_BACKOFF_MAX_US);
    assert_int_equal(starts, 4);
    ready(&processes[3]); // it is mended
    assert_true(has_left(&processes[0]));
    assert_false(has_left(&processes[1])); // busy
    give(&clients[1], SLOT_REUSE);
    assert_true(has_left(&processes[1]));
    assert_int_equal(end(&processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(end(&processes[1], 0), POOL_EXIT_WANTED);
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    look();
    ready(&processes[4]);
    assert_int_equal(restarted, 1);
    assert_true(has_left(&processes[3]));
}

static void a_removed_app_serves_what_waits(void **state)
{
    (void)state;
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    ask(&clients[1]);
    ask(&clients[2]);
    pool_commit(NULL, 0, &limits);
    look();
    give(&clients[0], SLOT_REUSE);
    look();
    give(&clients[1], SLOT_REUSE);
    look();
    assert_non_null(clients[2].slot);
    give(&clients[2], SLOT_REUSE);
    char byte;
    assert_int_equal(fd_read(processes[0].peer, &byte, 1), 0);
    end(&processes[0], 0);
    ask(&clients[3]);
    look();
    assert_int_equal(clients[3].failure, ENDPOINT_STOPPED);
}

static void without_a_keeper_nobody_waits_for_a_start(void **state)
{
    (void)state;
    struct pool_settings set = settings();
    set.workers_max = 4;
    commit(set);
    ask(&clients[0]);
    look();
    ready(&processes[0]);
    ask(&clients[1]);
    look();
    assert_int_equal(starts, 2);
    pool_orphan();
    look();
    assert_true(clients[1].waits); // for the one that lives
    give(&clients[0], SLOT_REUSE);
    look();
    assert_non_null(clients[1].slot);
    ask(&clients[2]);
    give(&clients[1], SLOT_BROKEN);
    look();
    assert_int_equal(clients[2].failure, ENDPOINT_STOPPED);
    ask(&clients[3]);
    look();
    assert_int_equal(clients[3].failure, ENDPOINT_STOPPED);
    assert_int_equal(starts, 2);
}

// ---- at random

static uint64_t seed;

static unsigned chance(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed >> 20) % below);
}

static struct process *some_process(void)
{
    if (!process_count)
        return NULL;
    size_t from = process_count > WORKERS_MAX ? process_count - WORKERS_MAX : 0;
    struct process *p = &processes[from + chance((unsigned)(process_count - from))];
    return p->alive ? p : NULL;
}

static void act_on_process(void)
{
    struct process *p = some_process();
    if (!p)
        return;
    if (p->kill_wanted) {
        if (p->peer != FD_NONE)
            (void)end(p, 9);
    } else if (p->peer == FD_NONE) {
        if (chance(4))
            ready(p);
        else
            start_fails(p, "at random");
    } else if (chance(12) == 0) {
        (void)end(p, (int)chance(2) * 11);
    } else if (chance(20) == 0) {
        (void)!fd_write(p->peer, STR("noise"));
    } else {
        char byte; // one that was asked to leave does so
        if (recv(p->peer, &byte, 1, MSG_DONTWAIT) == 0 && chance(3))
            (void)end(p, 0);
    }
}

static void act_on_client(void)
{
    struct client *c = &clients[chance(CLIENTS_MAX)];
    if (c->slot)
        give(c, chance(8) ? SLOT_REUSE : (enum slot_outcome)(SLOT_DETACHED + chance(3)));
    else if (c->waits && chance(4) == 0)
        leave(c);
    else if (!c->waits)
        ask(c);
}

static void act_on_settings(void)
{
    struct pool_settings set = settings();
    set.digest = chance(3);
    set.workers_min = chance(3);
    set.workers_max = set.workers_min + 1 + chance(8);
    set.queue_max = chance(40);
    set.requests_max = chance(2) * 20;
    limits.workers_max = chance(3) * 3;
    pool_commit(&set, chance(10) ? 1 : 0, &limits);
    look();
}

// Nothing may stay behind when the load has gone: the queue empties, surplus workers leave.
static void settle(void)
{
    limits = (struct pool_limits){0};
    commit(settings());
    for (int i = 0; i < 400; i++) {
        for (size_t j = 0; j < CLIENTS_MAX; j++)
            if (clients[j].slot)
                give(&clients[j], SLOT_REUSE);
        for (size_t j = 0; j < process_count; j++) {
            struct process *p = &processes[j];
            char byte;
            if (p->alive && p->peer == FD_NONE)
                ready(p);
            else if (p->alive && (p->kill_wanted || recv(p->peer, &byte, 1, MSG_DONTWAIT) == 0))
                (void)end(p, 0);
        }
        pass(SECOND_US);
    }
    struct arena a = {0};
    for (size_t j = 0; j < CLIENTS_MAX; j++)
        assert_false(clients[j].waits);
    assert_int_equal(report(&a)->queued, 0);
    assert_int_equal(report(&a)->worker_count, 0);
    ask(&clients[0]); // and it still works
    look();
    ready(&processes[process_count - 1]);
    assert_non_null(clients[0].slot);
    arena_done(&a);
}

static void torture(void **state)
{
    close_case(state);
    for (uint64_t round = 1; round <= 20; round++) {
        open_case(state);
        seed = round * UINT64_C(0x9e3779b97f4a7c15);
        for (int i = 0; i < 1500 && process_count < ARRAY_LEN(processes) - 200; i++) {
            unsigned what = chance(100);
            if (what < 60)
                act_on_client();
            else if (what < 90)
                act_on_process();
            else if (what < 98)
                pass(chance(5 * (unsigned)SECOND_US));
            else if (what < 99)
                (void)pool_restart(STR("shop"));
            else
                act_on_settings();
            loop_turn(thread.loop, 0);
            pool_report_check();
        }
        settle();
        close_case(state);
    }
    open_case(state);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_case, close_case)
    static const struct CMUnitTest TESTS[] = {
        CASE(nothing_runs_without_requests),
        CASE(the_first_request_starts_a_worker),
        CASE(waiting_requests_are_served_in_order),
        CASE(a_short_wait_starts_no_second_worker),
        CASE(the_queue_has_its_limits),
        CASE(failed_starts_are_told_and_tried_later),
        CASE(a_worker_that_can_not_be_watched_is_a_failed_start),
        CASE(a_worker_that_can_not_be_moved_is_let_go),
        CASE(a_failed_start_keeps_the_old_workers),
        CASE(idle_workers_leave_and_then_the_spawner),
        CASE(a_worker_that_does_not_leave_is_killed),
        CASE(the_minimum_is_kept),
        CASE(outcomes),
        CASE(a_stuck_worker_says_where_it_is),
        CASE(detached_workers_count),
        CASE(an_idle_worker_that_closes_is_not_given_out),
        CASE(death_is_known_before_the_slot_comes_back),
        CASE(workers_are_replaced_by_count),
        CASE(worn_workers_go_one_at_a_time),
        CASE(requests_differ_by_a_tenth),
        CASE(workers_are_replaced_for_their_memory),
        CASE(the_longest_idle_makes_room),
        CASE(a_busy_app_makes_room),
        CASE(memory_max_sends_idle_workers_home),
        CASE(a_change_rolls),
        CASE(a_restart_proves_before_the_old_ones_leave),
        CASE(a_removed_app_serves_what_waits),
        CASE(without_a_keeper_nobody_waits_for_a_start),
        CASE(torture),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
