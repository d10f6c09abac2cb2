// SPDX-License-Identifier: Apache-2.0
// pool_busy_test -- how many workers have a request at once: as many as were named, or as are of
// use by what they are seen to do.
#include "app/pool_busy.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "app/pool_report.h"
#include "os/fd.h"
#include "play.h"

#define WORKERS 8
#define CLIENTS 20

static unsigned busy(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        count += play.clients[i].slot != NULL;
    return count;
}

static unsigned waiting(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        count += play.clients[i].waits;
    return count;
}

static uint32_t busy_max(void)
{
    struct arena a = {0};
    uint32_t max = play_report(&a)->busy_max;
    arena_done(&a);
    return max;
}

// An app on two processors with eight workers and twenty clients.
static void open_crowd(uint32_t max)
{
    struct pool_settings set = play_settings();
    set.workers_min = set.workers_max = WORKERS;
    set.busy_max = max;
    set.queue_max = CLIENTS;
    play_commit(set);
    pool_state.cpu_count = 2;
    for (size_t i = 0; i < WORKERS; i++) {
        if (i == play.process_count)
            play_look();
        play_ready(&play.processes[i]);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        play_ask(&play.clients[i]);
    play_look();
}

// A tenth of a second, in which each worker that has a request computes and stands in line for so
// long; then each client that has an answer asks again.
static void step(uint64_t ran_us, uint64_t lined_up_us)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        if (!play.clients[i].slot)
            continue;
        struct process *p = play_process_of(&play.clients[i]);
        p->times.ran_us += ran_us;
        p->times.lined_up_us += lined_up_us;
    }
    play_pass(POOL_BUSY_LOOK_US);
    for (size_t i = 0; i < CLIENTS; i++) {
        if (!play.clients[i].slot)
            continue;
        play_give(&play.clients[i], SLOT_REUSE);
        play_ask(&play.clients[i]);
    }
    play_look();
}

// What eight workers get of two processors when they only compute.
static void compute(unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        uint64_t share_us = 2 * POOL_BUSY_LOOK_US / (busy() > 2 ? busy() : 2);
        step(share_us, POOL_BUSY_LOOK_US - share_us);
    }
}

static void as_many_as_named(void **state)
{
    (void)state;
    open_crowd(3);
    assert_int_equal(busy(), 3);
    assert_int_equal(waiting(), CLIENTS - 3);
    assert_int_equal(busy_max(), 3);
    for (int i = 0; i < 40; i++) {
        step(0, 0);
        assert_int_equal(busy(), 3);
    }
    // Whoever ends in whatever way makes place for the next one.
    for (size_t i = 0; i < CLIENTS; i++) {
        if (!play.clients[i].slot)
            continue;
        play_give(&play.clients[i], i % 2 ? SLOT_BROKEN : SLOT_STUCK);
        play_look();
        assert_int_equal(busy(), 3);
    }
}

static void no_more_are_started_than_named(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.workers_max = WORKERS;
    set.busy_max = 2;
    play_commit(set);
    for (size_t i = 0; i < 6; i++)
        play_ask(&play.clients[i]);
    play_look();
    assert_int_equal(play.starts, 2);
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_pass(SECOND_US);
    assert_int_equal(play.starts, 2);
}

static void a_full_queue_is_full_with_idle_workers(void **state)
{
    (void)state;
    open_crowd(3);
    struct client *late = &play.clients[CLIENTS];
    for (size_t i = 0; i < 4; i++)
        play_ask(&late[i]);
    play_look();
    assert_int_equal(late[0].failure, -1); // three of the queue's places are free
    assert_int_equal(late[3].failure, ENDPOINT_QUEUE_FULL);
}

static void pages_that_compute_are_few_at_once(void **state)
{
    (void)state;
    open_crowd(0);
    assert_int_equal(busy(), WORKERS);
    compute(6);
    assert_int_equal(busy_max(), 3); // the processors, and one
    assert_int_equal(busy(), 3);
    compute(20);
    assert_int_equal(busy(), 3);
}

static void pages_that_wait_are_many(void **state)
{
    (void)state;
    open_crowd(0);
    for (int i = 0; i < 20; i++) {
        step(1000, 0);
        assert_int_equal(busy(), WORKERS);
        assert_int_equal(busy_max(), POOL_BUSY_ANY);
    }
}

