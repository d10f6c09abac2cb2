// SPDX-License-Identifier: Apache-2.0
// h1_test -- an HTTP/1 connection from outside: conversations whole and cut at each byte, framing,
// time-outs, aborts, slow readers, limits, the end of a server.
#include <netinet/in.h>
#include <stdio.h>
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

#include "acts.h"
#include "base/compiler.h"
#include "client.h"
#include "front/accept.h"
#include "os/fd.h"
#include "os/sock.h"

#define SITE "spool_dir $D; site _ { body_memory 4k; body_max 100k; }"

#define HEAD_200    "HTTP/1.1 200 OK\r\nDate: D\r\nServer: Godwit\r\n"
#define HELLO       HEAD_200 "Content-Length: 6\r\n\r\nhello\n"
#define HELLO_LAST  HEAD_200 "Content-Length: 6\r\nConnection: close\r\n\r\nhello\n"
#define HOST        "Host: a\r\n\r\n"
#define EMPTY_LINES "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n"
#define GET_TEXT    "GET /text HTTP/1.1\r\n" HOST

static struct stage stage;

static const struct conversation {
    const char *name, *input, *output;
    bool closes;
} CONVERSATIONS[] = {
    {"a request", "GET /text HTTP/1.1\r\n" HOST, HELLO, false},
    {"two in one packet", "GET /text HTTP/1.1\r\n" HOST "GET /text HTTP/1.1\r\n" HOST, HELLO HELLO,
     false},
    {"an empty line in between", "GET /text HTTP/1.1\r\n" HOST "\r\nGET /text HTTP/1.1\r\n" HOST,
     HELLO HELLO, false},
    {"as many empty lines as are forgiven, twice",
     EMPTY_LINES "GET /text HTTP/1.1\r\n" HOST EMPTY_LINES
                 "GET /text HTTP/1.1\r\n" HOST EMPTY_LINES,
     HELLO HELLO, false},
    {"close asked for", "GET /text HTTP/1.1\r\nConnection: close\r\n" HOST, HELLO_LAST, true},
    {"close by the handler", "GET /close HTTP/1.1\r\n" HOST,
     HEAD_200 "Content-Length: 4\r\nConnection: close\r\n\r\nbye\n", true},
    {"what follows close is not answered",
     "GET /close HTTP/1.1\r\n" HOST "GET /text HTTP/1.1\r\n" HOST,
     HEAD_200 "Content-Length: 4\r\nConnection: close\r\n\r\nbye\n", true},
    {"HTTP/1.0", "GET /text HTTP/1.0\r\n\r\n", HELLO_LAST, true},
    {"HTTP/1.0 kept", "GET /text HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     HEAD_200 "Content-Length: 6\r\nConnection: keep-alive\r\n\r\nhello\n", false},
    {"HTTP/1.0 kept, length found out", "GET /all HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     HEAD_200 "Content-Length: 6\r\nConnection: keep-alive\r\n\r\nonetwo", false},
    {"length found out", "GET /all HTTP/1.1\r\n" HOST, HEAD_200 "Content-Length: 6\r\n\r\nonetwo",
     false},
    {"HEAD", "HEAD /text HTTP/1.1\r\n" HOST "GET /text HTTP/1.1\r\n" HOST,
     HEAD_200 "Content-Length: 6\r\n\r\n" HELLO, false},
    {"HEAD of unknown length", "HEAD /all HTTP/1.1\r\n" HOST, HEAD_200 "\r\n", false},
    {"no content", "GET /empty HTTP/1.1\r\n" HOST "GET /text HTTP/1.1\r\n" HOST,
     "HTTP/1.1 204 No Content\r\nDate: D\r\nServer: Godwit\r\n\r\n" HELLO, false},
    {"a body with length", "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" HOST "12345",
     HEAD_200 "Content-Length: 5\r\n\r\n12345", false},
    {"an empty body", "POST /echo HTTP/1.1\r\nContent-Length: 0\r\n" HOST,
     HEAD_200 "Content-Length: 0\r\n\r\n", false},
    {"a chunked body, then a request",
     "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST
     "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nGET /text HTTP/1.1\r\n" HOST,
     HEAD_200 "Content-Length: 5\r\n\r\nabcde" HELLO, false},
    {"an unread body is dropped",
     "POST /unread HTTP/1.1\r\nContent-Length: 5\r\n" HOST "12345GET /text HTTP/1.1\r\n" HOST,
     HELLO HELLO, false},
    {"an unread chunked body is dropped",
     "POST /unread HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST
     "3\r\nabc\r\n0\r\n\r\nGET /text HTTP/1.1\r\n" HOST,
     HELLO HELLO, false},
    {"100-continue with the body at once",
     "POST /echo HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n" HOST "ok",
     HEAD_200 "Content-Length: 2\r\n\r\nok", false},
    {"an absolute target", "GET http://a/text HTTP/1.1\r\n" HOST, HELLO, false},
    {"OPTIONS *", "OPTIONS * HTTP/1.1\r\n" HOST,
     "HTTP/1.1 204 No Content\r\nDate: D\r\nServer: Godwit\r\nAllow: GET, HEAD, POST, "
     "OPTIONS\r\n\r\n",
     false},
};

// Answers with their request ids: only how they begin is compared.
static const struct refusal {
    const char *name, *input, *status;
} REFUSALS[] = {
    {"nonsense", "xyz\r\n\r\n", "HTTP/1.1 400 "},
    {"too many empty lines", EMPTY_LINES "\r\nGET /text HTTP/1.1\r\n" HOST, "HTTP/1.1 400 "},
    {"no host", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
    {"a bare LF", "GET / HTTP/1.1\nHost: a\n\n", "HTTP/1.1 400 "},
    {"both framings",
     "POST /echo HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n" HOST,
     "HTTP/1.1 400 "},
    {"a bad escape", "GET /%zz HTTP/1.1\r\n" HOST, "HTTP/1.1 400 "},
    {"above the root", "GET /../x HTTP/1.1\r\n" HOST, "HTTP/1.1 400 "},
    {"another version", "GET / HTTP/3.0\r\n" HOST, "HTTP/1.1 505 "},
    {"a broken chunk", "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "zz\r\nabc\r\n",
     "HTTP/1.1 400 "},
    {"a body over body_max", "POST /echo HTTP/1.1\r\nContent-Length: 200000\r\n" HOST,
     "HTTP/1.1 413 "},
    {"a header that is not HTTP", "GET /bad HTTP/1.1\r\n" HOST, "HTTP/1.1 502 "},
    {"a forbidden trailer",
     "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "0\r\nHost: b\r\n\r\n",
     "HTTP/1.1 400 "},
    {"an answer that fails at once", "GET /nothing HTTP/1.1\r\n" HOST, "HTTP/1.1 502 "},
};

static void check(struct client *c, const struct conversation *row, size_t cut)
{
    client_wait(c, row->output);
    client_settle(c);
    if (strcmp(client_text(c), row->output) != 0)
        fail_msg("%s, cut at %zu: %s", row->name, cut, client_text(c));
    if (c->closed != row->closes)
        fail_msg("%s, cut at %zu: closed is %d", row->name, cut, c->closed);
}

static void conversations_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CONVERSATIONS); i++) {
        const struct conversation *row = &CONVERSATIONS[i];
        struct client c;
        client_open(&c, &stage);
        client_say(&c, row->input);
        check(&c, row, 0);
        client_close(&c);
    }
    assert_int_equal(front_connection_count(&stage.thread), 0);
}

