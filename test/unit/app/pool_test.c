// SPDX-License-Identifier: Apache-2.0
// pool_test -- the pool against a keeper and workers that the test plays on its own clock: order,
// limits, starts and ends of workers.
#include "app/pool.h"

#include <fcntl.h>
#include <signal.h>
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
#include "app/pool_state.h"
#include "os/fd.h"
#include "os/file.h"
#include "play.h"

static void nothing_runs_without_requests(void **state)
{
    (void)state;
    assert_int_equal(play.starts, 0);
    play_pass(3600 * SECOND_US);
    assert_int_equal(play.starts, 0);
    assert_int_equal(play.app_idles, 0);
}

static void the_first_request_starts_a_worker(void **state)
{
    (void)state;
    play_ask(&play.clients[0]);
    play_look();
    assert_int_equal(play.starts, 1);
    assert_true(play.clients[0].waits);
    play_ready(&play.processes[0]);
    assert_non_null(play.clients[0].slot);
    play_give(&play.clients[0], SLOT_REUSE);
    play_ask(&play.clients[1]); // served by the one that is there
    assert_non_null(play.clients[1].slot);
    assert_int_equal(play.clients[1].slot->served, 1);
    assert_int_equal(play.starts, 1);
}

static void waiting_requests_are_served_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        play_ask(&play.clients[i]);
    play_look();
    assert_int_equal(play.starts, 2); // the maximum
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_leave(&play.clients[3]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 6; i++)
            if (play.clients[i].slot)
                play_give(&play.clients[i], SLOT_REUSE);
        play_look();
    }
    static const unsigned WANTED[] = {0, 1, 2, 4, 5};
    assert_int_equal(play.ordered, ARRAY_LEN(WANTED));
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++)
        assert_int_equal(play.order[i], WANTED[i]);
}

static void a_short_wait_starts_no_second_worker(void **state)
{
    (void)state;
    play_ask(&play.clients[0]);
    play_look();
    play.now_us += 100000; // what a start takes
    play_ready(&play.processes[0]);
    play_ask(&play.clients[1]);
    play_pass(50000);
    assert_int_equal(play.starts, 1);
    play_pass(60000);
    assert_int_equal(play.starts, 2);
}

// Somebody waits all the time, though nobody for as long as a start takes.
static void a_steady_queue_starts_a_second_worker(void **state)
{
    (void)state;
    play_ask(&play.clients[0]);
    play_look();
    play.now_us += 100000; // what a start takes
    play_ready(&play.processes[0]);
    for (int round = 0; round < 3; round++) {
        play_ask(&play.clients[1 - round % 2]);
        play_pass(40000);
        assert_int_equal(play.starts, round < 2 ? 1 : 2);
        play_give(&play.clients[round % 2], SLOT_REUSE);
        play_look();
    }
}

// Idle for a moment between them: whoever waited has been served in time.
static void bursts_that_end_start_no_second_worker(void **state)
{
    (void)state;
    play_ask(&play.clients[0]);
    play_look();
    play.now_us += 100000;
    play_ready(&play.processes[0]);
    for (int round = 0; round < 5; round++) {
        play_ask(&play.clients[1]);
        play_pass(40000);
        play_give(&play.clients[0], SLOT_REUSE);
        play_look();
        play_give(&play.clients[1], SLOT_REUSE);
        play_look();
        play_ask(&play.clients[0]);
        play_look();
    }
    assert_int_equal(play.starts, 1);
}

static void the_queue_has_its_limits(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        play_ask(&play.clients[i]);
    play_ask(&play.clients[8]);
    play_look();
    assert_int_equal(play.clients[8].failure, ENDPOINT_QUEUE_FULL);
    assert_non_null(strstr(play.clients[8].text, "queue 8"));
    play_pass(59 * SECOND_US);
    assert_true(play.clients[0].waits);
    play_pass(2 * SECOND_US);
    for (int i = 0; i < 8; i++)
        assert_int_equal(play.clients[i].failure, ENDPOINT_QUEUE_TIMEOUT);
    assert_non_null(strstr(play.clients[0].text, "queue_time"));
}

