// SPDX-License-Identifier: Apache-2.0
// lsapi_backend_test -- conversations with workers that behave and with all kinds that do not: what
// the client gets, and what becomes of the slot.
#include "backend/lsapi_backend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/mem.h"
#include "core/metrics.h"
#include "os/fd.h"
#include "play.h"

static void a_whole_answer_frees_the_slot_at_once(void **state)
{
    (void)state;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = play_ordinary_answer();
    play_say(l, wr_view(&s.out));
    stage_turn(&play.stage, 0);
    assert_true(play.client.responded && l->released);
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(play.client.status, 201);
    assert_int_equal(play.client.length, 12); // known, so that no chunks are needed
    play_turn();
    assert_int_equal(play.client.end, BODY_END);
    play_assert_body("Hello, world");
    assert_int_equal(play.client.ex->facts.worker_pid, 4242);
    mem_free(s.room);
}

static void an_answer_in_single_bytes(void **state)
{
    (void)state;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = play_ordinary_answer();
    for (size_t i = 0; i < s.out.len; i++) {
        play_say(l, str_n(s.room + i, 1));
        play_turn();
    }
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(play.client.status, 201);
    assert_int_equal(play.client.length, -1);
    assert_int_equal(play.client.end, BODY_END);
    play_assert_body("Hello, world");
    mem_free(s.room);
}

// A worker that does something bad with the one request it gets.
struct misdeed {
    const char *what;
    void (*put)(struct script *s);
    bool reads;  // the request
    bool closes; // its end
    int status;
    enum slot_outcome outcome;
};

static void put_nothing(struct script *s)
{
    (void)s;
}

static void put_garbage(struct script *s)
{
    wr_bytes(&s->out, STR("HTTP/1.1 200 OK\r\n\r\n"));
}

static void put_half_head(struct script *s)
{
    play_put_head(s, 200, "X-A", "1");
    s->out.len -= 3;
}

static void put_body_first(struct script *s)
{
    play_put_packet(s, LSAPI_RESP_STREAM, "x");
}

static void put_only_end(struct script *s)
{
    play_put_packet(s, LSAPI_RESP_END, "");
}

static void put_farewell(struct script *s)
{
    struct script answer = play_ordinary_answer();
    wr_bytes(&s->out, wr_view(&answer.out));
    mem_free(answer.room);
    play_put_packet(s, LSAPI_CONN_CLOSE, "");
}

// As libgodwit-app does: it keeps its connection.
static void put_leave(struct script *s)
{
    play_put_head(s, 201, "Content-Type", "text/plain");
    play_put_packet(s, LSAPI_CONN_CLOSE, "");
    play_put_packet(s, LSAPI_RESP_END, "");
}

static void put_leave_and_return(struct script *s)
{
    put_leave(s);
    play_put_packet(s, LSAPI_REQ_RECEIVED, "");
}

static const struct misdeed MISDEEDS[] = {
    {"dies after reading", put_nothing, true, true, 502, SLOT_CLOSED},
    {"sends something else", put_garbage, true, false, 502, SLOT_BROKEN},
    {"dies in the head", put_half_head, true, true, 502, SLOT_CLOSED},
    {"sends a body first", put_body_first, true, false, 502, SLOT_BROKEN},
    {"sends no head", put_only_end, true, false, 502, SLOT_BROKEN},
    {"says farewell", put_farewell, true, true, 201, SLOT_DETACHED},
    {"goes away", put_leave, true, false, 201, SLOT_AWAY},
    {"goes away and is back", put_leave_and_return, true, false, 201, SLOT_REUSE},
};

static void misdeeds(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(MISDEEDS); i++) {
        const struct misdeed *m = &MISDEEDS[i];
        play_open_case(state);
        struct line *l = play_add_line();
        struct line *other = play_add_line();
        play_ask("GET", NULL);
        if (m->reads)
            play_read_request(l, NULL);
        struct script s = play_script_new();
        m->put(&s);
        play_say(l, wr_view(&s.out));
        if (m->closes)
            fd_close(&l->worker);
        play_turns();
        if (play.client.status != m->status || l->outcome != m->outcome)
            fail_msg("%s: status %d, outcome %d", m->what, play.client.status, (int)l->outcome);
        assert_false(other->taken); // what a worker has taken is not tried on another one
        mem_free(s.room);
        play_close_case(state);
    }
    play_open_case(state);
}