// 100 Continue depends on what has come when the body is first asked for.
static bool depends_on_packets(const struct conversation *row)
{
    return strstr(row->input, "Expect:") != NULL;
}

static void conversations_hold_at_each_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CONVERSATIONS); i++) {
        const struct conversation *row = &CONVERSATIONS[i];
        size_t len = strlen(row->input);
        for (size_t cut = 1; cut < len && !depends_on_packets(row); cut++) {
            struct client c;
            client_open(&c, &stage);
            client_send(&c, row->input, cut);
            client_settle(&c);
            client_send(&c, row->input + cut, len - cut);
            check(&c, row, cut);
            client_close(&c);
        }
    }
}

static void conversations_hold_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CONVERSATIONS); i++) {
        const struct conversation *row = &CONVERSATIONS[i];
        if (depends_on_packets(row))
            continue;
        struct client c;
        client_open(&c, &stage);
        for (size_t at = 0; row->input[at]; at++)
            client_send(&c, row->input + at, 1);
        check(&c, row, 1);
        client_close(&c);
    }
}

static void refusals_close(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(REFUSALS); i++) {
        const struct refusal *row = &REFUSALS[i];
        struct client c;
        client_open(&c, &stage);
        client_say(&c, row->input);
        client_wait(&c, "</html>\n");
        if (strncmp(client_text(&c), row->status, strlen(row->status)) != 0
            || !strstr(client_text(&c), "Connection: close\r\n")
            || !strstr(client_text(&c), "Request ID: <code>"))
            fail_msg("%s: %s", row->name, client_text(&c));
        // The end of our direction is all that a lingering server waits for.
        assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
        client_wait_closed(&c);
        client_close(&c);
    }
    assert_int_equal(front_connection_count(&stage.thread), 0);
}