static void failed_starts_are_told_and_tried_later(void **state)
{
    (void)state;
    struct arena a = {0};
    play_ask(&play.clients[0]);
    play_look();
    for (size_t i = 0; i < POOL_FAILURES_MAX; i++) {
        assert_int_equal(play.starts, i + 1);
        assert_true(play.clients[0].waits); // one failure may have passed
        play_start_fails(&play.processes[i], "exited with 1: \"no such class\"");
        assert_int_equal(play.starts, i + 1); // not at once
        play_pass(POOL_BACKOFF_MIN_US << i);
    }
    assert_int_equal(play.clients[0].failure, ENDPOINT_START_FAILED);
    assert_non_null(strstr(play.clients[0].text, "no such class"));
    assert_true(str_eq(play_report(&a)->failure, STR("exited with 1: \"no such class\"")));
    play_ask(&play.clients[1]); // the back-off is over: it is tried
    play_look();
    assert_int_equal(play.starts, POOL_FAILURES_MAX + 1);
    play_start_fails(&play.processes[POOL_FAILURES_MAX], "again");
    assert_int_equal(play.clients[1].failure, ENDPOINT_START_FAILED);
    play_ask(&play.clients[2]); // in the back-off: refused at once
    play_look();
    assert_int_equal(play.clients[2].failure, ENDPOINT_START_FAILED);
    assert_int_equal(play.starts, POOL_FAILURES_MAX + 1);
    play_pass(POOL_BACKOFF_MAX_US);
    play_ask(&play.clients[3]);
    play_look();
    play_ready(&play.processes[POOL_FAILURES_MAX + 1]);
    assert_non_null(play.clients[3].slot);
    assert_int_equal(play_report(&a)->failures_in_row, 0);
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
    play_ask(&play.clients[0]);
    play_look();
    pool_ready(STR("shop"), play.processes[0].id, 1, unwatchable());
    play_look();
    assert_true(str_starts(play_report(&a)->failure, STR("its connection cannot be used: ")));
    assert_int_equal(play.starts, 1);
    assert_true(play.clients[0].waits);
    play_pass(POOL_BACKOFF_MIN_US);
    assert_int_equal(play.starts, 2);
    play_ready(&play.processes[1]);
    assert_non_null(play.clients[0].slot);
    play_pass(10 * SECOND_US); // stop_us: what could not be told to leave is killed
    assert_true(play.processes[0].kill_wanted);
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
    play_begin();
    struct slot *slot = play.clients[0].slot;
    assert_non_null(slot);
    play_give(&play.clients[0], SLOT_REUSE);
    spoil(slot);
    play_ask(&play.clients[1]); // finds it idle
    play_look();
    assert_true(play.clients[1].waits);
    assert_int_equal(play.starts, 2);
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    play_ready(&play.processes[1]);
    slot = play.clients[1].slot;
    assert_non_null(slot);
    play_ask(&play.clients[2]); // waits for it
    spoil(slot);
    play_give(&play.clients[1], SLOT_REUSE);
    play_look();
    assert_true(play.clients[2].waits && !play.clients[2].slot);
    assert_int_equal(play.starts, 3);
    play_ready(&play.processes[2]);
    assert_non_null(play.clients[2].slot);
}

static void a_failed_start_keeps_the_old_workers(void **state)
{
    (void)state;
    play_begin();
    play_ask(&play.clients[1]);
    play_look();
    assert_int_equal(play.starts, 2);
    for (size_t i = 1; i < 6; i++) {
        play_start_fails(&play.processes[i], "no memory");
        play_pass(POOL_BACKOFF_MAX_US / 10);
        play_pass(POOL_BACKOFF_MAX_US);
    }
    assert_true(play.clients[1].waits); // the old one will serve it
    play_give(&play.clients[0], SLOT_REUSE);
    play_look();
    assert_non_null(play.clients[1].slot);
}

