// SPDX-License-Identifier: Apache-2.0
// lsapi_backend_upload_test -- request bodies on their way to a worker: whole from the spool, or
// passed on as they come.
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
#include "os/fd.h"
#include "play.h"

static void an_upload_comes_whole(void **state)
{
    (void)state;
    char *upload = mem_alloc(PLAY_BIG_BYTES + 1);
    memset(upload, 'u', PLAY_BIG_BYTES);
    struct buf got = {0};
    struct line *l = play_add_line();
    play_ask("POST", upload);
    bool first = true;
    for (int i = 0; i < PLAY_TURNS_MAX && buf_len(&got) < PLAY_BIG_BYTES; i++) {
        play_turn_for(100); // the temporary file is written by another thread
        if (first && play.app.lines[0].taken) {
            play_read_request(l, &got);
            first = false;
            continue;
        }
        static char room[256 * 1024];
        ssize_t count = first ? 0 : fd_read(l->worker, room, sizeof room);
        if (count > 0)
            assert_true(buf_put(&got, str_n(room, (size_t)count)));
    }
    assert_true(str_eq(buf_view(&got), str_c(upload)));
    struct script s = play_ordinary_answer();
    play_say(l, wr_view(&s.out));
    play_turns();
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(play.client.end, BODY_END);
    buf_done(&got);
    mem_free(s.room);
    mem_free(upload);
}

static void nothing_of_an_upload_is_read_for_a_full_queue(void **state)
{
    (void)state;
    play.app.is_full = true;
    play_ask("POST", "upload");
    play_turns();
    assert_int_equal(play.client.status, 503);
    struct body_chunk chunk;
    assert_int_equal(body_pull(play.client.ex->req.body, 100, &chunk), BODY_DATA);
    assert_true(str_eq(chunk.bytes, STR("upload")));
}

static void nothing_of_an_upload_is_read_that_finds_no_room(void **state)
{
    static struct spool_quota quota;

    static const struct {
        const char *name, *directives;
        int64_t quota_max, used;
        int status; // 0: it is read
    } CASES[] = {
        {"never, of the app", "", PLAY_BIG_BYTES - 1, 0, 413},
        {"never, of all", "spool_max 100k;", 0, 0, 413},
        {"not now", "", PLAY_BIG_BYTES, 1, 503},
        {"just so", "", PLAY_BIG_BYTES, 0, 0},
        {"no quota", "", 0, 1, 0},
    };

    char *upload = mem_alloc(PLAY_BIG_BYTES + 1);
    memset(upload, 'u', PLAY_BIG_BYTES);
    play_close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        play_open_case(state);
        char config[256];
        (void)snprintf(config, sizeof config, PLAY_CONFIG " %s", CASES[i].directives);
        stage_config(&play.stage, config);
        quota.used_bytes = CASES[i].used;
        play.conf.spool_share = (struct spool_share){&quota, CASES[i].quota_max};
        (void)play_add_line();
        play_ask("POST", upload);
        if (CASES[i].status) {
            struct body_chunk chunk;
            play_turns();
            assert_int_equal(body_pull(play.client.ex->req.body, PLAY_BIG_BYTES, &chunk),
                             BODY_DATA);
            assert_int_equal(chunk.bytes.len, PLAY_BIG_BYTES);
        } else {
            for (int turn = 0; turn < PLAY_TURNS_MAX && !play.app.lines[0].taken; turn++)
                play_turn_for(100);
            assert_true(play.app.lines[0].taken);
        }
        if (play.client.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].name, play.client.status);
        play_end_exchange();
        assert_int_equal(quota.used_bytes, CASES[i].used);
        play_close_case(state);
    }
    mem_free(upload);
    stage_config(&play.stage, PLAY_CONFIG);
    play_open_case(state);
}