static void continue_is_sent_when_the_body_is_wanted(void **state)
{
    (void)state;
    const char *head = "POST /echo HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n" HOST;
    struct client c;
    client_open(&c, &stage);
    client_say(&c, head);
    client_settle(&c);
    assert_string_equal(client_text(&c), "HTTP/1.1 100 Continue\r\n\r\n");
    client_say(&c, "ok");
    client_wait(&c, "\r\n\r\nok");
    assert_string_equal(client_text(&c),
                        "HTTP/1.1 100 Continue\r\n\r\n" HEAD_200 "Content-Length: 2\r\n\r\nok");
    client_close(&c);

    // Who answers without reading never asks for the body, and cannot tell where it would end.
    const char *unread = "POST /unread HTTP/1.1\r\nContent-Length: 2\r\n"
                         "Expect: 100-continue\r\n" HOST;
    client_open(&c, &stage);
    client_say(&c, unread);
    client_settle(&c);
    assert_string_equal(client_text(&c), HELLO_LAST);
    client_close(&c);
}

static void chunks_go_out_as_they_come(void **state)
{
    (void)state;
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "GET /stream HTTP/1.1\r\n" HOST);
    client_settle(&c);
    assert_string_equal(client_text(&c), HEAD_200 "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    acts_go_on();
    client_wait(&c, "0\r\n\r\n");
    assert_string_equal(client_text(&c), HEAD_200
                        "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    assert_int_equal(acts.facts.body_sent_bytes, 6);
    client_close(&c);

    // HTTP/1.0 has no chunks: the end of the connection is the end of the body.
    client_open(&c, &stage);
    client_say(&c, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_settle(&c);
    acts_go_on();
    client_wait_closed(&c);
    assert_string_equal(client_text(&c), HEAD_200 "Connection: close\r\n\r\nonetwo");
    client_close(&c);
}

static void a_failed_source_is_cut(void **state)
{
    (void)state;
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "GET /fail HTTP/1.1\r\n" HOST);
    client_settle(&c);
    acts_go_on();
    client_wait_closed(&c);
    assert_string_equal(client_text(&c), HEAD_200 "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    assert_true(acts.facts.cut);
    assert_false(acts.facts.aborted);
    client_close(&c);
}

static void large_bodies_go_through_a_file(void **state)
{
    (void)state;
    static char body[100 * 1024];
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)('a' + i % 23);
    char head[128];
    int len = snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nContent-Length: %zu\r\n" HOST,
                       sizeof body);
    long long before = stage_metric(&stage, "spool_bytes");
    struct client c;
    client_open(&c, &stage);
    client_send(&c, head, (size_t)len);
    client_send(&c, body, sizeof body);
    client_wait(&c, "\r\n\r\n");
    struct str got = buf_view(&c.got);
    while (got.len < sizeof body) {
        client_settle(&c);
        got = buf_view(&c.got);
    }
    client_settle(&c);
    got = buf_view(&c.got);
    assert_memory_equal(got.ptr + got.len - sizeof body, body, sizeof body);
    assert_int_equal(stage_metric(&stage, "spool_bytes") - before, sizeof body);
    client_close(&c);
}