static void idle_workers_leave_and_then_the_spawner(void **state)
{
    (void)state;
    play_ask(&play.clients[0]);
    play_ask(&play.clients[1]);
    play_look();
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_give(&play.clients[0], SLOT_REUSE);
    play_give(&play.clients[1], SLOT_REUSE);
    play_pass(59 * SECOND_US);
    assert_int_equal(fd_read(play.processes[0].peer, (char[1]){0}, 0), 0);
    play_pass(2 * SECOND_US);
    char byte;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fd_read(play.processes[i].peer, &byte, 1), 0); // closed: it is to leave
        assert_int_equal(play.app_idles, 0);
        assert_int_equal(play_end(&play.processes[i], 0), POOL_EXIT_WANTED);
    }
    assert_int_equal(play.app_idles, 1);
    assert_int_equal(play.kills, 0);
}

static void a_worker_that_does_not_leave_is_killed(void **state)
{
    (void)state;
    play_begin();
    play_give(&play.clients[0], SLOT_REUSE);
    play_pass(61 * SECOND_US);
    play_pass(9 * SECOND_US);
    assert_int_equal(play.kills, 0);
    play_pass(2 * SECOND_US);
    assert_int_equal(play.kills, 1);
    assert_int_equal(play_end(&play.processes[0], 9), POOL_EXIT_WANTED);
}

static void the_minimum_is_kept(void **state)
{
    (void)state;
    struct pool_settings set = play_settings();
    set.workers_min = 2;
    set.workers_max = 4;
    play_commit(set);
    assert_int_equal(play.starts, 2);
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_pass(3600 * SECOND_US);
    assert_int_equal(play_end(&play.processes[0], 9), POOL_EXIT_UNEXPECTED);
    assert_int_equal(play.starts, 3);
}

// A conversation ends with its worker, behind what the worker has said, though a child of the
// worker still has the other end.
static void an_end_ends_the_conversation(void **state)
{
    (void)state;
    char room[8];
    play_begin();
    int fd = play.clients[0].slot->fd;
    int of_child = dup(play.processes[0].peer);
    assert_true(of_child >= 0);
    assert_int_equal(write(of_child, "last", 4), 4);
    assert_int_equal(recv(fd, room, 4, MSG_PEEK | MSG_DONTWAIT), 4);
    assert_int_equal(play_end(&play.processes[0], 9), POOL_EXIT_UNEXPECTED);
    assert_int_equal(recv(fd, room, sizeof room, MSG_DONTWAIT), 4);
    assert_int_equal(recv(fd, room, sizeof room, MSG_DONTWAIT), 0);
    assert_int_equal(send(of_child, "more", 4, MSG_NOSIGNAL), -1);
    fd_close(&of_child);
    play_give(&play.clients[0], SLOT_BROKEN);
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

    play_close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a = {0};
        play_open_case(state);
        play_begin();
        play_give(&play.clients[0], CASES[i].outcome);
        assert_string_equal(play_report(&a)->workers[0].state, CASES[i].state);
        if (CASES[i].kill_after_us) {
            play_pass(CASES[i].kill_after_us - 1);
            assert_int_equal(play.kills, 0);
        }
        play_pass(1);
        assert_int_equal(play.kills, 1);
        assert_int_equal(play_report(&a)->worker_count, 1); // counts until its end
        assert_int_equal(play_end(&play.processes[0], 9), POOL_EXIT_WANTED);
        assert_int_equal(play_report(&a)->worker_count, 0);
        arena_done(&a);
        play_close_case(state);
    }
    play_open_case(state);
}

