// SPDX-License-Identifier: Apache-2.0
// h1_resp_test -- response heads: written and refused; read whole and cut at each place.
#include "wire/h1_resp.h"

#include <stdio.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

enum { HEADERS_MAX = 4, ROOM_BYTES = 1024 };

static const struct h1_limits LIMITS = {.head_bytes_max = 160, .headers_max = HEADERS_MAX};

#define FIELD(name, value, id)               \
 {                                           \
  STR_INIT(name), STR_INIT(value), id, false \
 }

static const struct put_case {
    const char *name;
    struct h1_resp_head head; // its headers are `headers` below
    struct header headers[HEADERS_MAX];
    enum h1_resp_put_result expected;
    const char *text;
} PUTS[] = {
    {"RFC 9112 §4: the usual one",
     {.status = 200,
      .date = STR_INIT("D"),
      .server = STR_INIT("S"),
      .content_length = 5,
      .header_count = 1},
     {FIELD("Content-Type", "text/html", HEADER_CONTENT_TYPE)},
     H1_RESP_PUT_OK,
     "HTTP/1.1 200 OK\r\nDate: D\r\nServer: S\r\nContent-Length: 5\r\n"
     "Content-Type: text/html\r\n\r\n"},
    {"RFC 9112 §4: a phrase of its own",
     {.status = 200, .reason = STR_INIT("Fine"), .content_length = -1},
     {{.id = 0}},
     H1_RESP_PUT_OK,
     "HTTP/1.1 200 Fine\r\n\r\n"},
    {"RFC 9112 §4: an unknown status keeps its space",
     {.status = 299, .content_length = -1},
     {{.id = 0}},
     H1_RESP_PUT_OK,
     "HTTP/1.1 299 \r\n\r\n"},
    {"RFC 9112 §6.3: chunked stands instead of a length",
     {.status = 404,
      .content_length = 7,
      .is_chunked = true,
      .connection = H1_RESP_CONNECTION_CLOSE},
     {{.id = 0}},
     H1_RESP_PUT_OK,
     "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"},
    {"RFC 9112 §6: framing in the list is left out",
     {.status = 204,
      .content_length = -1,
      .connection = H1_RESP_CONNECTION_KEEP_ALIVE,
      .header_count = 4},
     {FIELD("content-length", "9", HEADER_CONTENT_LENGTH),
      FIELD("Transfer-Encoding", "chunked", HEADER_TRANSFER_ENCODING),
      FIELD("Connection", "x", HEADER_CONNECTION), FIELD("Upgrade", "h2c", HEADER_UPGRADE)},
     H1_RESP_PUT_OK,
     "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n"},
    {"RFC 9110 §7.8: an upgrade keeps its field",
     {.status = 101,
      .content_length = -1,
      .connection = H1_RESP_CONNECTION_UPGRADE,
      .header_count = 1},
     {FIELD("Upgrade", "websocket", HEADER_UPGRADE)},
     H1_RESP_PUT_OK,
     "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"},
    {"RFC 9110 §6.6.1: the application's date stands",
     {.status = 200,
      .date = STR_INIT("D"),
      .server = STR_INIT("S"),
      .content_length = -1,
      .header_count = 2},
     {FIELD("date", "E", HEADER_DATE), FIELD("server", "T", HEADER_SERVER)},
     H1_RESP_PUT_OK,
     "HTTP/1.1 200 OK\r\ndate: E\r\nserver: T\r\n\r\n"},
    {"RFC 9110 §5.5: CR LF in a value",
     {.status = 200, .content_length = -1, .header_count = 1},
     {FIELD("A", "b\r\nC: d", 0)},
     H1_RESP_PUT_BAD_VALUE,
     ""},
    {"RFC 9110 §5.5: LF in a value",
     {.status = 200, .content_length = -1, .header_count = 1},
     {FIELD("A", "b\nC: d", 0)},
     H1_RESP_PUT_BAD_VALUE,
     ""},
    {"RFC 9110 §5.5: NUL in a value",
     {.status = 200, .content_length = -1, .header_count = 1},
     {FIELD("A", "b\0", 0)},
     H1_RESP_PUT_BAD_VALUE,
     ""},
    {"RFC 9110 §5.1: a name with a colon",
     {.status = 200, .content_length = -1, .header_count = 1},
     {FIELD("A: b\r\nC", "d", 0)},
     H1_RESP_PUT_BAD_NAME,
     ""},
    {"RFC 9110 §5.1: an empty name",
     {.status = 200, .content_length = -1, .header_count = 1},
     {FIELD("", "d", 0)},
     H1_RESP_PUT_BAD_NAME,
     ""},
    {"RFC 9112 §4: CR LF in the phrase",
     {.status = 200, .reason = STR_INIT("OK\r\nA: b"), .content_length = -1},
     {{.id = 0}},
     H1_RESP_PUT_BAD_REASON,
     ""},
    {"RFC 9110 §15: no status",
     {.status = 0, .content_length = -1},
     {{.id = 0}},
     H1_RESP_PUT_BAD_STATUS,
     ""},
    {"RFC 9110 §15: four digits",
     {.status = 1000, .content_length = -1},
     {{.id = 0}},
     H1_RESP_PUT_BAD_STATUS,
     ""},
};

