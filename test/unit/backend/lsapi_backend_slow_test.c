// SPDX-License-Identifier: Apache-2.0
// lsapi_backend_slow_test -- answers for clients that are slower than the worker: kept in memory,
// then in a file, and then the worker waits.
#include <stdio.h>
#include <string.h>

#include "backend/lsapi_backend.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/mem.h"
#include "core/spool.h"
#include "os/random.h"
#include "play.h"

static void a_slow_client_stops_the_worker(void **state)
{
    (void)state;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = play_script_new();
    play_put_big_answer(&s);
    struct str left = wr_view(&s.out);
    for (int i = 0; i < 50; i++) { // the client takes nothing
        (void)play_push(l, &left);
        stage_turn(&play.stage, 0);
    }
    assert_true(play.client.responded && !l->released);
    assert_true(left.len > PLAY_BIG_BYTES / 4); // bounded: the worker had to stop
    for (int i = 0; i < PLAY_TURNS_MAX && !l->released; i++) {
        (void)play_push(l, &left);
        play_turn();
    }
    play_turns();
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(play.client.end, BODY_END);
    assert_int_equal(buf_len(&play.client.body), PLAY_BIG_BYTES);
    mem_free(s.room);
}

// An answer of PLAY_BIG_BYTES of which each byte tells where it stands.
static struct script telling_answer(const char *type)
{
    static char piece[10000];
    struct script s = play_script_new();
    play_put_head(&s, 200, "Content-Type", type);
    for (size_t at = 0; at < PLAY_BIG_BYTES; at += sizeof piece) {
        size_t len = PLAY_BIG_BYTES - at < sizeof piece ? PLAY_BIG_BYTES - at : sizeof piece;
        for (size_t i = 0; i < len; i++)
            piece[i] = (char)((at + i) % 251);
        lsapi_put_packet(&s.out, LSAPI_RESP_STREAM, len);
        wr_bytes(&s.out, str_n(piece, len));
    }
    play_put_packet(&s, LSAPI_RESP_END, "");
    return s;
}

static void assert_telling_body(void)
{
    assert_int_equal(play.client.end, BODY_END);
    assert_int_equal(buf_len(&play.client.body), PLAY_BIG_BYTES);
    const char *bytes = buf_view(&play.client.body).ptr;
    for (size_t i = 0; i < PLAY_BIG_BYTES; i++)
        if (bytes[i] != (char)(i % 251))
            fail_msg("byte %zu is wrong", i);
}

// Writes the answer for a client that reads nothing until the worker is free, or for `turn_count`
// turns.
static void say_to_nobody(struct line *l, struct str *left, int turn_count)
{
    play.client.may_take = 0;
    for (int i = 0; i < turn_count && !l->released; i++) {
        (void)play_push(l, left);
        play_turn_for(1);
    }
}

static void take_rest(struct line *l, struct str *left, size_t at_once)
{
    play.client.may_take = at_once;
    play_take_body();
    for (int i = 0; i < PLAY_TURNS_MAX && play.client.end == BODY_WAIT; i++) {
        (void)play_push(l, left);
        play_turn_for(1);
    }
    play_turns();
}

static void a_file_frees_the_worker(void **state)
{
    (void)state;
    play.conf.response_spool_bytes = 4 * PLAY_BIG_BYTES;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = telling_answer("text/plain");
    struct str left = wr_view(&s.out);
    say_to_nobody(l, &left, PLAY_TURNS_MAX);
    assert_true(l->released);
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_true(spool_file_total() > PLAY_BIG_BYTES / 2);
    take_rest(l, &left, 30000);
    assert_telling_body();
    assert_true(play.client.file_bytes > PLAY_BIG_BYTES / 2);
    play_end_exchange();
    assert_int_equal(spool_file_total(), 0);
    mem_free(s.room);
}

