// SPDX-License-Identifier: Apache-2.0
// pool_change_test -- the pool when workers are worn, several apps share a limit, or apps change:
// who leaves for whom, and when.
#include "app/pool.h"

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
#include "os/fd.h"
#include "play.h"

static void use_up_worker(unsigned requests)
{
    for (unsigned i = 0; i < requests; i++) {
        play_ask(&play.clients[0]);
        play_look();
        if (!i)
            play_ready(&play.processes[0]);
        assert_non_null(play.clients[0].slot);
        play_give(&play.clients[0], SLOT_REUSE);
    }
    play_look();
}

static struct pool_worker *worker_of(const struct client *c)
{
    return CONTAINER_OF(c->slot, struct pool_worker, slot);
}

static void workers_are_replaced_by_count(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.requests_max = 10;
    set.workers_min = set.workers_max = 1;
    play_commit(set);
    play_ready(&play.processes[0]);
    do {
        play_ask(&play.clients[0]);
        uint64_t left = worker_of(&play.clients[0])->requests_max - play.clients[0].slot->served;
        play_give(&play.clients[0], SLOT_REUSE);
        play_look();
        assert_int_equal(play.starts, left > 1 ? 1 : 2); // its replacement
    } while (play.starts == 1);
    play_ask(&play.clients[0]);
    assert_ptr_equal(play_process_of(&play.clients[0]),
                     &play.processes[0]); // serves until that is ready
    play_ready(&play.processes[1]);
    assert_false(play_has_left(&play.processes[0])); // not in the middle of a request
    assert_false(play_has_left(&play.processes[1])); // nor is the new one too many
    play_give(&play.clients[0], SLOT_REUSE);
    assert_true(play_has_left(&play.processes[0]));
    play_ask(&play.clients[0]);
    assert_ptr_equal(play_process_of(&play.clients[0]), &play.processes[1]);
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 2);
}

// Requests wait for another one rather than for one that has had as many as it may have.
static void a_spent_worker_rests(void **state)
{
    struct arena a = {0};
    (void)state;
    struct pool_settings set = play_settings();
    set.requests_max = 3;
    set.workers_max = 1;
    play_commit(set);
    use_up_worker(3);
    assert_string_equal(play_report(&a)->workers[0].state, "resting");
    assert_int_equal(play.starts, 2);
    play_ask(&play.clients[0]);
    assert_true(play.clients[0].waits);
    play_ready(&play.processes[1]);
    assert_ptr_equal(play_process_of(&play.clients[0]), &play.processes[1]);
    assert_true(play_has_left(&play.processes[0]));
    // The next one waits a moment for its end, which makes room, but not longer.
    play_pass(POOL_EXIT_US / 2);
    for (int i = 0; i < 3; i++) {
        play_give(&play.clients[0], SLOT_REUSE);
        play_ask(&play.clients[0]);
        play_look();
        assert_true(play.clients[0].waits == (i == 2));
    }
    assert_int_equal(play.starts, 2);
    play_pass(POOL_EXIT_US / 2 - 1);
    assert_true(play.clients[0].waits);
    play_pass(POOL_EXIT_US);
    assert_ptr_equal(play_process_of(&play.clients[0]), &play.processes[1]);
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 3);
    arena_done(&a);
}