static void a_missing_spool_directory_is_told(void **state)
{
    (void)state;
    static char body[10000];
    struct client c;
    stage_config(&stage, "spool_dir $D/none; site _ { body_memory 4k; }");
    client_open(&c, &stage);
    client_say(&c, "POST /echo HTTP/1.1\r\nContent-Length: 10000\r\n" HOST);
    client_send(&c, body, sizeof body);
    client_wait(&c, "\r\n\r\n");
    assert_int_equal(strncmp(client_text(&c), "HTTP/1.1 500 ", 13), 0);
    client_close(&c);
    stage_config(&stage, SITE);
}

// The exchange may be over while a pool thread still writes for it.
static void spools_end_after_their_exchange(void **state)
{
    (void)state;
    static char body[50000];
    for (int turns = 0; turns < 6; turns++) {
        struct client c;
        unsigned ended = acts.ended;
        client_open(&c, &stage);
        client_say(&c, "POST /echo HTTP/1.1\r\nContent-Length: 60000\r\n" HOST);
        ssize_t sent = send(c.fd, body, sizeof body, MSG_NOSIGNAL);
        assert_true(sent > 0);
        for (int i = 0; i < turns; i++)
            stage_turn(&stage, 0);
        client_close(&c);
        for (int i = 0; i < 100 && acts.ended == ended; i++)
            stage_turn(&stage, 1);
        assert_int_equal(acts.ended, ended + 1);
    }
}

static void a_slow_reader_stops_the_source(void **state)
{
    (void)state;
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "GET /big HTTP/1.1\r\n" HOST);
    for (int i = 0; i < 20; i++)
        stage_turn(&stage, 0);
    long long sent = stage_metric(&stage, "bytes_out");
    for (int i = 0; i < 20; i++)
        stage_turn(&stage, 0);
    assert_int_equal(stage_metric(&stage, "bytes_out"), sent);
    unsigned ended = acts.ended;
    while (buf_len(&c.got) < ACTS_BIG_BYTES)
        client_settle(&c);
    client_settle(&c);
    assert_int_equal(acts.ended, ended + 1);
    assert_int_equal(acts.facts.body_sent_bytes, ACTS_BIG_BYTES);
    buf_take(&c.got, buf_len(&c.got));
    client_say(&c, "GET /text HTTP/1.1\r\n" HOST);
    client_wait(&c, HELLO);
    client_close(&c);
}

// Each input leaves the server in the middle of something; then the client goes.
static void clients_may_leave_at_any_time(void **state)
{
    (void)state;

    static const struct {
        const char *input;
        bool aborts; // an exchange had begun and was not over
    } CASES[] = {
        {"", false},
        {"GET /te", false},
        {"GET /text HTTP/1.1\r\n" HOST, false},
        {"GET /text HTTP/1.1\r\n" HOST "GET /te", false},
        {"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" HOST "12", true},
        {"GET /wait HTTP/1.1\r\n" HOST, true},
        {"GET /stream HTTP/1.1\r\n" HOST, true},
        {"GET /big HTTP/1.1\r\n" HOST, true},
        {"POST /unread HTTP/1.1\r\nContent-Length: 5\r\n" HOST "12", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        unsigned aborted = acts.aborted;
        unsigned ended = acts.ended;
        struct client c;
        client_open(&c, &stage);
        client_say(&c, CASES[i].input);
        for (int turn = 0; turn < 5; turn++)
            stage_turn(&stage, 0);
        client_close(&c);
        if (acts.aborted - aborted != CASES[i].aborts)
            fail_msg("case %zu: %u aborts", i, acts.aborted - aborted);
        if (acts.ended - ended != (strstr(CASES[i].input, HOST) != NULL))
            fail_msg("case %zu: %u ended", i, acts.ended - ended);
        assert_int_equal(front_connection_count(&stage.thread), 0);
    }
}

static void half_closed_clients_get_their_answer(void **state)
{
    (void)state;
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "GET /wait HTTP/1.1\r\n" HOST);
    assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
    client_settle(&c);
    acts_answer();
    client_wait_closed(&c);
    assert_string_equal(client_text(&c), HEAD_200 "Content-Length: 5\r\n\r\nlate\n");
    client_close(&c);
}