static void half_waiting_takes_three_times_as_many(void **state)
{
    (void)state;
    open_crowd(0);
    // 25 ms of work and 25 ms of waiting in each 100 ms, of eight.
    for (int i = 0; i < 8; i++)
        step(busy() == WORKERS ? 25000 : 28500, busy() == WORKERS ? 50000 : 43000);
    assert_int_equal(busy_max(), 7);
    assert_int_equal(busy(), 7);
}

static void waiting_is_believed_at_once(void **state)
{
    (void)state;
    open_crowd(0);
    compute(20);
    assert_int_equal(busy(), 3);
    step(500, 0); // the database has become slow
    assert_int_equal(busy(), WORKERS);
    assert_int_equal(busy_max(), POOL_BUSY_ANY);
}

static void other_programs_that_compute_end_it(void **state)
{
    (void)state;
    open_crowd(0);
    compute(20);
    assert_int_equal(busy(), 3);
    step(20000, 80000); // they get a third of the processors, or less
    assert_int_equal(busy(), WORKERS);
    for (int i = 0; i < 20; i++)
        step(10000, 90000);
    assert_int_equal(busy(), WORKERS);
}

static void long_requests_are_not_counted(void **state)
{
    (void)state;
    open_crowd(0);
    compute(20);
    assert_int_equal(busy(), 3);
    // From now on nobody answers: all compute for ever. Others get their chance.
    for (int i = 0; i < 11; i++) {
        for (size_t n = 0; n < CLIENTS; n++) {
            if (!play.clients[n].slot)
                continue;
            play_process_of(&play.clients[n])->times.ran_us += 66000;
            play_process_of(&play.clients[n])->times.lined_up_us += 34000;
        }
        play_pass(POOL_BUSY_LOOK_US);
    }
    assert_int_equal(busy(), 6);
}

static void it_is_forgotten_when_nobody_waits(void **state)
{
    (void)state;
    open_crowd(0);
    compute(20);
    assert_int_equal(busy(), 3);
    for (size_t i = 0; i < CLIENTS; i++)
        play_leave(&play.clients[i]);
    play_pass(SECOND_US);
    assert_int_equal(busy_max(), POOL_BUSY_ANY);
    for (size_t i = 0; i < CLIENTS; i++)
        if (!play.clients[i].slot)
            play_ask(&play.clients[i]);
    play_look();
    assert_int_equal(busy(), WORKERS);
}

static void time_between_requests_is_not_waiting(void **state)
{
    (void)state;
    static struct scoreboard_record board[SCOREBOARD_RECORDS_MAX];
    pool_board(STR("shop"), board);
    struct pool_settings set = play_settings();
    set.workers_min = set.workers_max = WORKERS;
    set.queue_max = CLIENTS;
    play_commit(set);
    pool_state.cpu_count = 1;
    for (uint32_t i = 0; i < WORKERS; i++) {
        if (i == play.process_count)
            play_look();
        uint32_t id = play.processes[i].id;
        scoreboard_reset(board, i, id, id & 0xffff, play.now_us, 0);
        scoreboard_set(board, i, SCOREBOARD_IDLE, play.now_us);
        play_ready(&play.processes[i]);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        play_ask(&play.clients[i]);
    // Each has computed for 12 ms, says its record, and for the rest its next request was on its
    // way.
    for (unsigned n = 0; n < 8; n++) {
        for (uint32_t i = 0; i < WORKERS; i++) {
            scoreboard_begin(board, i, STR("GET"), STR("/"), play.now_us);
            scoreboard_set(board, i, SCOREBOARD_IDLE, play.now_us + 12000);
        }
        step(busy() == WORKERS ? 12000 : 48000, 0);
    }
    assert_int_equal(busy(), 2);
    pool_board(STR("shop"), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAY_CASE(as_many_as_named),
        PLAY_CASE(no_more_are_started_than_named),
        PLAY_CASE(a_full_queue_is_full_with_idle_workers),
        PLAY_CASE(pages_that_compute_are_few_at_once),
        PLAY_CASE(pages_that_wait_are_many),
        PLAY_CASE(half_waiting_takes_three_times_as_many),
        PLAY_CASE(waiting_is_believed_at_once),
        PLAY_CASE(other_programs_that_compute_end_it),
        PLAY_CASE(long_requests_are_not_counted),
        PLAY_CASE(it_is_forgotten_when_nobody_waits),
        PLAY_CASE(time_between_requests_is_not_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