// Most such workers are about to end. One that is not gets SIGTERM, and is killed in the end.
static void a_worker_that_closes_over_a_request(void **state)
{
    static const struct {
        bool ends;       // is seen to end when its time is over
        unsigned terms;  // that it gets
        uint64_t end_us; // after this time
        int status;
        enum pool_exit how;
    } CASES[] = {
        {false, 0, 0, SIGSEGV, POOL_EXIT_UNEXPECTED},
        {false, 1, POOL_CLOSED_US, SIGTERM, POOL_EXIT_WANTED},
        {false, 1, POOL_CLOSED_US, 3 << 8, POOL_EXIT_WANTED}, // it may handle SIGTERM
        {false, 0, 0, 0, POOL_EXIT_UNEXPECTED},               // the request has no answer
        {true, 0, POOL_CLOSED_US, 0, POOL_EXIT_UNEXPECTED},
        {true, 0, POOL_CLOSED_US + POOL_TERM_US, SIGKILL, POOL_EXIT_WANTED},
        {true, 0, POOL_CLOSED_US, SIGTERM << 8, POOL_EXIT_UNEXPECTED},
        {false, 1, POOL_CLOSED_US + POOL_TERM_US, SIGKILL, POOL_EXIT_WANTED},
    };

    play_close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a = {0};
        play_open_case(state);
        struct pool_settings set = play_settings();
        set.workers_max = 1;
        play_commit(set);
        play_begin();
        play_give(&play.clients[0], SLOT_CLOSED);
        play_ask(&play.clients[0]);
        play.ends = CASES[i].ends;
        play_pass(CASES[i].end_us < POOL_CLOSED_US ? CASES[i].end_us : POOL_CLOSED_US - 1);
        assert_int_equal(play.terms, 0);
        if (CASES[i].end_us)
            play_pass(1);
        assert_int_equal(play.terms, CASES[i].terms);
        assert_int_equal(play.kills, 0);
        assert_int_equal(play_report(&a)->worker_count, 1); // counts until its end
        if (CASES[i].end_us > POOL_CLOSED_US) {
            play_pass(POOL_TERM_US - 1);
            assert_int_equal(play.kills, 0);
            play_pass(1);
            assert_int_equal(play.kills, 1);
        }
        assert_int_equal(play.starts, 1);
        assert_int_equal(play_end(&play.processes[0], CASES[i].status), CASES[i].how);
        assert_int_equal(play.starts, 2); // at once, for who waits
        arena_done(&a);
        play_close_case(state);
    }
    play_open_case(state);
}

// SIGTERM and a second for it would be of no use.
static void a_deaf_worker_that_closes_is_killed(void **state)
{
    (void)state;
    play.is_deaf = true;
    play_begin();
    play_give(&play.clients[0], SLOT_CLOSED);
    play_pass(POOL_CLOSED_US - 1);
    assert_int_equal(play.kills, 0);
    play_pass(1);
    assert_int_equal(play.kills, 1);
    play_pass(2 * POOL_TERM_US);
    assert_int_equal(play.kills, 1);
    assert_int_equal(play.terms, 0);
    assert_int_equal(play_end(&play.processes[0], SIGKILL), POOL_EXIT_WANTED);
}

static void a_stuck_worker_says_where_it_is(void **state)
{
    (void)state;
    pool_info(STR("shop"), STR("{\"runtime\":\"godwit-php\"}"));
    play_begin();
    play_give(&play.clients[0], SLOT_STUCK);
    play_look();
    assert_int_equal(play.traces, 1);
    assert_int_equal(play.kills, 0);
    play_pass(POOL_TRACE_US);
    assert_int_equal(play.kills, 1);
    assert_int_equal(play_end(&play.processes[0], 9), POOL_EXIT_WANTED);
}

// It has what is left of its request's time, and is killed as one that has used it up for a client.
static void a_worker_whose_client_has_gone(void **state)
{
    play_close_case(state);
    for (int traces = 0; traces < 2; traces++) {
        play_open_case(state);
        if (traces)
            pool_info(STR("shop"), STR("{\"runtime\":\"godwit-php\"}"));
        play_begin();
        play.clients[0].slot->left_us = SECOND_US;
        play_give(&play.clients[0], SLOT_LEFT);
        assert_true(play_has_left(&play.processes[0]));
        play_pass(SECOND_US - 1);
        assert_int_equal(play.kills + play.traces, 0);
        play_pass(1);
        assert_int_equal(play.traces, traces);
        assert_int_equal(play.kills, traces ? 0 : 1);
        play_pass(traces ? POOL_TRACE_US : 0);
        assert_int_equal(play.kills, 1);
        assert_int_equal(play_end(&play.processes[0], 9), POOL_EXIT_WANTED);
        play_close_case(state);
    }
    play_open_case(state);
}

