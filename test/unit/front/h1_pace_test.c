// SPDX-License-Identifier: Apache-2.0
// h1_pace_test -- clients that send more than is answered at once, or read less.
#include <string.h>
#include <sys/socket.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "acts.h"
#include "base/compiler.h"
#include "client.h"
#include "front/accept.h"
#include "front/h1_conn.h"
#include "os/fd.h"

#define SITE      "spool_dir $D; site _ { body_memory 4k; body_max 100k; }"
#define WAKES_MAX 5000

#define GET_TEXT "GET /text HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST_ECHO \
 "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nHost: a\r\n\r\n"
#define CONTINUE    "HTTP/1.1 100 Continue\r\n\r\n"
#define EMPTY_LINES "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" // the most that is forgiven

static struct stage stage;

static struct buf many(const char *text, size_t count)
{
    struct buf made = {0};
    for (size_t i = 0; i < count; i++)
        assert_true(buf_put(&made, str_c(text)));
    return made;
}

// How long an answer to GET_TEXT is.
static size_t answer_len(void)
{
    struct client c;
    client_open(&c, &stage);
    client_say(&c, GET_TEXT);
    client_wait(&c, "hello\n");
    size_t len = buf_len(&c.got);
    client_close(&c);
    return len;
}

static void a_long_pipeline_is_answered_whole(void **state)
{
    enum { COUNT = 50000, TURNS_MAX = COUNT };

    (void)state;
    struct buf requests = many(GET_TEXT, COUNT);
    size_t want = COUNT * answer_len();
    struct client c;
    client_open(&c, &stage);
    for (int turns = 0; buf_len(&c.got) < want && !c.closed && turns < TURNS_MAX; turns++) {
        // As much as goes, also while former requests wait for their turn.
        ssize_t n = fd_write(c.fd, buf_view(&requests));
        if (n > 0)
            buf_take(&requests, (size_t)n);
        stage_turn(&stage, 0);
        (void)client_receive(&c);
    }
    assert_false(c.closed);
    assert_int_equal(buf_len(&c.got), want);
    buf_take(&c.got, want);
    client_say(&c, GET_TEXT);
    client_wait(&c, "hello\n");
    client_close(&c);
    buf_done(&requests);
}

// The end of what the client sends comes while most of it has not had its turn.
static void a_pipeline_is_answered_behind_its_end(void **state)
{
    enum { COUNT = 500 };

    (void)state;
    struct buf requests = many(GET_TEXT, COUNT);
    size_t want = COUNT * answer_len();
    struct client c;
    client_open(&c, &stage);
    assert_int_equal(fd_write(c.fd, buf_view(&requests)), buf_len(&requests));
    assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
    client_wait_closed(&c);
    assert_int_equal(buf_len(&c.got), want);
    client_close(&c);
    buf_done(&requests);
}

static void requests_that_wait_are_not_idle(void **state)
{
    enum { COUNT = 200 };

    (void)state;
    struct buf requests = many(GET_TEXT, COUNT);
    size_t want = COUNT * answer_len();
    struct client c;
    client_open(&c, &stage);
    client_settle(&c);
    long long idle = stage_metric(&stage, "connections_idle");
    assert_int_equal(fd_write(c.fd, buf_view(&requests)), buf_len(&requests));
    stage_turn(&stage, 0);
    (void)client_receive(&c);
    assert_in_range(buf_len(&c.got), 1, want - 1);
    assert_int_equal(stage_metric(&stage, "connections_idle"), idle - 1);
    client_settle(&c);
    assert_int_equal(buf_len(&c.got), want);
    assert_int_equal(stage_metric(&stage, "connections_idle"), idle);
    client_close(&c);
    buf_done(&requests);
}

static void some_empty_lines_are_forgiven(void **state)
{
    (void)state;
    size_t len = answer_len();
    struct client c;
    client_open(&c, &stage);
    for (size_t i = 1; i <= 3; i++) { // counted anew for each request
        client_say(&c, EMPTY_LINES GET_TEXT);
        client_settle(&c);
        assert_int_equal(buf_len(&c.got), i * len);
    }
    client_say(&c, EMPTY_LINES);
    client_settle(&c);
    assert_int_equal(buf_len(&c.got), 3 * len);
    assert_int_equal(stage_metric(&stage, "connections_idle"), 1);
    buf_take(&c.got, 3 * len);
    client_say(&c, "\r\n");
    client_wait(&c, "</html>\n");
    assert_int_equal(strncmp(client_text(&c), "HTTP/1.1 400 ", 13), 0);
    assert_non_null(strstr(client_text(&c), "Connection: close\r\n"));
    client_close(&c);
}

static void empty_lines_byte_by_byte(void **state)
{
    (void)state;
    struct client c;
    client_open(&c, &stage);
    for (const char *at = EMPTY_LINES; *at; at++) {
        client_send(&c, at, 1);
        client_settle(&c);
        // Half a line is a begin, a whole one is nothing.
        assert_int_equal(stage_metric(&stage, "connections_idle"), *at == '\n');
    }
    client_say(&c, "\r");
    client_settle(&c);
    assert_int_equal(buf_len(&c.got), 0);
    client_say(&c, "\n");
    client_wait(&c, "</html>\n");
    assert_int_equal(strncmp(client_text(&c), "HTTP/1.1 400 ", 13), 0);
    client_close(&c);
}