static void heads_are_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(PUTS); i++) {
        const struct put_case *c = &PUTS[i];
        char room[ROOM_BYTES];
        struct wr w = {.ptr = room, .size = sizeof room};
        struct h1_resp_head head = c->head;
        size_t bad = 99;
        head.headers = c->headers;
        enum h1_resp_put_result result = h1_resp_put(&w, &head, &bad);
        if (result != c->expected || !str_eq(wr_view(&w), str_c(c->text)))
            fail_msg("%s: %d: %.*s", c->name, (int)result, (int)w.len, room);
        assert_true(w.len <= h1_resp_size(&head));
        bool names_field = result == H1_RESP_PUT_BAD_NAME || result == H1_RESP_PUT_BAD_VALUE;
        assert_int_equal(bad, names_field ? 0 : 99);
    }
}

static void each_too_small_room_is_full(void **state)
{
    (void)state;
    struct h1_resp_head head = PUTS[0].head;
    head.headers = PUTS[0].headers;
    size_t need = strlen(PUTS[0].text);
    for (size_t size = 0; size <= need; size++) {
        char room[ROOM_BYTES];
        struct wr w = {.ptr = room, .size = size};
        enum h1_resp_put_result expected = size < need ? H1_RESP_PUT_FULL : H1_RESP_PUT_OK;
        assert_int_equal(h1_resp_put(&w, &head, NULL), expected);
        assert_int_equal(w.len, size < need ? 0 : need);
        assert_true(wr_ok(&w));
    }
}

static void the_size_is_enough_for_the_largest_parts(void **state)
{
    (void)state;
    char room[ROOM_BYTES];
    struct h1_resp_head head = {.status = 511,
                                .content_length = INT64_MAX,
                                .date = STR("D"),
                                .server = STR("S"),
                                .connection = H1_RESP_CONNECTION_KEEP_ALIVE};
    struct wr w = {.ptr = room, .size = h1_resp_size(&head)};
    assert_int_equal(h1_resp_put(&w, &head, NULL), H1_RESP_PUT_OK);
}

#define TEN   "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

static const struct parse_case {
    const char *name;
    struct str input;
    bool is_head;
    enum h1_resp_result expected;
    const char *shown;
} PARSES[] = {
    {"RFC 9112 §4: a response", STR_INIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), false,
     H1_RESP_OK, "200 'OK' 11 length 2 keep 1"},
    {"RFC 9112 §4: an empty phrase", STR_INIT("HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n"), false,
     H1_RESP_OK, "404 '' 11 length 0 keep 1"},
    {"RFC 9112 §4: no space before an empty phrase",
     STR_INIT("HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n"), false, H1_RESP_OK,
     "404 '' 11 length 0 keep 1"},
    {"RFC 9112 §6.3: chunked", STR_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
     false, H1_RESP_OK, "200 'OK' 11 chunked -1 keep 1"},
    {"RFC 9112 §6.3: until the end", STR_INIT("HTTP/1.1 200 OK\r\n\r\n"), false, H1_RESP_OK,
     "200 'OK' 11 close -1 keep 0"},
    {"RFC 9112 §6.3: no content in 304",
     STR_INIT("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"), false, H1_RESP_OK,
     "304 'Not Modified' 11 none 9 keep 1"},
    {"RFC 9112 §6.3: no content for HEAD", STR_INIT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
     true, H1_RESP_OK, "200 'OK' 11 none 9 keep 1"},
    {"RFC 9112 §9.3: HTTP/1.0 closes", STR_INIT("HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\n"),
     false, H1_RESP_OK, "200 'OK' 10 length 9 keep 0"},
    {"RFC 9112 §9.6: close",
     STR_INIT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"), false,
     H1_RESP_OK, "200 'OK' 11 length 9 keep 0"},
    {"RFC 9112 §4: HTAB in the phrase", STR_INIT("HTTP/1.1 200 a\tb\r\n\r\n"), true, H1_RESP_OK,
     "200 'a\tb' 11 none -1 keep 1"},
    {"RFC 9112 §4: another protocol", STR_INIT("ICY 200 OK\r\n\r\n"), false, H1_RESP_BAD_LINE, ""},
    {"RFC 9112 §4: another version", STR_INIT("HTTP/2.0 200 OK\r\n\r\n"), false, H1_RESP_BAD_LINE,
     ""},
    {"RFC 9110 §15: a status of two digits", STR_INIT("HTTP/1.1 20 OK\r\n\r\n"), false,
     H1_RESP_BAD_LINE, ""},
    {"RFC 9110 §15: a status of four digits", STR_INIT("HTTP/1.1 2000 OK\r\n\r\n"), false,
     H1_RESP_BAD_LINE, ""},
    {"RFC 9110 §15: a status below 100", STR_INIT("HTTP/1.1 099 OK\r\n\r\n"), false,
     H1_RESP_BAD_LINE, ""},
    {"RFC 9110 §15: a status above 599", STR_INIT("HTTP/1.1 600 OK\r\n\r\n"), false,
     H1_RESP_BAD_LINE, ""},
    {"RFC 9112 §2.2: LF ends the status line", STR_INIT("HTTP/1.1 200 OK\n\r\n"), false,
     H1_RESP_BAD_LINE, ""},
    {"RFC 9112 §2.2: CR without LF", STR_INIT("HTTP/1.1 200 OK\rX\r\n\r\n"), false,
     H1_RESP_BAD_LINE, ""},
    {"RFC 9112 §5.2: a folded field", STR_INIT("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), false,
     H1_RESP_BAD_FIELDS, ""},
    {"RFC 9112 §6.3: length and coding",
     STR_INIT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), false,
     H1_RESP_BAD_FRAMING, ""},
    {"RFC 9112 §6.1: a coding in HTTP/1.0",
     STR_INIT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), false, H1_RESP_BAD_FRAMING,
     ""},
    {"too many fields", STR_INIT("HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\n\r\n"),
     false, H1_RESP_TOO_LARGE, ""},
    {"too large a head", STR_INIT("HTTP/1.1 200 OK\r\nA: " FIFTY FIFTY FIFTY), false,
     H1_RESP_TOO_LARGE, ""},
};

