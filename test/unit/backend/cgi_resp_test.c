// SPDX-License-Identifier: Apache-2.0
// cgi_resp_test -- what of an application's head reaches the client, and what it decides.
#include "backend/cgi_resp.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define LINES_MAX    4
#define WRONG_LENGTH 1

static const struct {
    const char *what;
    int packet_status;
    const char *lines[LINES_MAX][2];
    int status;
    int64_t length;
    const char *passed[LINES_MAX]; // names that reach the client, in order
    bool is_live;
    unsigned dropped;
    int wrong; // WRONG_LENGTH, or the status that cannot be sent; 0: nothing
} CASES[] = {
    {"nothing said", 0, {{0}}, 200, -1, {0}, false, 0, 0},
    {"a status", 404, {{"Content-Type", "text/html"}}, 404, -1, {"Content-Type"}, false, 0, 0},
    {"204 has no type", 204, {{"Content-Type", "text/html"}}, 204, -1, {0}, false, 0, 0},
    {"304 has no type",
     304,
     {{"Content-Type", "a/b"}, {"ETag", "x"}},
     304,
     -1,
     {"ETag"},
     false,
     0,
     0},
    {"Status field", 0, {{"Status", "404 Not Found"}}, 404, -1, {0}, false, 0, 0},
    {"status: in lower case", 0, {{"status", "403"}}, 403, -1, {0}, false, 0, 0},
    {"the packet's status wins", 201, {{"Status", "404"}}, 201, -1, {0}, false, 0, 0},
    {"Status without number", 0, {{"Status", "Not Found"}}, 200, -1, {0}, false, 1, 0},
    {"Status of no final answer", 0, {{"Status", "103 Early"}}, 200, -1, {0}, false, 1, 0},
    {"Status beyond all", 404, {{"Status", "600"}}, 404, -1, {0}, false, 1, 0},
    {"200 beside Location", 200, {{"Location", "/x"}}, 200, -1, {"Location"}, false, 0, 0},
    {"Status and Location",
     0,
     {{"Status", "301"}, {"Location", "/x"}},
     301,
     -1,
     {"Location"},
     false,
     0,
     0},
    {"Location unset status", 0, {{"Location", "http://a/"}}, 302, -1, {"Location"}, false, 0, 0},
    {"Location of 201 stays", 201, {{"Location", "/x"}}, 201, -1, {"Location"}, false, 0, 0},
    {"length", 200, {{"Content-Length", "12"}}, 200, 12, {0}, false, 0, 0},
    {"the same length twice",
     200,
     {{"Content-Length", "12"}, {"content-length", "12"}},
     200,
     12,
     {0},
     false,
     0,
     0},
    {"two lengths",
     200,
     {{"Content-Length", "12"}, {"Content-Length", "13"}},
     200,
     -1,
     {0},
     false,
     0,
     WRONG_LENGTH},
    {"length that is none", 200, {{"Content-Length", "+1"}}, 200, -1, {0}, false, 0, WRONG_LENGTH},
    {"length and none",
     200,
     {{"Content-Length", "x"}, {"Content-Length", "1"}},
     200,
     -1,
     {0},
     false,
     0,
     WRONG_LENGTH},
    {"length beyond all",
     200,
     {{"Content-Length", "99999999999999999999"}},
     200,
     -1,
     {0},
     false,
     0,
     WRONG_LENGTH},
    {"what the server sets",
     200,
     {{"Date", "x"}, {"Server", "y"}, {"Connection", "close"}, {"Transfer-Encoding", "chunked"}},
     200,
     -1,
     {0},
     false,
     0,
     0},
    {"words for the server",
     200,
     {{"X-LiteSpeed-Cache-Control", "public"},
      {"X-LiteSpeed-Tag", "a"},
      {"LSC-Cookie", "b"},
      {"X-A", "1"}},
     200,
     -1,
     {"X-A"},
     false,
     0,
     0},
    {"cookies stay apart",
     200,
     {{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}},
     200,
     -1,
     {"Set-Cookie", "Set-Cookie"},
     false,
     0,
     0},
    {"encoding none", 200, {{"Content-Encoding", "none"}}, 200, -1, {0}, false, 0, 0},
    {"encoding gzip",
     200,
     {{"Content-Encoding", "gzip"}},
     200,
     -1,
     {"Content-Encoding"},
     false,
     0,
     0},
    {"events", 200, {{"Content-Type", "text/event-stream"}}, 200, -1, {"Content-Type"}, true, 0, 0},
    {"not to be held back", 200, {{"X-Accel-Buffering", "no"}}, 200, -1, {0}, true, 0, 0},
    {"lines that are none",
     200,
     {{"", "x"}, {"A B", "x"}, {"X-A", "a\rb"}, {"X-B", "fine"}},
     200,
     -1,
     {"X-B"},
     false,
     3,
     0},
    {"interim status", 100, {{0}}, 500, -1, {0}, false, 0, 100},
    {"status beyond all", 600, {{0}}, 500, -1, {0}, false, 0, 600},
    {"status below all", 99, {{"Status", "404"}}, 500, -1, {0}, false, 0, 99},
};

static void heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a = {0};
        struct response resp = {.headers = {.arena = &a}};
        struct cgi_resp r = {.length = -1};
        for (size_t j = 0; j < LINES_MAX && CASES[i].lines[j][0]; j++)
            cgi_resp_line(&r, &resp, str_c(CASES[i].lines[j][0]), str_c(CASES[i].lines[j][1]));
        cgi_resp_finish(&r, &resp, CASES[i].packet_status);
        if (resp.status != CASES[i].status)
            fail_msg("%s: status %d", CASES[i].what, resp.status);
        assert_int_equal(r.length, CASES[i].length);
        assert_int_equal(r.is_live, CASES[i].is_live);
        assert_int_equal(r.dropped, CASES[i].dropped);
        bool is_length = CASES[i].wrong == WRONG_LENGTH;
        assert_int_equal(r.wrong_length != NULL, is_length);
        assert_int_equal(r.wrong_status, is_length ? 0 : CASES[i].wrong);
        size_t count = 0;
        while (count < LINES_MAX && CASES[i].passed[count])
            count++;
        if (resp.headers.count != count)
            fail_msg("%s: %zu fields passed", CASES[i].what, resp.headers.count);
        for (size_t j = 0; j < count; j++)
            assert_true(str_eq(resp.headers.items[j].name, str_c(CASES[i].passed[j])));
        arena_done(&a);
    }
}

static void reasons(void **state)
{
    static const struct {
        const char *field, *reason;
        int packet_status;
    } REASONS[] = {
        {"404 Custom Reason", "Custom Reason", 0},
        {"404 Custom Reason", "Custom Reason", 404},
        {"404 Custom Reason", "", 403},
        {"404", "", 0},
        {"404 ", "", 404},
        {"404  Two  Blanks ", "Two  Blanks", 404},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(REASONS); i++) {
        struct arena a = {0};
        struct response resp = {.headers = {.arena = &a}};
        struct cgi_resp r = {.length = -1};
        cgi_resp_line(&r, &resp, STR("Status"), str_c(REASONS[i].field));
        cgi_resp_finish(&r, &resp, REASONS[i].packet_status);
        assert_true(str_eq(resp.reason, str_c(REASONS[i].reason)));
        arena_done(&a);
    }
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {cmocka_unit_test(heads), cmocka_unit_test(reasons)};
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
