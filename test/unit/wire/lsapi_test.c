// SPDX-License-Identifier: Apache-2.0
// lsapi_test -- what we send is byte for byte what stock peers send; limits refuse instead of
// wrapping.
#include "wire/lsapi.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "guard.h"
#include "lsapi_example.h"

static char room[LSAPI_REQUEST_BYTES_MAX + 1];
static char letters[LSAPI_REQUEST_BYTES_MAX + 1];

static const struct lsapi_pair ENV[] = {
    {STR_INIT("SCRIPT_FILENAME"), STR_INIT("/tmp/hi.php")},
    {STR_INIT("QUERY_STRING"), STR_INIT("a=1")},
    {STR_INIT("SCRIPT_NAME"), STR_INIT("/hi.php")},
    {STR_INIT("REQUEST_METHOD"), STR_INIT("GET")},
};

static struct lsapi_request example(const struct header *headers, size_t count)
{
    return (struct lsapi_request){.env = ENV,
                                  .env_count = ARRAY_LEN(ENV),
                                  .headers = headers,
                                  .header_count = count,
                                  .request_line = STR("GET /hi.php?a=1 HTTP/1.1")};
}

static void the_worked_example_is_written(void **state)
{
    (void)state;
    struct header headers[] = {header_make(STR("Host"), STR("t")),
                               header_make(STR("X-Id"), STR("7"))};
    struct lsapi_request req = example(headers, 2);
    struct wr w = {.ptr = room, .size = sizeof room};
    assert_true(lsapi_put_request(&w, &req));
    assert_int_equal(w.len, sizeof LSAPI_EXAMPLE_REQUEST);
    assert_memory_equal(room, LSAPI_EXAMPLE_REQUEST, w.len);
}

static void the_worked_answer_is_written(void **state)
{
    (void)state;
    static const struct lsapi_pair LINE = {STR_INIT("Content-type"),
                                           STR_INIT("text/plain;charset=UTF-8")};
    struct wr w = {.ptr = room, .size = sizeof room};
    lsapi_put_packet(&w, LSAPI_REQ_RECEIVED, 0);
    assert_true(lsapi_put_head(&w, 200, &LINE, 1));
    lsapi_put_packet(&w, LSAPI_RESP_STREAM, 5);
    wr_bytes(&w, STR("id=7\n"));
    lsapi_put_packet(&w, LSAPI_RESP_END, 0);
    assert_true(wr_ok(&w));
    assert_int_equal(w.len, sizeof LSAPI_EXAMPLE_ANSWER);
    assert_memory_equal(room, LSAPI_EXAMPLE_ANSWER, w.len);
}

static void everything_comes_back(void **state)
{
    (void)state;
    static const struct lsapi_pair SPECIAL[] = {
        {STR_INIT("\x01\x04memory_limit"), STR_INIT("64M")},
        {STR_INIT("\x01\x01precision"), STR_INIT("")},
    };
    struct header headers[] = {
        header_make(STR("accept"), STR("")),          header_make(STR("Host"), STR("first")),
        header_make(STR("Content-Length"), STR("5")), header_make(STR("host"), STR("second")),
        header_make(STR("X-Empty"), STR("")),         header_make(STR("ETag"), STR("not-indexed")),
    };
    struct lsapi_request req = example(headers, ARRAY_LEN(headers));
    req.special = SPECIAL;
    req.special_count = ARRAY_LEN(SPECIAL);
    req.request_id = STR("00deadbeef000001");
    req.body_bytes = 5;
    struct wr w = {.ptr = room, .size = sizeof room};
    struct lsapi_view v;
    assert_true(lsapi_put_request(&w, &req));
    assert_true(lsapi_view_open(guard_copy(wr_view(&w)), &v));
    assert_int_equal(v.body_bytes, 5);

    struct lsapi_pair pair;
    size_t at = 0, count = 0;
    for (; lsapi_view_special(&v, &at, &pair) && count < ARRAY_LEN(SPECIAL); count++) {
        assert_true(str_eq(pair.name, SPECIAL[count].name));
        assert_true(str_eq(pair.value, SPECIAL[count].value));
    }
    assert_int_equal(count, ARRAY_LEN(SPECIAL));
    assert_true(str_eq(pair.name, STR(LSAPI_REQUEST_ID_NAME)));
    assert_true(str_eq(pair.value, req.request_id));
    assert_false(lsapi_view_special(&v, &at, &pair));
    for (at = count = 0; lsapi_view_env(&v, &at, &pair); count++) {
        assert_true(str_eq(pair.name, ENV[count].name));
        assert_true(str_eq(pair.value, ENV[count].value));
    }
    assert_int_equal(count, ARRAY_LEN(ENV));

    struct str value;
    assert_true(lsapi_view_known(&v, HEADER_ACCEPT - 1, &value));
    assert_int_equal(value.len, 0);
    assert_true(lsapi_view_known(&v, HEADER_HOST - 1, &value));
    assert_true(str_eq(value, STR("first")));
    static const struct lsapi_pair UNKNOWN[] = {{STR_INIT("host"), STR_INIT("second")},
                                                {STR_INIT("X-Empty"), STR_INIT("")},
                                                {STR_INIT("ETag"), STR_INIT("not-indexed")}};
    assert_int_equal(v.unknown_count, ARRAY_LEN(UNKNOWN));
    for (uint32_t i = 0; i < v.unknown_count; i++) {
        assert_true(lsapi_view_unknown(&v, i, &pair));
        assert_true(str_eq(pair.name, UNKNOWN[i].name));
        assert_true(str_eq(pair.value, UNKNOWN[i].value));
    }
}