// How many answers the socket takes without their being read.
static size_t answers_that_fit(size_t len)
{
    struct buf requests = many(GET_TEXT, 2000);
    struct client c;
    client_open(&c, &stage);
    client_send(&c, buf_view(&requests).ptr, buf_len(&requests));
    for (int i = 0; i < 200; i++)
        stage_turn(&stage, 0);
    (void)client_receive(&c);
    size_t count = buf_len(&c.got) / len;
    assert_in_range(count, 1, 1999);
    client_close(&c);
    buf_done(&requests);
    return count;
}

// Sends requests whose answers just fit, then one with a body that waits for 100 Continue.
static void fill_and_post(struct client *c, size_t count)
{
    struct buf requests = many(GET_TEXT, count);
    assert_true(buf_put(&requests, STR(POST_ECHO)));
    client_open(c, &stage);
    long long interim = stage_metric(&stage, "responses_1xx");
    client_send(c, buf_view(&requests).ptr, buf_len(&requests));
    for (int i = 0; i < 200 && stage_metric(&stage, "responses_1xx") == interim; i++)
        stage_turn(&stage, 0);
    assert_int_equal(stage_metric(&stage, "responses_1xx"), interim + 1);
    buf_done(&requests);
}

static void continue_waits_for_room(void **state)
{
    (void)state;
    size_t len = answer_len();
    size_t count = answers_that_fit(len);
    struct client c;
    fill_and_post(&c, count);
    (void)client_receive(&c);
    assert_int_equal(buf_len(&c.got), count * len); // there was no room for it
    buf_take(&c.got, count * len);
    client_settle(&c);
    assert_string_equal(client_text(&c), CONTINUE);
    client_say(&c, "ok");
    client_wait(&c, "\r\n\r\nok");
    client_close(&c);
}

// The answer may come before there was room; it goes out behind.
static void continue_comes_before_the_answer(void **state)
{
    (void)state;
    size_t len = answer_len();
    size_t count = answers_that_fit(len);
    struct client c;
    fill_and_post(&c, count);
    assert_int_equal(fd_write(c.fd, STR("ok")), 2); // did not wait
    for (int i = 0; i < 20; i++)
        stage_turn(&stage, 0);
    (void)client_receive(&c);
    assert_int_equal(buf_len(&c.got), count * len);
    buf_take(&c.got, count * len);
    client_wait(&c, "\r\n\r\nok");
    assert_int_equal(strncmp(client_text(&c), CONTINUE "HTTP/1.1 200 ", sizeof CONTINUE + 12), 0);
    client_close(&c);
}

static struct h1_conn *only_conn(void)
{
    struct list_node *node = list_first(&stage.thread.exchanges);
    return node ? CONTAINER_OF(node, struct exchange, node)->front_data : NULL;
}

// A client may wake us as often as it likes: by records of TLS that carry no bytes.
static void being_woken_is_no_byte_of_a_body(void **state)
{
    (void)state;
    stage_config(&stage, "body_idle_time 50ms; body_rate_min 0; " SITE);
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\nHost: a\r\n\r\n12");
    client_settle(&c);
    assert_non_null(only_conn());
    for (int i = 0; i < WAKES_MAX && only_conn(); i++) {
        h1_body_wake(only_conn());
        stage_turn(&stage, 0);
        stage_turn(&stage, 1);
    }
    assert_null(only_conn());
    client_wait(&c, "\r\n\r\n");
    assert_true(strncmp(client_text(&c), "HTTP/1.1 408 ", 13) == 0);
    client_close(&c);
    stage_config(&stage, SITE);
}

// One that sends much of a body while it reads nothing is looked at in turn after turn.
static void being_woken_is_no_room_for_an_answer(void **state)
{
    (void)state;
    stage_config(&stage, "send_time 50ms; " SITE);
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    long long before = stage_metric(&stage, "timeouts_send");
    for (int i = 0; i < WAKES_MAX && front_connection_count(&stage.thread) > 0; i++) {
        if (only_conn())
            h1_conn_later(only_conn());
        stage_turn(&stage, 0);
        stage_turn(&stage, 1);
    }
    assert_int_equal(front_connection_count(&stage.thread), 0);
    assert_int_equal(stage_metric(&stage, "timeouts_send"), before + 1);
    client_close(&c);
    stage_config(&stage, SITE);
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&front_module, &acts_module};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    stage_config(&stage, SITE);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    assert_int_equal(front_connection_count(&stage.thread), 0);
    stage_close(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_pipeline_is_answered_whole),
        cmocka_unit_test(a_pipeline_is_answered_behind_its_end),
        cmocka_unit_test(requests_that_wait_are_not_idle),
        cmocka_unit_test(some_empty_lines_are_forgiven),
        cmocka_unit_test(empty_lines_byte_by_byte),
        cmocka_unit_test(continue_waits_for_room),
        cmocka_unit_test(continue_comes_before_the_answer),
        cmocka_unit_test(being_woken_is_no_byte_of_a_body),
        cmocka_unit_test(being_woken_is_no_room_for_an_answer),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
