// SPDX-License-Identifier: Apache-2.0
// pool_random_test -- the pool with clients, workers and settings that act at random: its
// invariants hold after each step, and nothing stays behind.
#include <sys/socket.h>

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

#define SOME_MAX 64 // processes that something may happen to

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
    if (!play.process_count)
        return NULL;
    size_t from = play.process_count > SOME_MAX ? play.process_count - SOME_MAX : 0;
    struct process *p = &play.processes[from + chance((unsigned)(play.process_count - from))];
    return p->alive ? p : NULL;
}

static void act_on_process(void)
{
    struct process *p = some_process();
    if (!p)
        return;
    if (p->kill_wanted) {
        if (p->peer != FD_NONE)
            (void)play_end(p, 9);
    } else if (p->peer == FD_NONE) {
        if (chance(4))
            play_ready(p);
        else
            play_start_fails(p, "at random");
    } else if (chance(12) == 0) {
        (void)play_end(p, (int)chance(2) * 11);
    } else if (chance(20) == 0) {
        (void)!fd_write(p->peer, STR("noise"));
    } else if (chance(20) == 0) {
        (void)shutdown(p->peer, SHUT_WR); // it closes, and lives
    } else if (chance(10) == 0) {
        (void)!fd_write(p->peer, str_n("LS\7\0\10\0\0\0", 8)); // it is back
    } else {
        char byte; // one that was asked to leave does so
        if (recv(p->peer, &byte, 1, MSG_DONTWAIT) == 0 && chance(3))
            (void)play_end(p, 0);
    }
}

static void act_on_client(void)
{
    struct client *c = &play.clients[chance(PLAY_CLIENTS_MAX)];
    if (c->slot)
        play_give(c, chance(8) ? SLOT_REUSE : (enum slot_outcome)(SLOT_DETACHED + chance(6)));
    else if (c->waits && chance(4) == 0)
        play_leave(c);
    else if (!c->waits)
        play_ask(c);
}

static void act_on_settings(void)
{
    struct pool_settings set = play_settings();
    set.digest = chance(3);
    set.workers_min = chance(3);
    set.workers_max = set.workers_min + 1 + chance(8);
    set.busy_max = chance(4);
    set.queue_max = chance(40);
    set.requests_max = (const uint64_t[]){0, 1, 20}[chance(3)];
    play.limits.workers_max = chance(3) * 3;
    pool_commit(&set, chance(10) ? 1 : 0, &play.limits);
    play_look();
}

// Nothing may stay behind when the load has gone: the queue empties, surplus workers leave.
static void settle(void)
{
    play.limits = (struct pool_limits){0};
    play_commit(play_settings());
    for (int i = 0; i < 700; i++) { // longer than somebody may stay detached
        for (size_t j = 0; j < PLAY_CLIENTS_MAX; j++)
            if (play.clients[j].slot)
                play_give(&play.clients[j], SLOT_REUSE);
        for (size_t j = 0; j < play.process_count; j++) {
            struct process *p = &play.processes[j];
            char byte;
            if (p->alive && p->peer == FD_NONE)
                play_ready(p);
            else if (p->alive && (p->kill_wanted || recv(p->peer, &byte, 1, MSG_DONTWAIT) == 0))
                (void)play_end(p, 0);
        }
        play_pass(SECOND_US);
    }
    struct arena a = {0};
    for (size_t j = 0; j < PLAY_CLIENTS_MAX; j++)
        assert_false(play.clients[j].waits);
    assert_int_equal(play_report(&a)->queued, 0);
    assert_int_equal(play_report(&a)->worker_count, 0);
    play_ask(&play.clients[0]); // and it still works
    play_look();
    play_ready(&play.processes[play.process_count - 1]);
    assert_non_null(play.clients[0].slot);
    arena_done(&a);
}

static void torture(void **state)
{
    play_close_case(state);
    for (uint64_t round = 1; round <= 20; round++) {
        play_open_case(state);
        seed = round * UINT64_C(0x9e3779b97f4a7c15);
        for (int i = 0; i < 1500 && play.process_count < ARRAY_LEN(play.processes) - 200; i++) {
            unsigned what = chance(100);
            if (what < 60)
                act_on_client();
            else if (what < 90)
                act_on_process();
            else if (what < 98)
                play_pass(chance(5 * (unsigned)SECOND_US));
            else if (what < 99)
                (void)pool_restart(STR("shop"));
            else
                act_on_settings();
            loop_turn(play.thread.loop, 0);
            pool_report_check();
        }
        settle();
        play_close_case(state);
    }
    play_open_case(state);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        PLAY_CASE(torture),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