static void a_request_that_was_not_taken_is_tried_again(void **state)
{
    (void)state;
    struct line *dead = play_add_line();
    struct line *closed = play_add_line();
    struct line *good = play_add_line();
    fd_close(&closed->worker); // the write fails
    play_ask("GET", NULL);
    fd_close(&dead->worker); // dies with the request unread
    play_turns();
    assert_int_equal(dead->outcome, SLOT_BROKEN);
    assert_int_equal(closed->outcome, SLOT_BROKEN);
    play_read_request(good, NULL);
    struct script s = play_ordinary_answer();
    play_say(good, wr_view(&s.out));
    play_turns();
    assert_int_equal(play.client.status, 201);
    assert_int_equal(good->outcome, SLOT_REUSE);
    mem_free(s.room);
}

static void a_farewell_that_crosses_the_request(void **state)
{
    (void)state;
    struct line *leaving = play_add_line();
    struct line *good = play_add_line();
    struct script s = play_script_new();
    play_put_packet(&s, LSAPI_CONN_CLOSE, "");
    play_ask("GET", NULL);
    play_read_request(leaving, NULL); // lost in its buffer
    play_say(leaving, wr_view(&s.out));
    play_turns();
    assert_int_equal(leaving->outcome, SLOT_BROKEN);
    assert_true(good->taken);
    play_read_request(good, NULL);
    mem_free(s.room);
}

static void a_body_that_is_cut(void **state)
{
    (void)state;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = play_script_new();
    play_put_head(&s, 200, "Content-Type", "text/plain");
    play_put_packet(&s, LSAPI_RESP_STREAM, "half");
    play_say(l, wr_view(&s.out));
    play_turns();
    assert_int_equal(play.client.status, 200);
    fd_close(&l->worker);
    play_turns();
    assert_int_equal(play.client.end, BODY_FAIL); // must not look complete
    play_assert_body("half");
    assert_int_equal(l->outcome, SLOT_CLOSED);
    mem_free(s.room);
}

// A length that does not hold is put right while the head is not out, and holds afterwards.
static void promised_lengths(void **state)
{
    static const struct {
        const char *promise;
        size_t before; // packets of the body that come together with the head; the end behind 2
        int64_t length;
        const char *body; // the client's; the worker sends "12345"
        enum body_result end;
    } CASES[] = {{"5", 3, 5, "12345", BODY_END},   {"3", 3, 5, "12345", BODY_END},
                 {"9", 3, 5, "12345", BODY_END},   {"0", 3, 5, "12345", BODY_END},
                 {"-1", 3, 5, "12345", BODY_END},  {"5", 0, 5, "12345", BODY_END},
                 {"3", 0, 3, "123", BODY_END},     {"9", 0, 9, "12345", BODY_FAIL},
                 {"9", 2, 9, "12345", BODY_FAIL},  {"3", 1, 3, "123", BODY_END},
                 {"3", 2, -1, "12345", BODY_END},  {"2", 1, -1, "12345", BODY_END},
                 {"abc", 0, -1, "12345", BODY_END}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        play_open_case(state);
        struct line *l = play_add_line();
        play_ask("GET", NULL);
        play_read_request(l, NULL);
        struct script s = play_script_new();
        size_t first = 0;
        play_put_head(&s, 200, "Content-Length", CASES[i].promise);
        for (size_t j = 0; j < 3; j++) {
            if (j == CASES[i].before)
                first = wr_view(&s.out).len;
            play_put_packet(&s, j < 2 ? LSAPI_RESP_STREAM : LSAPI_RESP_END,
                            j == 0   ? "123"
                            : j == 1 ? "45"
                                     : "");
        }
        if (first) {
            play_say(l, str_slice(wr_view(&s.out), 0, first));
            play_turns();
        }
        play_say(l, str_skip(wr_view(&s.out), first));
        play_turns();
        assert_int_equal(play.client.length, CASES[i].length);
        assert_int_equal(play.client.end, CASES[i].end);
        play_assert_body(CASES[i].body);
        assert_int_equal(l->outcome, SLOT_REUSE);
        mem_free(s.room);
        play_close_case(state);
    }
    play_open_case(state);
}

static void answers_without_a_body(void **state)
{
    static const struct {
        const char *method;
        int status;
        int64_t length;
    } CASES[] = {{"HEAD", 200, 77}, {"GET", 204, -2}, {"GET", 304, -2}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        play_open_case(state);
        struct line *l = play_add_line();
        play_ask(CASES[i].method, NULL);
        play_read_request(l, NULL);
        struct script s = play_script_new();
        play_put_head(&s, CASES[i].status, "Content-Length", "77");
        play_put_packet(&s, LSAPI_RESP_STREAM, "dropped");
        play_put_packet(&s, LSAPI_RESP_END, "");
        play_say(l, wr_view(&s.out));
        play_turns();
        assert_int_equal(play.client.status, CASES[i].status);
        assert_int_equal(play.client.length, CASES[i].length);
        assert_int_equal(l->outcome, SLOT_REUSE);
        mem_free(s.room);
        play_close_case(state);
    }
    play_open_case(state);
}