static void times_run_out(void **state)
{
    (void)state;

    static const struct {
        const char *config, *input, *metric, *answer;
    } CASES[] = {
        {"header_time 20ms;", "", "timeouts_header", ""},
        {"header_time 20ms;", "GET /", "timeouts_header", "HTTP/1.1 408 "},
        {"keepalive_time 20ms;", "GET /text HTTP/1.1\r\n" HOST, NULL, HELLO},
        {"body_idle_time 20ms;", "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" HOST "12",
         "timeouts_body", "HTTP/1.1 408 "},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char config[256];
        (void)snprintf(config, sizeof config, "%s %s", CASES[i].config, SITE);
        stage_config(&stage, config);
        long long before = CASES[i].metric ? stage_metric(&stage, CASES[i].metric) : 0;
        struct client c;
        client_open(&c, &stage);
        client_say(&c, CASES[i].input);
        if (strstr(CASES[i].answer, " 40")) {
            client_wait(&c, "\r\n\r\n");
            assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
        }
        client_wait_closed(&c);
        if (strncmp(client_text(&c), CASES[i].answer, strlen(CASES[i].answer)) != 0)
            fail_msg("case %zu: %s", i, client_text(&c));
        if (CASES[i].metric)
            assert_int_equal(stage_metric(&stage, CASES[i].metric), before + 1);
        client_close(&c);
    }
    stage_config(&stage, SITE);
}

static void a_body_may_not_trickle(void **state)
{
    (void)state;
    // A byte a turn: never silent, but always behind.
    stage_config(&stage, "body_idle_time 50ms; body_rate_min 1g; " SITE);
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "POST /echo HTTP/1.1\r\nContent-Length: 100000\r\n" HOST);
    for (int i = 0; i < 2000 && !strstr(client_text(&c), "\r\n\r\n"); i++) {
        client_say(&c, "x");
        stage_turn(&stage, 1);
        client_settle(&c);
    }
    assert_true(strncmp(client_text(&c), "HTTP/1.1 408 ", 13) == 0);
    client_close(&c);
    stage_config(&stage, SITE);
}

static void a_connection_may_bring_so_many(void **state)
{
    (void)state;
    stage_config(&stage, "requests_per_connection 2; " SITE);
    struct client c;
    client_open(&c, &stage);
    for (int i = 0; i < 3; i++)
        client_say(&c, "GET /text HTTP/1.1\r\n" HOST);
    client_settle(&c);
    assert_string_equal(client_text(&c), HELLO HELLO_LAST);
    client_close(&c);
    stage_config(&stage, SITE);
}