static const char *show(const struct h1_resp *resp)
{
    static const char *const BODIES[] = {
        [H1_RESP_BODY_NONE] = "none",
        [H1_RESP_BODY_LENGTH] = "length",
        [H1_RESP_BODY_CHUNKED] = "chunked",
        [H1_RESP_BODY_CLOSE] = "close",
    };
    static char text[256];
    snprintf(text, sizeof text, "%d '%.*s' %u %s %lld keep %d", resp->status, STR_ARG(resp->reason),
             resp->version, BODIES[resp->body], (long long)resp->content_length, resp->keep_alive);
    return text;
}

static bool check_part(const struct parse_case *c, size_t seen, size_t len)
{
    struct header room[HEADERS_MAX];
    struct h1_resp resp = {.headers = room};
    struct str part = guard_copy(str_slice(c->input, 0, len));
    enum h1_resp_result result = h1_resp_parse(part, seen, &LIMITS, c->is_head, &resp);
    if (result == H1_RESP_AGAIN && len < c->input.len)
        return false;
    if (result != c->expected)
        fail_msg("%s: %zu to %zu: %d instead of %d", c->name, seen, len, (int)result,
                 (int)c->expected);
    if (result == H1_RESP_OK && strcmp(show(&resp), c->shown) != 0)
        fail_msg("%s: %zu to %zu: %s", c->name, seen, len, show(&resp));
    return true;
}

static void heads_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(PARSES); i++) {
        const struct parse_case *c = &PARSES[i];
        check_part(c, 0, c->input.len);
        for (size_t cut = 0; cut <= c->input.len; cut++)
            if (!check_part(c, 0, cut))
                check_part(c, cut, c->input.len);
        for (size_t len = 0; len < c->input.len && !check_part(c, len, len + 1); len++)
            continue;
    }
}

static void the_interim_response_reads_back(void **state)
{
    (void)state;
    char bytes[ROOM_BYTES];
    struct header room[HEADERS_MAX];
    struct h1_resp resp = {.headers = room};
    struct wr w = {.ptr = bytes, .size = sizeof bytes};
    h1_resp_put_continue(&w);
    assert_int_equal(h1_resp_parse(wr_view(&w), 0, &LIMITS, false, &resp), H1_RESP_OK);
    assert_string_equal(show(&resp), "100 'Continue' 11 none -1 keep 1");
    assert_int_equal(resp.head_len, w.len);
}

static void a_line_is_written_like_its_field(void **state)
{
    (void)state;
    char lines[2][64];
    char text[256];
    struct header headers[] = {
        header_line(HEADER_ETAG, STR("\"a\""), lines[0]),
        header_line(HEADER_DATE, STR("D"), lines[1]),
        header_make(STR("x"), STR("y")),
    };
    struct h1_resp_head head = {.status = 200,
                                .date = STR("never"),
                                .content_length = -1,
                                .headers = headers,
                                .header_count = ARRAY_LEN(headers)};
    struct wr w = {.ptr = text, .size = sizeof text};
    assert_int_equal(h1_resp_put(&w, &head, NULL), H1_RESP_PUT_OK);
    assert_true(
        str_eq(wr_view(&w), STR("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nDate: D\r\nx: y\r\n\r\n")));
    assert_true(w.len <= h1_resp_size(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_written),
        cmocka_unit_test(a_line_is_written_like_its_field),
        cmocka_unit_test(each_too_small_room_is_full),
        cmocka_unit_test(the_size_is_enough_for_the_largest_parts),
        cmocka_unit_test(heads_are_read),
        cmocka_unit_test(the_interim_response_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