static void request_time(void **state)
{
    (void)state;
    play.conf.request_ms = 5;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    for (int i = 0; i < PLAY_TURNS_MAX && !play.client.responded; i++)
        stage_turn(&play.stage, -1); // the timer ends it
    assert_int_equal(play.client.status, 504);
    assert_int_equal(l->outcome, SLOT_STUCK);
    assert_int_equal(stage_metric(&play.stage, "request_timeouts"), 1);
}

static void a_client_that_leaves_while_waiting(void **state)
{
    (void)state;
    play_ask("GET", NULL);
    assert_non_null(play.app.waiting);
    play_end_exchange();
    assert_true(play.app.cancelled);
}

static void a_client_that_leaves_while_served(void **state)
{
    (void)state;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    for (int i = 0; i < 5; i++)
        play_turn_for(2); // some of its time passes
    play_end_exchange();
    assert_int_equal(l->outcome, SLOT_LEFT);
    assert_true(l->slot.left_us > 0 && l->slot.left_us < (uint64_t)play.conf.request_ms * 1000);
}

static void an_answer_that_nobody_wants_is_read_to_its_end(void **state)
{
    (void)state;
    play.conf.abort = LSAPI_BACKEND_FINISH;
    struct line *l = play_add_line();
    play_ask("GET", NULL);
    play_read_request(l, NULL);
    struct script s = play_script_new();
    play_put_big_answer(&s);
    struct str left = wr_view(&s.out);
    for (int i = 0; i < 50; i++) {
        (void)play_push(l, &left);
        stage_turn(&play.stage, 0);
    }
    assert_false(l->released); // stopped by the client, who leaves now
    play_end_exchange();
    for (int i = 0; i < PLAY_TURNS_MAX && !l->released; i++) {
        (void)play_push(l, &left);
        stage_turn(&play.stage, 0);
    }
    assert_int_equal(left.len, 0);
    assert_int_equal(l->outcome, SLOT_REUSE);
    mem_free(s.room);
}

static void no_slot(void **state)
{
    (void)state;
    long long before = stage_metric(&play.stage, "queue_full");
    play_ask("GET", NULL);
    struct ticket *t = play.app.waiting;
    play.app.waiting = NULL;
    t->on_failed(t, ENDPOINT_QUEUE_FULL, STR("The queue is full (queue 2)."));
    assert_int_equal(play.client.status, 503);
    assert_non_null(header_list_find_id(&play.client.ex->resp.headers, HEADER_RETRY_AFTER));
    assert_true(str_eq(play.client.ex->facts.cause, STR("The queue is full (queue 2).")));
    assert_int_equal(stage_metric(&play.stage, "queue_full"), before + 1);
}

static void a_packet_too_large(void **state)
{
    (void)state;
    struct line *l = play_add_line();
    struct exchange *ex = play_new_exchange();
    static char value[70000];
    memset(value, 'v', sizeof value);
    ex->req.method = HTTP_GET;
    ex->req.method_text = STR("GET");
    ex->req.path = ex->req.target = STR("/");
    header_list_add(&ex->req.headers, STR("X-Long"), str_n(value, sizeof value));
    exchange_start(ex);
    assert_int_equal(play.client.status, 431);
    assert_int_equal(l->outcome, SLOT_REUSE); // nothing was sent
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        PLAY_CASE(a_whole_answer_frees_the_slot_at_once),
        PLAY_CASE(an_answer_in_single_bytes),
        PLAY_CASE(misdeeds),
        PLAY_CASE(a_request_that_was_not_taken_is_tried_again),
        PLAY_CASE(a_farewell_that_crosses_the_request),
        PLAY_CASE(a_body_that_is_cut),
        PLAY_CASE(promised_lengths),
        PLAY_CASE(answers_without_a_body),
        PLAY_CASE(request_time),
        PLAY_CASE(a_client_that_leaves_while_waiting),
        PLAY_CASE(a_client_that_leaves_while_served),
        PLAY_CASE(an_answer_that_nobody_wants_is_read_to_its_end),
        PLAY_CASE(no_slot),
        PLAY_CASE(a_packet_too_large),
    };
    return play_run(TESTS, ARRAY_LEN(TESTS));
}