static void encoded_slashes_follow_the_site(void **state)
{
    (void)state;

    static const struct {
        const char *site, *target, *status;
    } CASES[] = {
        {"", "/a%2Ftext", "HTTP/1.1 400 "},
        {"encoded_slash keep;", "/x%2Ftext", "HTTP/1.1 404 "},
        {"encoded_slash keep;", "/..%2Ftext", "HTTP/1.1 400 "},
        // With a slash other rules would hold.
        {"encoded_slash keep; path /x/ { }", "/y%2Ftext", "HTTP/1.1 404 "},
        {"encoded_slash keep; path /x/ { }", "/x/%2Ftext", "HTTP/1.1 404 "},
        {"encoded_slash keep; path /x/ { }", "/x%2Ftext", "HTTP/1.1 400 "},
        {"encoded_slash keep; path /x/ { }", "/%2fx/text", "HTTP/1.1 400 "},
        {"encoded_slash keep; path /x/ { }", "/a%2F..%2Fx/text", "HTTP/1.1 400 "},
        {"encoded_slash keep; path /x/ { }", "/x/a%2F..%2Ftext", "HTTP/1.1 404 "},
        {"encoded_slash keep; path /x/ { }", "/x/..%2Ftext", "HTTP/1.1 400 "},
        {"encoded_slash keep; path /x/y { }", "/x%2Fz", "HTTP/1.1 404 "},
        {"encoded_slash keep; path /x/y { }", "/x%2fy", "HTTP/1.1 400 "},
        // Unless that is what they say.
        {"encoded_slash keep; path /x%2Fy { }", "/x%2fy/text", "HTTP/1.1 404 "},
        {"encoded_slash decode;", "/a/..%2Ftext", "HTTP/1.1 200 "},
        {"encoded_slash decode;", "http://a/b%2F..%2Ftext", "HTTP/1.1 200 "},
        {"encoded_slash decode;", "/..%2Ftext", "HTTP/1.1 400 "},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char config[256];
        char input[256];
        struct client c;
        (void)snprintf(config, sizeof config, "site b { } site a { %s }", CASES[i].site);
        stage_config(&stage, config);
        client_open(&c, &stage);
        (void)snprintf(input, sizeof input, "GET %s HTTP/1.1\r\n" HOST, CASES[i].target);
        client_say(&c, input);
        client_wait(&c, "\r\n\r\n");
        if (strncmp(client_text(&c), CASES[i].status, strlen(CASES[i].status)) != 0)
            fail_msg("case %zu: %s", i, client_text(&c));
        client_close(&c);
    }
    stage_config(&stage, SITE);
}

static void who_does_not_read_is_cut(void **state)
{
    (void)state;
    stage_config(&stage, "send_time 20ms; " SITE);
    long long before = stage_metric(&stage, "timeouts_send");
    struct client c;
    client_open(&c, &stage);
    client_say(&c, "GET /big HTTP/1.1\r\n" HOST);
    for (int i = 0; i < 100 && front_connection_count(&stage.thread) > 0; i++)
        stage_turn(&stage, 10);
    assert_int_equal(front_connection_count(&stage.thread), 0);
    assert_int_equal(stage_metric(&stage, "timeouts_send"), before + 1);
    assert_true(acts.facts.cut);
    client_close(&c);
    stage_config(&stage, SITE);
}

// As client_open, but by TCP, with little room on both sides.
static void open_narrow(struct client *c)
{
    struct sock_addr addr;
    int narrow = 2048;
    *c = (struct client){.stage = &stage};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(sock_name(listener, &addr), 0);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &narrow, sizeof narrow), 0);
    assert_int_equal(connect(c->fd, &addr.u.any, addr.len), 0);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(fd >= 0);
    narrow = 128 * 1024;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &narrow, sizeof narrow), 0);
    assert_int_equal(close(listener), 0);
    front_serve(&stage.thread, fd, &addr, false);
}

// The socket has no room yet, but some of what is in it was taken since the last looks.
static void who_reads_slowly_is_not_cut(void **state)
{
    (void)state;
    stage_config(&stage, "send_time 40ms; " SITE);
    long long before = stage_metric(&stage, "timeouts_send");
    struct client c;
    open_narrow(&c);
    client_say(&c, "GET /big HTTP/1.1\r\n" HOST);
    for (int i = 0; i < 30; i++) {
        char room[4096];
        stage_turn(&stage, 20); // to the next look, mostly
        assert_true(recv(c.fd, room, sizeof room, 0) > 0);
    }
    assert_int_equal(stage_metric(&stage, "timeouts_send"), before);
    assert_int_equal(front_connection_count(&stage.thread), 1);
    client_close(&c);
    stage_config(&stage, SITE);
}