// What keeps an answer out of a file, or stops the file: then the worker waits, nothing is lost.
static void when_there_is_no_file(void **state)
{
    static struct spool_quota quota;

    static const struct {
        const char *name, *type, *directives;
        int64_t file_max, quota_max;
        bool has_file; // for the start of it
    } CASES[] = {
        {"an event stream", "text/event-stream", "spool_dir $D;", 4 * PLAY_BIG_BYTES, 0, false},
        {"response_spool_max", "text/plain", "spool_dir $D;", PLAY_BIG_BYTES / 2, 0, true},
        {"response_spool_max 0", "text/plain", "spool_dir $D;", 0, 0, false},
        {"spool_quota", "text/plain", "spool_dir $D;", 4 * PLAY_BIG_BYTES, PLAY_BIG_BYTES / 2,
         true},
        {"spool_max", "text/plain", "spool_dir $D; spool_max 400k;", 4 * PLAY_BIG_BYTES, 0, true},
        {"no directory", "text/plain", "spool_dir /nowhere;", 4 * PLAY_BIG_BYTES, 0, false},
        {"a full disk", "text/plain", "spool_dir /proc;", 4 * PLAY_BIG_BYTES, 0, false},
    };

    play_close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        play_open_case(state);
        char config[256];
        (void)snprintf(config, sizeof config, "site _ { } %s", CASES[i].directives);
        stage_config(&play.stage, config);
        play.conf.response_spool_bytes = CASES[i].file_max;
        play.conf.spool_share = (struct spool_share){&quota, CASES[i].quota_max};
        struct line *l = play_add_line();
        play_ask("GET", NULL);
        play_read_request(l, NULL);
        struct script s = telling_answer(CASES[i].type);
        struct str left = wr_view(&s.out);
        say_to_nobody(l, &left, 100);
        if (l->released || (spool_file_total() > 0) != CASES[i].has_file)
            fail_msg("%s: %lld bytes in files", CASES[i].name, (long long)spool_file_total());
        take_rest(l, &left, 10000);
        assert_telling_body();
        assert_int_equal(l->outcome, SLOT_REUSE);
        play_end_exchange();
        assert_int_equal(spool_file_total(), 0);
        assert_int_equal(quota.used_bytes, 0);
        mem_free(s.room);
        play_close_case(state);
    }
    stage_config(&play.stage, PLAY_CONFIG);
    play_open_case(state);
}

// Others have used up the share of files: when they give some back the answer goes there, although
// its client does not move.
static void room_that_comes_back(void **state)
{
    (void)state;
    static struct spool_quota quota;
    play.conf.response_spool_bytes = 4 * PLAY_BIG_BYTES;
    play.conf.spool_share = (struct spool_share){&quota, 2 * PLAY_BIG_BYTES};
    quota.used_bytes = 2 * PLAY_BIG_BYTES;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = telling_answer("text/plain");
    struct str left = wr_view(&s.out);
    say_to_nobody(l, &left, 100);
    assert_true(!l->released && spool_file_total() == 0);
    quota.used_bytes = 0;
    for (int i = 0; i < 100 && !l->released; i++)
        say_to_nobody(l, &left, PLAY_TURNS_MAX);
    assert_true(l->released);
    assert_int_equal(l->outcome, SLOT_REUSE);
    take_rest(l, &left, 30000);
    assert_telling_body();
    play_end_exchange();
    mem_free(s.room);
}

static void a_client_that_leaves_a_file(void **state)
{
    (void)state;
    play.conf.response_spool_bytes = 4 * PLAY_BIG_BYTES;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = telling_answer("text/plain");
    struct str left = str_slice(wr_view(&s.out), 0, PLAY_BIG_BYTES / 2);
    for (int i = 0; i < PLAY_TURNS_MAX && spool_file_total() == 0; i++)
        say_to_nobody(l, &left, 1);
    play_end_exchange();
    assert_int_equal(l->outcome, SLOT_LEFT);
    for (int i = 0; i < PLAY_TURNS_MAX && spool_file_total() > 0; i++)
        stage_turn(&play.stage, 1); // a write may be under way
    assert_int_equal(spool_file_total(), 0);
    mem_free(s.room);
}

static void at_any_pace(void **state)
{
    play_close_case(state);
    for (unsigned seed = 1; seed <= 12; seed++) {
        play_open_case(state);
        play.conf.response_spool_bytes = seed % 3 ? 4 * PLAY_BIG_BYTES : 200 * 1024;
        struct line *l = play_add_line();
        play_ask("GET", NULL);
        play_read_request(l, NULL);
        struct script s = telling_answer("text/plain");
        struct str left = wr_view(&s.out);
        for (unsigned i = 0; i < 40 && !l->released; i++) {
            say_to_nobody(l, &left, (int)((i * 7 + seed) % 11) + 1);
            for (unsigned piece = (i * 5 + seed) % 9; piece > 0 && play.client.responded; piece--) {
                struct body_chunk chunk;
                play.client.ex->resp.body->on_more = NULL;
                if (body_pull(play.client.ex->resp.body, 9000, &chunk) == BODY_DATA)
                    play_keep(&chunk);
            }
        }
        play.client.ex->resp.body->on_more = play_on_more;
        take_rest(l, &left, 50000);
        assert_telling_body();
        play_end_exchange();
        mem_free(s.room);
        play_close_case(state);
    }
    play_open_case(state);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        PLAY_CASE(a_slow_client_stops_the_worker), PLAY_CASE(a_file_frees_the_worker),
        PLAY_CASE(when_there_is_no_file),          PLAY_CASE(room_that_comes_back),
        PLAY_CASE(a_client_that_leaves_a_file),    PLAY_CASE(at_any_pace),
    };
    return play_run(TESTS, ARRAY_LEN(TESTS));
}