static void an_answer_before_the_upload_was_read(void **state)
{
    (void)state;
    char *upload = mem_alloc(PLAY_BIG_BYTES + 1);
    memset(upload, 'u', PLAY_BIG_BYTES);
    struct line *l = play_add_line();
    play_ask("POST", upload);
    for (int i = 0; i < PLAY_TURNS_MAX && !l->taken; i++)
        play_turn_for(100);
    struct script s = play_ordinary_answer();
    play_say(l, wr_view(&s.out));
    play_turns();
    assert_int_equal(play.client.status, 201);
    assert_int_equal(l->outcome, SLOT_BROKEN); // the rest would be taken for a request
    mem_free(s.room);
    mem_free(upload);
}

// A body that the test sends piece by piece.
static struct {
    struct body body;
    struct str there;
    bool ended, failed;
} sent;

static enum body_result pull_sent(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    (void)body;
    if (sent.failed)
        return BODY_FAIL;
    if (!sent.there.len)
        return sent.ended ? BODY_END : BODY_WAIT;
    size_t len = max_bytes < sent.there.len ? (size_t)max_bytes : sent.there.len;
    *out = (struct body_chunk){.bytes = str_n(sent.there.ptr, len), .file = FD_NONE};
    sent.there = str_skip(sent.there, len);
    return BODY_DATA;
}

static void close_sent(struct body *body)
{
    (void)body;
}

static void ask_streaming(struct line **out_line)
{
    static const struct body_ops OPS_SENT = {pull_sent, close_sent};
    memset(&sent, 0, sizeof sent);
    sent.body = (struct body){.ops = &OPS_SENT, .length = 10};
    play.conf.stream_request = true;
    *out_line = play_add_line();
    struct exchange *ex = play_new_exchange();
    ex->req.method_text = STR("POST");
    ex->req.method = HTTP_POST;
    ex->req.version = 11;
    ex->req.path = ex->req.target = STR("/a.php");
    ex->req.line = STR("POST /a.php HTTP/1.1");
    ex->req.has_body = true;
    ex->req.content_length = 10;
    ex->req.body = &sent.body;
    exchange_start(ex);
}

static void a_body_that_is_passed_on_as_it_comes(void **state)
{
    (void)state;
    struct line *l;
    struct buf got = {0};
    char room[64];
    play.conf.request_ms = 5; // does not count while the worker waits for the client
    ask_streaming(&l);
    play_read_request(l, &got);
    for (int i = 0; i < 20; i++)
        stage_turn(&play.stage, 1);
    assert_false(play.client.responded);
    sent.there = STR("01234");
    body_more(&sent.body);
    assert_int_equal(fd_read(l->worker, room, sizeof room), 5);
    sent.there = STR("56789");
    sent.ended = true;
    body_more(&sent.body);
    assert_int_equal(fd_read(l->worker, room, sizeof room), 5);
    assert_memory_equal(room, "56789", 5);
    struct script s = play_ordinary_answer();
    play_say(l, wr_view(&s.out));
    play_turns();
    assert_int_equal(play.client.status, 201);
    assert_int_equal(l->outcome, SLOT_REUSE);
    buf_done(&got);
    mem_free(s.room);
}

static void a_body_that_breaks_off_on_its_way(void **state)
{
    (void)state;
    struct line *l;
    ask_streaming(&l);
    sent.failed = true;
    body_more(&sent.body);
    play_turns();
    assert_int_equal(play.client.status, 400);
    assert_int_equal(l->outcome, SLOT_LEFT);
}

static void a_streamed_body_is_not_sent_twice(void **state)
{
    (void)state;
    struct line *l;
    (void)play_add_line();
    ask_streaming(&l);
    struct line *taken = play.app.lines[0].taken ? &play.app.lines[0] : l;
    fd_close(&taken->worker);
    play_turns();
    assert_int_equal(play.client.status, 502);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        PLAY_CASE(an_upload_comes_whole),
        PLAY_CASE(nothing_of_an_upload_is_read_for_a_full_queue),
        PLAY_CASE(nothing_of_an_upload_is_read_that_finds_no_room),
        PLAY_CASE(an_answer_before_the_upload_was_read),
        PLAY_CASE(a_body_that_is_passed_on_as_it_comes),
        PLAY_CASE(a_body_that_breaks_off_on_its_way),
        PLAY_CASE(a_streamed_body_is_not_sent_twice),
    };
    return play_run(TESTS, ARRAY_LEN(TESTS));
}