static void detached_workers_count(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        play_ask(&play.clients[i]);
    play_look();
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_give(&play.clients[0], SLOT_DETACHED);
    play_give(&play.clients[1], SLOT_DETACHED);
    play_pass(SECOND_US);
    assert_non_null(
        play.clients[2].slot ? NULL : &play.clients[2]); // nobody is left, nobody may be started
    assert_int_equal(play.starts, 2);
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    assert_int_equal(play.starts, 3);
}

// One that goes on working says when it is done, and serves again.
static void a_detached_worker_comes_back(void **state)
{
    struct arena a = {0};
    (void)state;
    play_begin();
    play_give(&play.clients[0], SLOT_AWAY);
    assert_string_equal(play_report(&a)->workers[0].state, "detached");
    assert_false(play_has_left(&play.processes[0]));
    assert_int_equal(write(play.processes[0].peer, "LS\7\0\10\0\0\0", 8), 8);
    play_look();
    assert_string_equal(play_report(&a)->workers[0].state, "idle");
    play_ask(&play.clients[1]);
    assert_non_null(play.clients[1].slot);
    assert_int_equal(play.starts, 1);
    // It may have said so before its slot comes back, or give it to somebody who waits.
    play_ask(&play.clients[2]);
    assert_null(play.clients[2].slot);
    assert_int_equal(write(play.processes[0].peer, "LS\7\0\10\0\0\0", 8), 8);
    play_give(&play.clients[1], SLOT_AWAY);
    play_look();
    assert_non_null(play.clients[2].slot);
    play_pass(3600 * SECOND_US); // it is not killed for having been away
    assert_int_equal(play.kills, 0);
    arena_done(&a);
}

// Anything else would be read as the answer to the next request.
// What is told of a worker's end, and found for what it has written before, names its request as
// long as it has one.
static void an_end_names_the_request(void **state)
{
    static const struct {
        bool gives, names, is_answered;
        enum slot_outcome outcome;
    } CASES[] = {
        {.names = true},
        {.gives = true, .outcome = SLOT_REUSE},
        {.gives = true, .outcome = SLOT_LEFT, .names = true},
        {.gives = true, .outcome = SLOT_CLOSED, .names = true},
        {.gives = true, .outcome = SLOT_DETACHED, .names = true, .is_answered = true},
        {.gives = true, .outcome = SLOT_AWAY, .names = true, .is_answered = true},
    };

    play_close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct pool_request found;
        char text[POOL_REQUEST_TEXT_BYTES];
        int32_t pid = 0;
        play_open_case(state);
        play_begin();
        if (CASES[i].gives)
            play_give(&play.clients[0], CASES[i].outcome);
        uint32_t id = play.processes[0].id;
        struct str request = STR("00deadbeef000001");
        assert_true(pool_request_find(STR("shop"), id, request, &found, &pid));
        assert_true(pool_request_find(STR("shop"), 0, request, &found, &pid));
        assert_int_equal(pid, id & 0xffff);
        assert_string_equal(pool_request_text(&found, text),
                            "00deadbeef000001 (site ): \"GET /x?y\"");
        assert_false(pool_request_find(STR("shop"), id + 1, request, &found, &pid));
        assert_false(pool_request_find(STR("shop"), id, STR("00deadbeef000002"), &found, &pid));
        assert_false(pool_request_find(STR("none"), 0, request, &found, &pid));
        // A line without a mark is of the last request of one that takes no other.
        bool is_last = CASES[i].names && CASES[i].gives && CASES[i].outcome != SLOT_AWAY;
        assert_int_equal(pool_request_find(STR("shop"), id, STR(""), &found, &pid), is_last);
        assert_false(pool_request_find(STR("shop"), 0, STR(""), &found, &pid));
        (void)play_end(&play.processes[0], SIGSEGV);
        assert_int_equal(play.end.request.id[0] != 0, CASES[i].names);
        assert_int_equal(play.end.answered, CASES[i].is_answered);
        assert_int_equal(play.end.pid, id & 0xffff);
        if (play.clients[0].slot)
            play_give(&play.clients[0], SLOT_CLOSED);
        play_close_case(state);
    }
    play_open_case(state);
}