static void limits_have_statuses(void **state)
{
    (void)state;

    static const struct {
        const char *config, *status;
        size_t target_len, header_count;
    } CASES[] = {
        {"target_bytes_max 256;", "HTTP/1.1 414 ", 300, 1},
        {"header_bytes_max 1k;", "HTTP/1.1 431 ", 10, 100},
        {"headers_max 8;", "HTTP/1.1 431 ", 10, 9},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char config[256];
        struct buf input = {0};
        (void)snprintf(config, sizeof config, "%s %s", CASES[i].config, SITE);
        stage_config(&stage, config);
        buf_fmt(&input, "GET /%0*d HTTP/1.1\r\n", (int)CASES[i].target_len, 0);
        for (size_t j = 0; j < CASES[i].header_count; j++)
            buf_fmt(&input, "X-%zu: some value\r\n", j);
        buf_fmt(&input, HOST);
        struct client c;
        client_open(&c, &stage);
        client_send(&c, buf_view(&input).ptr, buf_len(&input));
        client_wait(&c, "\r\n\r\n");
        if (strncmp(client_text(&c), CASES[i].status, strlen(CASES[i].status)) != 0)
            fail_msg("case %zu: %s", i, client_text(&c));
        client_close(&c);
        buf_done(&input);
    }
    stage_config(&stage, SITE);
}

static void idle_connections_make_room(void **state)
{
    (void)state;
    stage_config(&stage, "connections_max 2; " SITE);
    struct client first;
    struct client second;
    struct client third;
    client_open(&first, &stage);
    client_open(&second, &stage);
    client_say(&second, "GET /wait HTTP/1.1\r\n" HOST);
    client_open(&third, &stage);
    client_say(&third, "GET /text HTTP/1.1\r\n" HOST);
    client_wait_closed(&first);
    client_wait(&third, HELLO);
    client_close(&third);

    // Nobody is idle: the new one goes.
    client_open(&third, &stage);
    client_say(&third, "POST /echo HTTP/1.1\r\nContent-Length: 2\r\n" HOST);
    client_settle(&third);
    struct client fourth;
    client_open(&fourth, &stage);
    client_wait_closed(&fourth);
    assert_true(stage_metric(&stage, "connections_refused") > 0);
    acts_answer();
    client_wait(&second, "late\n");
    client_close(&first);
    client_close(&second);
    client_close(&third);
    client_close(&fourth);
    stage_config(&stage, SITE);
}

// Who sends requests faster than they are answered is not the only one to be served.
static void many_in_one_packet_leave_others_their_turn(void **state)
{
    enum { COUNT = 200, LEN = sizeof HELLO - 1 };

    (void)state;
    char requests[COUNT * 40] = "";
    struct client greedy;
    struct client other;
    for (int i = 0; i < COUNT; i++)
        strcat(requests, GET_TEXT);
    client_open(&greedy, &stage);
    client_open(&other, &stage);
    assert_int_equal(fd_write(greedy.fd, str_c(requests)), strlen(requests));
    assert_int_equal(fd_write(other.fd, STR(GET_TEXT)), strlen(GET_TEXT));
    stage_turn(&stage, 0);
    client_receive(&greedy);
    client_receive(&other);
    assert_true(strlen(client_text(&greedy)) < (size_t)COUNT / 2 * LEN);
    assert_string_equal(client_text(&other), HELLO);
    client_settle(&greedy);
    assert_int_equal(strlen(client_text(&greedy)), COUNT * LEN);
    client_close(&greedy);
    client_close(&other);
}