static void a_huge_body_is_announced_by_content_length(void **state)
{
    (void)state;
    struct header headers[] = {header_make(STR("Content-Length"), STR("5000000000"))};
    struct lsapi_request req = example(headers, 1);
    struct lsapi_view v;
    static const int64_t SIZES[] = {INT32_MAX, 5000000000};
    for (size_t i = 0; i < ARRAY_LEN(SIZES); i++) {
        struct wr w = {.ptr = room, .size = sizeof room};
        req.body_bytes = SIZES[i];
        assert_true(lsapi_put_request(&w, &req));
        assert_true(lsapi_view_open(wr_view(&w), &v));
        assert_int_equal(v.body_bytes, SIZES[i]);
    }
}

// The packet of the example with one more header whose value makes it `want` bytes long.
static bool put_of_size(size_t want, size_t room_bytes, bool in_list)
{
    size_t spare = want - (sizeof LSAPI_EXAMPLE_REQUEST - 9 - 9 - 16);
    struct header hdr = header_make(STR("Accept"), str_n(letters, spare - 10));
    struct lsapi_request req = example(&hdr, 1);
    struct lsapi_pair env[ARRAY_LEN(ENV) + 1];
    if (in_list) {
        memcpy(env, ENV, sizeof ENV);
        env[ARRAY_LEN(ENV)] = (struct lsapi_pair){STR("X"), str_n(letters, spare - 7)};
        req.env = env;
        req.env_count++;
        req.header_count = 0;
    }
    struct wr w = {.ptr = room, .size = room_bytes};
    bool done = lsapi_put_request(&w, &req);
    assert_int_equal(done, wr_ok(&w));
    assert_int_equal(w.len, done ? want : 0);
    return done;
}

static void a_packet_has_a_limit(void **state)
{
    (void)state;
    memset(letters, 'x', sizeof letters);
    assert_true(put_of_size(LSAPI_REQUEST_BYTES_MAX, sizeof room, false));
    assert_false(put_of_size(LSAPI_REQUEST_BYTES_MAX + 1, sizeof room, false));
    assert_true(put_of_size(4096, 4096, false));
    assert_false(put_of_size(4096, 4095, false));
    // A list moves what follows in steps of 8.
    assert_true(put_of_size(LSAPI_REQUEST_BYTES_MAX - 3, sizeof room, true));
    assert_false(put_of_size(LSAPI_REQUEST_BYTES_MAX + 5, sizeof room, true));
}

static void a_list_has_limits(void **state)
{
    (void)state;
    static struct lsapi_pair many[LSAPI_ENV_MAX + 1];
    struct lsapi_request req = example(NULL, 0);
    req.special = many;
    req.special_count = LSAPI_ENV_MAX;
    struct wr w = {.ptr = room, .size = sizeof room};
    assert_true(lsapi_put_request(&w, &req));
    req.request_id = STR("1");
    w = (struct wr){.ptr = room, .size = sizeof room};
    assert_false(lsapi_put_request(&w, &req));
    req.request_id = str_n(letters, LSAPI_VALUE_BYTES_MAX + 1);
    req.special_count = 0;
    w = (struct wr){.ptr = room, .size = sizeof room};
    assert_false(lsapi_put_request(&w, &req));
    req.request_id = STR("");
    req.special_count = LSAPI_ENV_MAX + 1;
    w = (struct wr){.ptr = room, .size = sizeof room};
    assert_false(lsapi_put_request(&w, &req));

    struct lsapi_pair wraps[] = {{STR_INIT("x"), str_n(letters, LSAPI_VALUE_BYTES_MAX + 1)},
                                 {str_n(letters, LSAPI_VALUE_BYTES_MAX + 1), STR_INIT("x")}};
    for (size_t i = 0; i < ARRAY_LEN(wraps); i++) {
        req.special = &wraps[i];
        req.special_count = 1;
        w = (struct wr){.ptr = room, .size = sizeof room};
        assert_false(lsapi_put_request(&w, &req));
    }
}