static void a_detached_worker_that_says_something_else(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } CASES[] = {
        {"x", 1},
        {"LS\7\0\10\0\0", 7},
        {"LS\7\0\10\0\0\0x", 9},
        {"LS\5\0\10\0\0\0", 8},
        {"LS\7\0\10\0\0\0LS\5\0\10\0\0\0", 16},
    };

    play_close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a = {0};
        play_open_case(state);
        play_begin();
        play_give(&play.clients[0], SLOT_AWAY);
        ssize_t count = write(play.processes[0].peer, CASES[i].bytes, CASES[i].len);
        assert_int_equal(count, CASES[i].len);
        play_look();
        assert_string_equal(play_report(&a)->workers[0].state, "retiring");
        assert_true(play_has_left(&play.processes[0]));
        play_pass(3600 * SECOND_US);
        assert_int_equal(play.kills, 1);
        arena_done(&a);
        play_close_case(state);
    }
    play_open_case(state);
}

// A connection of no use: the worker goes, and the start counts as failed.
static void a_descriptor_that_cannot_be_used(void **state)
{
    struct arena a = {0};
    (void)state;
    play_ask(&play.clients[0]);
    play_look();
    int fd = open("/", O_PATH | O_CLOEXEC);
    assert_true(fd >= 0);
    pool_ready(play.processes[0].app, play.processes[0].id, 77, fd);
    assert_string_equal(play_report(&a)->workers[0].state, "retiring");
    play_pass(SECOND_US);
    assert_int_equal(play.starts, 2); // another one is tried for who waits
    play_pass(3600 * SECOND_US);
    assert_int_equal(play.kills, 1);
    arena_done(&a);
}

// Its connection is no promise: it counts, and is killed when its time has come.
static void a_detached_worker_may_close_or_stay_away(void **state)
{
    struct arena a = {0};
    (void)state;
    for (int i = 0; i < 2; i++)
        play_ask(&play.clients[i]);
    play_look();
    play_ready(&play.processes[0]);
    play_ready(&play.processes[1]);
    play_give(&play.clients[0], SLOT_DETACHED);
    play_give(&play.clients[1], SLOT_DETACHED);
    fd_close(&play.processes[0].peer);
    play_look();
    assert_string_equal(play_report(&a)->workers[0].state, "detached");
    play_pass(600 * SECOND_US);
    assert_int_equal(play.kills, 2);
    assert_int_equal(write(play.processes[1].peer, "LS\7\0\10\0\0\0", 8), 8);
    play_look();
    assert_string_equal(play_report(&a)->workers[1].state, "detached"); // too late
    arena_done(&a);
}

// One that has promised to come back has no reason to close: it runs another program, or is about
// to end. Its place is not held for detached_time, even if it is to leave when it is back.
static void a_worker_that_is_away_and_closes(void **state)
{
    static const struct {
        uint64_t requests_max;
        unsigned terms; // before it ends
        int status;
        enum pool_exit how;
    } CASES[] = {
        {0, 1, SIGTERM, POOL_EXIT_WANTED},
        {1, 1, 3 << 8, POOL_EXIT_WANTED},
        {1, 0, 0, POOL_EXIT_WANTED}, // it had answered
        {0, 0, SIGSEGV, POOL_EXIT_UNEXPECTED},
    };

    play_close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a = {0};
        play_open_case(state);
        struct pool_settings set = play_settings();
        set.workers_max = 1;
        set.requests_max = CASES[i].requests_max;
        play_commit(set);
        play_begin();
        play_ask(&play.clients[1]);
        play_give(&play.clients[0], SLOT_AWAY);
        play_look();
        assert_string_equal(play_report(&a)->workers[0].state, "detached");
        fd_close(&play.processes[0].peer);
        play_look();
        assert_string_equal(play_report(&a)->workers[0].state, "retiring");
        play_pass(POOL_CLOSED_US - 1);
        assert_int_equal(play.terms, 0);
        play_pass(CASES[i].terms ? 1 : 0);
        assert_int_equal(play.terms, CASES[i].terms);
        assert_int_equal(play.starts, 1);
        assert_int_equal(play_end(&play.processes[0], CASES[i].status), CASES[i].how);
        assert_int_equal(play.starts, 2);
        arena_done(&a);
        play_close_case(state);
    }
    play_open_case(state);
}