static void idle_connections_hold_no_buffer(void **state)
{
    (void)state;
    struct client c;
    client_open(&c, &stage);
    unsigned kept = stage.thread.block_count;
    client_say(&c, "GET /stream HTTP/1.1\r\n" HOST);
    client_settle(&c);
    // Not even one that waits for its source.
    assert_true(stage.thread.block_count >= kept);
    acts_go_on();
    client_wait(&c, "0\r\n\r\n");
    assert_true(stage.thread.block_count >= kept && stage.thread.block_count > 0);
    client_close(&c);
}

static void a_draining_server_ends_connections(void **state)
{
    (void)state;
    struct client idle;
    struct client busy;
    struct client fresh;
    struct client sent;
    client_open(&idle, &stage);
    client_open(&busy, &stage);
    client_open(&fresh, &stage);
    client_open(&sent, &stage);
    client_say(&idle, "GET /text HTTP/1.1\r\n" HOST);
    client_wait(&idle, HELLO);
    client_say(&sent, "GET /text HTTP/1.1\r\n" HOST);
    client_wait(&sent, HELLO);
    client_say(&busy, "GET /wait HTTP/1.1\r\n" HOST);
    client_settle(&busy);
    static const char LATE[] = "GET /text HTTP/1.1\r\n" HOST;
    assert_int_equal(fd_write(sent.fd, str_c(LATE)), sizeof LATE - 1); // nobody has looked yet
    buf_done(&sent.got);
    front_drain(&stage.thread, false);
    client_wait_closed(&idle);
    client_wait_closed(&sent);
    assert_non_null(strstr(client_text(&sent), "Connection: close"));
    assert_false(fresh.closed);
    client_say(&fresh, "GET /text HTTP/1.1\r\n" HOST);
    client_wait_closed(&fresh);
    assert_non_null(strstr(client_text(&fresh), "hello"));
    assert_false(busy.closed);
    acts_answer();
    client_wait_closed(&busy);
    assert_string_equal(client_text(&busy),
                        HEAD_200 "Content-Length: 5\r\nConnection: close\r\n\r\nlate\n");
    client_close(&idle);
    client_close(&busy);
    client_close(&fresh);
    client_close(&sent);

    client_open(&busy, &stage);
    client_say(&busy, "GET /wait HTTP/1.1\r\n" HOST);
    client_settle(&busy);
    front_cut(&stage.thread);
    client_wait_closed(&busy);
    assert_int_equal(front_connection_count(&stage.thread), 0);
    client_close(&busy);

    client_open(&busy, &stage); // too late
    client_wait_closed(&busy);
    assert_int_equal(front_connection_count(&stage.thread), 0);
    client_close(&busy);
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
    stage_close(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversations_hold),
        cmocka_unit_test(conversations_hold_at_each_cut),
        cmocka_unit_test(conversations_hold_byte_by_byte),
        cmocka_unit_test(refusals_close),
        cmocka_unit_test(continue_is_sent_when_the_body_is_wanted),
        cmocka_unit_test(chunks_go_out_as_they_come),
        cmocka_unit_test(a_failed_source_is_cut),
        cmocka_unit_test(large_bodies_go_through_a_file),
        cmocka_unit_test(a_missing_spool_directory_is_told),
        cmocka_unit_test(spools_end_after_their_exchange),
        cmocka_unit_test(a_slow_reader_stops_the_source),
        cmocka_unit_test(clients_may_leave_at_any_time),
        cmocka_unit_test(half_closed_clients_get_their_answer),
        cmocka_unit_test(times_run_out),
        cmocka_unit_test(a_body_may_not_trickle),
        cmocka_unit_test(a_connection_may_bring_so_many),
        cmocka_unit_test(encoded_slashes_follow_the_site),
        cmocka_unit_test(who_does_not_read_is_cut),
        cmocka_unit_test(who_reads_slowly_is_not_cut),
        cmocka_unit_test(limits_have_statuses),
        cmocka_unit_test(idle_connections_make_room),
        cmocka_unit_test(many_in_one_packet_leave_others_their_turn),
        cmocka_unit_test(idle_connections_hold_no_buffer),
        cmocka_unit_test(a_draining_server_ends_connections),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