static void a_head_has_limits(void **state)
{
    (void)state;
    struct lsapi_pair line = {STR("X"), str_n(letters, 32766 - 3)};
    struct wr w = {.ptr = room, .size = sizeof room};
    assert_true(lsapi_put_head(&w, 0, &line, 1));
    line.value.len++;
    w = (struct wr){.ptr = room, .size = sizeof room};
    assert_false(lsapi_put_head(&w, 0, &line, 1));
    assert_int_equal(w.len, 0);
    w = (struct wr){.ptr = room, .size = 15};
    assert_false(lsapi_put_head(&w, 0, NULL, 0));
    w = (struct wr){.ptr = room, .size = 16};
    assert_true(lsapi_put_head(&w, 204, NULL, 0));
    assert_int_equal(w.len, 16);
}

static void the_first_bytes_tell_the_length(void **state)
{
    (void)state;

    static const struct {
        const char *bytes;
        size_t count, len;
        enum lsapi_packet_result result;
    } CASES[] = {
        {"LS\1\0\x6e\1\0", 7, 0, LSAPI_PACKET_AGAIN},
        {"LS\1\0\x6e\1\0\0", 8, 0x16e, LSAPI_PACKET_OK},
        {"LS\1\1\0\0\1\x6e", 8, 0x16e, LSAPI_PACKET_OK},
        {"LS\1\0\0\0\1\x6e", 8, 0x16e, LSAPI_PACKET_OK}, // the flag lies
        {"LS\1\xfe\x6e\1\0\0", 8, 0x16e, LSAPI_PACKET_OK},
        {"LS\1\0\xff\xff\0\0", 8, 0xffff, LSAPI_PACKET_OK},
        {"LS\1\0\0\0\1\0", 8, 0x100, LSAPI_PACKET_OK},
        {"LS\1\0\7\0\0\0", 8, 0, LSAPI_PACKET_BAD},
        {"LS\1\0\1\0\1\0", 8, 0, LSAPI_PACKET_BAD},
        {"LS\2\0\x8\0\0\0", 8, 0, LSAPI_PACKET_BAD},
        {"LX\1\0\x8\0\0\0", 8, 0, LSAPI_PACKET_BAD},
        {"XS\1\0\x8\0\0\0", 8, 0, LSAPI_PACKET_BAD},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        size_t len = 0;
        struct str bytes = guard_copy(str_n(CASES[i].bytes, CASES[i].count));
        assert_int_equal(lsapi_packet_len(bytes, &len), CASES[i].result);
        assert_int_equal(len, CASES[i].len);
    }
}

static void known_headers_have_names(void **state)
{
    (void)state;
    assert_true(str_eq(lsapi_known_header_name(0), STR("Accept")));
    assert_true(str_eq(lsapi_known_header_name(24), STR("Transfer-Encoding")));
    assert_true(str_eq(lsapi_known_cgi_name(6), STR("CONTENT_TYPE")));
    for (unsigned slot = 0; slot < LSAPI_KNOWN_HEADERS; slot++) {
        struct str name = lsapi_known_header_name(slot), cgi = lsapi_known_cgi_name(slot);
        cgi = str_starts(cgi, STR("HTTP_")) ? str_skip(cgi, 5) : cgi;
        assert_int_equal(name.len, cgi.len);
        for (size_t i = 0; i < name.len; i++)
            assert_true(name.ptr[i] == '-' ? cgi.ptr[i] == '_'
                                           : (name.ptr[i] & ~0x20) == (cgi.ptr[i] & ~0x20));
    }
}

static void a_pid_notice_is_known(void **state)
{
    (void)state;
    char packet[LSAPI_PID_NOTICE_BYTES + 1] = {0};
    struct wr w = {.ptr = packet, .size = sizeof packet};
    int32_t pid = 0;
    lsapi_put_pid(&w, 4711);
    assert_int_equal(w.len, LSAPI_PID_NOTICE_BYTES);
    assert_true(lsapi_get_pid(str_n(packet, w.len), &pid));
    assert_int_equal(pid, 4711);
    assert_false(lsapi_get_pid(str_n(packet, w.len - 1), &pid));
    assert_false(lsapi_get_pid(str_n(packet, w.len + 1), &pid));
    // Each byte before the number counts, but for the one that tells the order of bytes.
    for (size_t i = 0; i < w.len - sizeof pid; i++) {
        packet[i] ^= 0x20;
        assert_int_equal(lsapi_get_pid(str_n(packet, w.len), &pid), i == 3);
        packet[i] ^= 0x20;
    }
    packet[w.len - 1] = (char)0x80; // a negative number
    packet[w.len - 4] = (char)0x80;
    assert_false(lsapi_get_pid(str_n(packet, w.len), &pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_is_written),
        cmocka_unit_test(the_worked_answer_is_written),
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(a_huge_body_is_announced_by_content_length),
        cmocka_unit_test(a_packet_has_a_limit),
        cmocka_unit_test(a_list_has_limits),
        cmocka_unit_test(a_head_has_limits),
        cmocka_unit_test(the_first_bytes_tell_the_length),
        cmocka_unit_test(known_headers_have_names),
        cmocka_unit_test(a_pid_notice_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