// What is worn, or of an old generation, leaves when it is back.
static void a_worn_worker_that_is_away(void **state)
{
    struct arena a = {0};
    (void)state;
    struct pool_settings set = play_settings();
    set.requests_max = 1;
    play_commit(set);
    play_begin();
    play_give(&play.clients[0], SLOT_AWAY);
    assert_string_equal(play_report(&a)->workers[0].state, "detached");
    assert_false(play_has_left(&play.processes[0]));
    assert_int_equal(write(play.processes[0].peer, "LS\7\0\10\0\0\0", 8), 8);
    play_look();
    assert_string_equal(play_report(&a)->workers[0].state, "retiring");
    assert_true(play_has_left(&play.processes[0]));
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
    arena_done(&a);
}

static void an_idle_worker_that_closes_is_not_given_out(void **state)
{
    (void)state;
    play_begin();
    play_give(&play.clients[0], SLOT_REUSE);
    fd_close(&play.processes[0].peer);
    play_look();
    play_ask(&play.clients[1]);
    assert_null(play.clients[1].slot);
    play_look();
    assert_int_equal(play.starts, 2);
    assert_int_equal(play_end(&play.processes[0], 0), POOL_EXIT_WANTED);
}

static void death_is_known_before_the_slot_comes_back(void **state)
{
    (void)state;
    struct arena a = {0};
    play_begin();
    assert_int_equal(play_end(&play.processes[0], 11), POOL_EXIT_UNEXPECTED);
    assert_int_equal(play_report(&a)->worker_count, 1); // its last bytes may still be read
    play_give(&play.clients[0], SLOT_BROKEN);
    assert_int_equal(play_report(&a)->worker_count, 0);
    arena_done(&a);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        PLAY_CASE(nothing_runs_without_requests),
        PLAY_CASE(the_first_request_starts_a_worker),
        PLAY_CASE(waiting_requests_are_served_in_order),
        PLAY_CASE(a_short_wait_starts_no_second_worker),
        PLAY_CASE(a_steady_queue_starts_a_second_worker),
        PLAY_CASE(bursts_that_end_start_no_second_worker),
        PLAY_CASE(the_queue_has_its_limits),
        PLAY_CASE(failed_starts_are_told_and_tried_later),
        PLAY_CASE(a_worker_that_can_not_be_watched_is_a_failed_start),
        PLAY_CASE(a_worker_that_can_not_be_moved_is_let_go),
        PLAY_CASE(a_failed_start_keeps_the_old_workers),
        PLAY_CASE(idle_workers_leave_and_then_the_spawner),
        PLAY_CASE(a_worker_that_does_not_leave_is_killed),
        PLAY_CASE(the_minimum_is_kept),
        PLAY_CASE(an_end_ends_the_conversation),
        PLAY_CASE(outcomes),
        PLAY_CASE(a_worker_that_closes_over_a_request),
        PLAY_CASE(a_deaf_worker_that_closes_is_killed),
        PLAY_CASE(a_stuck_worker_says_where_it_is),
        PLAY_CASE(a_worker_whose_client_has_gone),
        PLAY_CASE(detached_workers_count),
        PLAY_CASE(a_detached_worker_comes_back),
        PLAY_CASE(an_end_names_the_request),
        PLAY_CASE(a_detached_worker_that_says_something_else),
        PLAY_CASE(a_descriptor_that_cannot_be_used),
        PLAY_CASE(a_detached_worker_may_close_or_stay_away),
        PLAY_CASE(a_worker_that_is_away_and_closes),
        PLAY_CASE(a_worn_worker_that_is_away),
        PLAY_CASE(an_idle_worker_that_closes_is_not_given_out),
        PLAY_CASE(death_is_known_before_the_slot_comes_back),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