// Where none can be started, more requests than it should have are better than none.
static void a_spent_worker_serves_where_no_other_can_be_started(void **state)
{
    enum { FAILS, CHANGES, IS_RESTARTED, IS_REMOVED, IS_ORPHANED, CASES };

    play_close_case(state);
    for (int i = 0; i < CASES; i++) {
        play_open_case(state);
        struct pool_settings set = play_settings();
        set.requests_max = 1;
        set.workers_max = 1;
        play_commit(set);
        use_up_worker(1);
        assert_int_equal(play.starts, 2);
        play_ask(&play.clients[0]);
        assert_true(play.clients[0].waits);
        set.digest = 2;
        if (i == FAILS)
            play_start_fails(&play.processes[1], "no memory");
        else if (i == CHANGES)
            pool_commit(&set, 1, &play.limits);
        else if (i == IS_RESTARTED)
            (void)pool_restart(STR("shop"));
        else if (i == IS_REMOVED)
            pool_commit(NULL, 0, &play.limits);
        else
            pool_orphan();
        play_look();
        if (i == IS_RESTARTED) { // after the one that is on its way, which serves then
            play_ready(&play.processes[1]);
            assert_ptr_equal(play_process_of(&play.clients[0]), &play.processes[1]);
        } else {
            assert_ptr_equal(play_process_of(&play.clients[0]), &play.processes[0]);
        }
        play_give(&play.clients[0], SLOT_REUSE);
        play_ask(&play.clients[0]);
        play_look();
        assert_true((play.clients[0].slot != NULL) != (i == IS_REMOVED));
        play_close_case(state);
    }
    play_open_case(state);
}

// All but the last one need not wait for another one.
static void spent_workers_leave_together(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.requests_max = 1;
    set.workers_max = 4;
    play_commit(set);
    for (int i = 0; i < 8; i++)
        play_ask(&play.clients[i]);
    play_look();
    for (int i = 0; i < 4; i++)
        play_ready(&play.processes[i]);
    for (int i = 0; i < 4; i++)
        play_give(&play.clients[i], SLOT_REUSE);
    unsigned left = 0;
    for (int i = 0; i < 4; i++)
        left += play_has_left(&play.processes[i]);
    assert_int_equal(left, 3);
    for (int i = 0; i < 4; i++)
        if (play_has_left(&play.processes[i]))
            assert_int_equal(play_end(&play.processes[i], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 7); // the one that rests has the fourth place
    for (int i = 4; i < 7; i++)
        play_ready(&play.processes[i]);
    for (int i = 4; i < 7; i++)
        assert_non_null(play.clients[i].slot);
    for (int i = 0; i < 4; i++)
        assert_true(play_has_left(&play.processes[i]));
}

// Several at a time where there are many, if no limit of all apps is in the way.
static void worn_workers_are_replaced_in_parallel(void **state)
{
    static const struct {
        uint32_t workers_max, limit, at_once;
    } CASES[] = {{3, 0, 1}, {8, 0, 2}, {16, 0, 4}, {40, 0, 4}, {16, 16, 1}};

    play_close_case(state);
    for (size_t c = 0; c < ARRAY_LEN(CASES); c++) {
        struct arena a = {0};
        play_open_case(state);
        uint32_t count = CASES[c].workers_max;
        uint32_t at_once = CASES[c].at_once;
        struct pool_settings set = play_settings();
        set.workers_min = set.workers_max = count;
        set.memory_max_bytes = 1 << 20;
        set.queue_max = count;
        play.limits.workers_max = CASES[c].limit;
        play_commit(set);
        for (uint32_t i = 0; i < count; i++)
            play_ready(&play.processes[i]);
        assert_int_equal(play.starts, count);
        for (uint32_t i = 0; i < count; i++)
            play_ask(&play.clients[i]);
        for (uint32_t i = 0; i < count; i++) {
            play_process_of(&play.clients[i])->anon_kib = 2048;
            play_give(&play.clients[i], SLOT_REUSE);
        }
        play_look();
        assert_int_equal(play_report(&a)->worn, count);
        assert_int_equal(play.starts, count + at_once);
        // One that fails changes nothing.
        play_start_fails(&play.processes[count], "no memory");
        play_pass(POOL_BACKOFF_MAX_US);
        assert_int_equal(play_report(&a)->worn, count);
        assert_int_equal(play.starts, count + at_once + 1);
        unsigned left = 0;
        for (size_t i = count + 1; i < play.process_count; i++) {
            play_ready(&play.processes[i]);
            for (uint32_t j = 0; j < count; j++) {
                if (!play.processes[j].alive || !play_has_left(&play.processes[j]))
                    continue;
                left++;
                assert_int_equal(play_end(&play.processes[j], 0), POOL_EXIT_WANTED);
            }
            assert_int_equal(left, i - count); // one for each
        }
        assert_int_equal(left, count);
        assert_int_equal(play_report(&a)->worn, 0);
        assert_int_equal(play.starts, 2 * count + 1);
        arena_done(&a);
        play_close_case(state);
    }
    play_open_case(state);
}

static void requests_differ_by_a_tenth(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.requests_max = 100;
    set.workers_min = set.workers_max = 60;
    play_commit(set);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (size_t i = 0; i < play.process_count; i++) {
        play_ready(&play.processes[i]);
        play_ask(&play.clients[i]);
        const struct pool_worker *w = worker_of(&play.clients[i]);
        assert_int_equal(w->requests_end, w->requests_max + 10);
        least = w->requests_max < least ? w->requests_max : least;
        most = w->requests_max > most ? w->requests_max : most;
    }
    assert_int_equal(play.process_count, 60);
    assert_true(least >= 90 && least < 97 && most > 103 && most <= 110);
}

static void workers_are_replaced_for_their_memory(void **state)
{
    (void)state;
    struct arena a = {0};
    struct pool_settings set = play_settings();
    set.memory_max_bytes = 1024 * 1024;
    play_commit(set);
    play_ask(&play.clients[0]);
    play_look();
    play.processes[0].anon_kib = 1000;
    play_ready(&play.processes[0]);
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    assert_int_equal(play_report(&a)->worn, 0);
    play.processes[0].anon_kib = 2000;
    play_ask(&play.clients[0]);
    play_give(&play.clients[0], SLOT_REUSE);
    assert_int_equal(play_report(&a)->worn, 0); // measured once a second
    play_pass(SECOND_US);
    play_ask(&play.clients[0]);
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    assert_int_equal(play_report(&a)->worn, 1);
    assert_int_equal(play.starts, 2);
    play_ready(&play.processes[1]);
    assert_true(play_has_left(&play.processes[0]));
    arena_done(&a);
}

// ---- several apps

static struct pool *blog;

// A worker that grows fast is seen before it has many times its limit; one that does not grow is
// measured once a second.
static void memory_that_grows_is_measured_often(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.memory_max_bytes = UINT64_C(100) << 20;
    set.workers_max = 1;
    play_commit(set);
    play_ask(&play.clients[0]);
    play_look();
    struct process *p = &play.processes[0];
    p->anon_kib = 1024;
    play_ready(p);
    for (unsigned i = 0; i < 5000; i++) { // of 1 ms: memory stays
        play_give(&play.clients[0], SLOT_REUSE);
        play_pass(1000);
        play_ask(&play.clients[0]);
        assert_non_null(play.clients[0].slot);
    }
    assert_true(play.measures > 5 && play.measures < 20);
    unsigned answers = 0; // 1 MiB each
    for (; play.starts == 1 && answers < 2000; answers++) {
        p->anon_kib += 1024;
        play_give(&play.clients[0], SLOT_REUSE);
        play_pass(1000);
        if (play.starts == 1)
            play_ask(&play.clients[0]);
    }
    assert_true(answers > 90 && answers < 1200);
    answers = 0;
    play_ready(&play.processes[1]);
    (void)play_end(p, 0);
    p = &play.processes[1];
    p->anon_kib = 1024;
    for (; play.starts == 2 && answers < 2000; answers++) { // from the start
        p->anon_kib += 1024;
        play_ask(&play.clients[0]);
        assert_non_null(play.clients[0].slot);
        play_give(&play.clients[0], SLOT_REUSE);
        play_pass(1000);
    }
    assert_true(answers > 90 && answers < 130);
}

static void commit_both(struct pool_settings shop_set, struct pool_settings blog_set)
{
    blog_set.name = STR("blog");
    struct pool_settings both[] = {shop_set, blog_set};
    if (!blog)
        blog = pool_ref(STR("blog"));
    pool_commit(both, 2, &play.limits);
    play_look();
}

static void forget_blog(void)
{
    pool_unref(blog);
    blog = NULL;
}

static void the_longest_idle_makes_room(void **state)
{
    (void)state;
    play.limits.workers_max = 2;
    commit_both(play_settings(), play_settings());
    play_ask(&play.clients[0]);
    play_ask(&play.clients[1]);
    play_look();
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_give(&play.clients[1], SLOT_REUSE);
    play_pass(SECOND_US);
    play_give(&play.clients[0], SLOT_REUSE);
    play_ask_pool(&play.clients[2], blog);
    play_look();
    assert_int_equal(play.starts, 2); // not before there is room
    assert_true(play_has_left(&play.processes[1]) && !play_has_left(&play.processes[0]));
    assert_int_equal(play_end(&play.processes[1], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 3);
    assert_true(str_eq(play.processes[2].app, STR("blog")));
    play_ready(&play.processes[2]);
    assert_non_null(play.clients[2].slot);
    forget_blog();
}

// An app whose queue is never empty has no idle worker: it gives one up after its request.
static void a_busy_app_makes_room(void **state)
{
    (void)state;
    play.limits.workers_max = 2;
    commit_both(play_settings(), play_settings());
    for (int i = 0; i < 6; i++)
        play_ask(&play.clients[i]);
    play_look();
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_ask_pool(&play.clients[10], blog);
    play_look();
    assert_false(play_has_left(&play.processes[0]) || play_has_left(&play.processes[1]));
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    assert_true(play_has_left(&play.processes[0]));
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 3);
    assert_true(str_eq(play.processes[2].app, STR("blog"))); // who has none goes first
    play_ready(&play.processes[2]);
    assert_non_null(play.clients[10].slot);
    play_give(&play.clients[1], SLOT_REUSE);
    play_look();
    assert_non_null(play.clients[2].slot); // the other one serves on
    forget_blog();
}

static void memory_max_sends_idle_workers_home(void **state)
{
    (void)state;
    play.limits.memory_max_bytes = 1024 * 1024;
    commit_both(play_settings(), play_settings());
    play_ask(&play.clients[0]);
    play_look();
    play.processes[0].anon_kib = 700;
    play_ready(&play.processes[0]);
    play_give(&play.clients[0], SLOT_REUSE);
    play_ask_pool(&play.clients[1], blog);
    play_look();
    assert_int_equal(play.starts, 2); // each app may have one
    play.processes[1].anon_kib = 700;
    play_ready(&play.processes[1]);
    play_pass(SECOND_US);
    play_give(&play.clients[1], SLOT_REUSE);
    play_look();
    assert_true(play_has_left(&play.processes[0]) && !play_has_left(&play.processes[1]));
    forget_blog();
}

// What has grown too large is acted on when it is known, not when something else happens.
static void memory_max_is_kept_without_other_work(void **state)
{
    (void)state;
    play.limits.memory_max_bytes = 1024 * 1024;
    commit_both(play_settings(), play_settings());
    play_ask(&play.clients[0]);
    play_ask_pool(&play.clients[1], blog);
    play_look();
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    play.now_us += SECOND_US;
    play.processes[1].anon_kib = 2000;
    play_give(&play.clients[1], SLOT_REUSE);
    for (int i = 0; i < 3; i++) // and nobody asks for a look
        loop_turn(play.thread.loop, 0);
    assert_true(play_has_left(&play.processes[0]));
    forget_blog();
}

// Two that are started at once must not pass a limit that one of them has reached before.
static void new_workers_count_before_they_are_measured(void **state)
{
    (void)state;
    play.limits.memory_max_bytes = 1024 * 1024;
    play_commit(play_settings());
    play_ask(&play.clients[0]);
    play_look();
    play.processes[0].anon_kib = 1100;
    play_ready(&play.processes[0]);
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    (void)play_end(&play.processes[0], 0);
    play_ask(&play.clients[0]);
    play_ask(&play.clients[1]);
    play_look();
    assert_int_equal(play.starts, 2);
    play_ready(&play.processes[1]);
    play_look();
    assert_int_equal(play.starts, 2);
}

static void a_change_rolls(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    play_ask(&play.clients[0]);
    play_ask(&play.clients[1]);
    play_look();
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_give(&play.clients[1], SLOT_REUSE);
    set.digest = 2;
    play_commit(set);
    assert_int_equal(play.starts, 3); // one more than the maximum, to prove that it starts
    play_ask(&play.clients[2]);
    assert_ptr_equal(play_process_of(&play.clients[2]), &play.processes[1]); // the old ones serve
    play_start_fails(&play.processes[2], "syntax error");
    play_pass(SECOND_US);
    assert_int_equal(play.starts, 4);
    play_give(&play.clients[2], SLOT_REUSE);
    play_ask(&play.clients[2]);
    assert_non_null(play.clients[2].slot); // and go on when the new one fails
    play_give(&play.clients[2], SLOT_REUSE);
    play_ready(&play.processes[3]);
    char byte;
    assert_int_equal(fd_read(play.processes[1].peer, &byte, 1), 0); // the idle one leaves now
    play_ask(&play.clients[3]);
    assert_ptr_equal(play_process_of(&play.clients[3]), &play.processes[3]);
    play_give(&play.clients[0], SLOT_REUSE); // the busy one after its request
    assert_int_equal(fd_read(play.processes[0].peer, &byte, 1), 0);
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(play_end(&play.processes[1], 0), POOL_EXIT_WANTED);
}

static void a_restart_proves_before_the_old_ones_leave(void **state)
{
    (void)state;
    assert_int_equal(pool_restart(STR("nobody")), POOL_RESTART_UNKNOWN);
    play_ask(&play.clients[0]);
    play_ask(&play.clients[1]);
    play_look();
    play_ready(&play.processes[0]);
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_look();
    assert_int_equal(play.starts, 2);
    assert_int_equal(play.renewals, 0); // not while one is on its way from the old spawner
    play_ready(&play.processes[1]);
    assert_int_equal(play.renewals, 1); // a new spawner, and then
    assert_int_equal(play.starts, 3);   // one more than the maximum is to prove
    play_start_fails(&play.processes[2], "syntax error");
    assert_int_equal(play.not_restarted, 1);
    play_give(&play.clients[0], SLOT_REUSE);
    play_ask(&play.clients[2]);
    assert_ptr_equal(play_process_of(&play.clients[2]), &play.processes[0]); // the old ones stay
    play_give(&play.clients[2], SLOT_REUSE);
    assert_int_equal(play_end(&play.processes[0], 9), POOL_EXIT_UNEXPECTED);
    play_ask(&play.clients[2]);
    play_look();
    assert_int_equal(play.starts, 4); // of the old code, which can still start
    play_ready(&play.processes[3]);
    assert_ptr_equal(play_process_of(&play.clients[2]), &play.processes[3]);
    play_give(&play.clients[2], SLOT_REUSE);
    assert_int_equal(play.not_restarted, 1);
    play_pass(POOL_BACKOFF_MAX_US);
    assert_int_equal(play.renewals, 2); // it is tried again
    assert_int_equal(play.starts, 5);
    play_ready(&play.processes[4]); // it is mended
    assert_int_equal(play.restarted, 1);
    assert_true(play_has_left(&play.processes[3]));
    assert_false(play_has_left(&play.processes[1])); // busy
    play_give(&play.clients[1], SLOT_REUSE);
    assert_true(play_has_left(&play.processes[1]));
    assert_int_equal(play_end(&play.processes[3], 0), POOL_EXIT_WANTED);
    assert_int_equal(play_end(&play.processes[1], 0), POOL_EXIT_WANTED);
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_look();
    play_ready(&play.processes[5]);
    assert_int_equal(play.restarted, 2);
    assert_true(play_has_left(&play.processes[4]));
}

// Who asks is told whether the new code starts, also when nobody has asked the app for long.
static void a_restart_without_workers_proves_as_well(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_look();
    assert_int_equal(play.renewals, 1);
    assert_int_equal(play.starts, 1);
    assert_int_equal(play.restarted + play.not_restarted, 0);
    play_start_fails(&play.processes[0], "syntax error");
    assert_int_equal(play.not_restarted, 1);
    assert_int_equal(play.starts, 1); // nobody waits
    play_pass(POOL_BACKOFF_MAX_US / 2);
    assert_true(play_report(&a)->restarting);
    assert_int_equal(play_report(&a)->retry_in_ms, POOL_BACKOFF_MAX_US / 2000);
    play_pass(POOL_BACKOFF_MAX_US / 2);
    assert_int_equal(play.starts, 2);
    assert_int_equal(play.restarted, 0); // not before it is proved
    play_ready(&play.processes[1]);
    assert_int_equal(play.restarted, 1);
    assert_false(play_report(&a)->restarting);
    play_pass(play_settings().idle_us);
    assert_true(play_has_left(&play.processes[1]));
    assert_int_equal(play_end(&play.processes[1], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 2);
    arena_done(&a);
}

// The old ones may go between the order and the start of the new one.
static void a_restart_that_loses_the_old_ones_proves_on(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.workers_max = 1;
    play_commit(set);
    play_begin();
    play_give(&play.clients[0], SLOT_BROKEN);
    play_ask(&play.clients[0]);
    play_ask(&play.clients[1]);
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_look();
    assert_int_equal(play.starts, 2); // beside one that retires
    play_start_fails(&play.processes[1], "syntax error");
    assert_int_equal(play.not_restarted, 1);
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 3); // of the old code, for who waits
    play_ready(&play.processes[2]);
    assert_ptr_equal(play_process_of(&play.clients[0]), &play.processes[2]);
    assert_int_equal(play.restarted, 0);
}

static void a_change_while_a_restart_is_proved_goes_on(void **state)
{
    (void)state;
    play_begin();
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_look();
    struct pool_settings set = play_settings();
    set.digest = 2;
    play_commit(set);
    play_start_fails(&play.processes[1], "of the restart");
    play_start_fails(&play.processes[2], "of the change");
    assert_int_equal(play.not_restarted, 1);
    play_pass(POOL_BACKOFF_MAX_US);
    play_ready(&play.processes[3]);
    play_give(&play.clients[0], SLOT_REUSE);
    assert_true(play_has_left(&play.processes[0])); // of before the change
    assert_false(play_has_left(&play.processes[3]));
    play_pass(2 * POOL_BACKOFF_MAX_US);
    assert_int_equal(play.renewals, 1);
}

// What is on its way from a restart that has failed says nothing of the settings that come after.
static void a_change_after_a_failed_restart_proves_itself(void **state)
{
    (void)state;
    play_ask(&play.clients[0]);
    play_ask(&play.clients[1]);
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_look();
    assert_int_equal(play.starts, 2);
    play_start_fails(&play.processes[0], "syntax error");
    assert_int_equal(play.not_restarted, 1);
    assert_int_equal(play.starts, 3); // as it was before
    play_ready(&play.processes[2]);
    struct pool_settings set = play_settings();
    set.digest = 2;
    play_commit(set);
    play_ready(&play.processes[1]); // of the restart
    play_give(&play.clients[0], SLOT_REUSE);
    assert_false(play_has_left(&play.processes[2]));
}

// The second takes the place of the first, and the way back is the same.
static void a_restart_during_a_restart_goes_back_as_far(void **state)
{
    (void)state;
    struct arena a = {0};
    play_begin();
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_look();
    assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
    play_start_fails(&play.processes[1], "of the first");
    assert_int_equal(play.not_restarted, 0);
    play_start_fails(&play.processes[2], "of the second");
    assert_int_equal(play.not_restarted, 1);
    assert_false(play_report(&a)->workers[0].outdated);
    play_pass(POOL_BACKOFF_MAX_US / 2);
    assert_int_equal(play.starts, 3); // there is nothing to prove
    arena_done(&a);
}

// Whoever waits for the outcome is told at any stage, and once.
static void a_restart_of_an_app_that_is_removed(void **state)
{
    play_close_case(state);
    for (int stage = 0; stage < 4; stage++) {
        play_open_case(state);
        play_ask(&play.clients[0]);
        play_look();
        if (stage > 0)
            play_ready(&play.processes[0]);
        assert_int_equal(pool_restart(STR("shop")), POOL_RESTART_BEGUN);
        if (stage > 1)
            play_look();
        unsigned failed = stage > 2 ? 1 : 0;
        if (failed) // it is to be tried again
            play_start_fails(&play.processes[1], "syntax error");
        assert_int_equal(play.not_restarted, failed);
        pool_commit(NULL, 0, &play.limits);
        play_look();
        assert_int_equal(play.not_restarted, 1);
        if (stage == 2)
            play_start_fails(&play.processes[1], "too late");
        play_commit(play_settings());
        play_pass(2 * POOL_BACKOFF_MAX_US);
        assert_int_equal(play.not_restarted, 1);
        assert_int_equal(play.restarted, 0);
        play_close_case(state);
    }
    play_open_case(state);
}

static void a_removed_app_serves_what_waits(void **state)
{
    (void)state;
    play_begin();
    play_ask(&play.clients[1]);
    play_ask(&play.clients[2]);
    pool_commit(NULL, 0, &play.limits);
    play_look();
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    play_give(&play.clients[1], SLOT_REUSE);
    play_look();
    assert_non_null(play.clients[2].slot);
    play_give(&play.clients[2], SLOT_REUSE);
    char byte;
    assert_int_equal(fd_read(play.processes[0].peer, &byte, 1), 0);
    play_end(&play.processes[0], 0);
    play_ask(&play.clients[3]);
    play_look();
    assert_int_equal(play.clients[3].failure, ENDPOINT_STOPPED);
}

static void without_a_keeper_nobody_waits_for_a_start(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.workers_max = 4;
    play_commit(set);
    play_begin();
    play_ask(&play.clients[1]);
    play_look();
    assert_int_equal(play.starts, 2);
    pool_orphan();
    play_look();
    assert_true(play.clients[1].waits); // for the one that lives
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    assert_non_null(play.clients[1].slot);
    play_ask(&play.clients[2]);
    play_give(&play.clients[1], SLOT_BROKEN);
    play_look();
    assert_int_equal(play.clients[2].failure, ENDPOINT_STOPPED);
    play_ask(&play.clients[3]);
    play_look();
    assert_int_equal(play.clients[3].failure, ENDPOINT_STOPPED);
    assert_int_equal(play.starts, 2);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        PLAY_CASE(workers_are_replaced_by_count),
        PLAY_CASE(a_spent_worker_rests),
        PLAY_CASE(a_spent_worker_serves_where_no_other_can_be_started),
        PLAY_CASE(spent_workers_leave_together),
        PLAY_CASE(worn_workers_are_replaced_in_parallel),
        PLAY_CASE(requests_differ_by_a_tenth),
        PLAY_CASE(workers_are_replaced_for_their_memory),
        PLAY_CASE(memory_that_grows_is_measured_often),
        PLAY_CASE(the_longest_idle_makes_room),
        PLAY_CASE(a_busy_app_makes_room),
        PLAY_CASE(memory_max_sends_idle_workers_home),
        PLAY_CASE(memory_max_is_kept_without_other_work),
        PLAY_CASE(new_workers_count_before_they_are_measured),
        PLAY_CASE(a_change_rolls),
        PLAY_CASE(a_restart_proves_before_the_old_ones_leave),
        PLAY_CASE(a_restart_without_workers_proves_as_well),
        PLAY_CASE(a_restart_that_loses_the_old_ones_proves_on),
        PLAY_CASE(a_change_while_a_restart_is_proved_goes_on),
        PLAY_CASE(a_restart_of_an_app_that_is_removed),
        PLAY_CASE(a_change_after_a_failed_restart_proves_itself),
        PLAY_CASE(a_restart_during_a_restart_goes_back_as_far),
        PLAY_CASE(a_removed_app_serves_what_waits),
        PLAY_CASE(without_a_keeper_nobody_waits_for_a_start),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
