// SPDX-License-Identifier: Apache-2.0
// h1_chunk_test -- chunked bodies, whole, cut in two at each place, and byte by byte.
#include "wire/h1_chunk.h"

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

// `body` and `left` are what comes out and what is not taken; for refusals, what came out before.
struct chunk_case {
    const char *name;
    struct str input;
    enum h1_chunk_result expected;
    struct str body, left;
};

#define CASE(name, input, expected, body, left)                   \
 {                                                                \
  name, STR_INIT(input), expected, STR_INIT(body), STR_INIT(left) \
 }
#define TEN        "0123456789"
#define FIFTY      TEN TEN TEN TEN TEN
#define TWENTY_0   "00000000000000000000"
#define HUNDRED_0  TWENTY_0 TWENTY_0 TWENTY_0 TWENTY_0 TWENTY_0
#define FIVE_HUNDR FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY

static const struct chunk_case CASES[] = {
    CASE("RFC 9112 §7.1: two chunks", "4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n", H1_CHUNK_END,
         "Wikipedia", ""),
    CASE("RFC 9112 §7.1: nothing at all", "0\r\n\r\n", H1_CHUNK_END, "", ""),
    CASE("RFC 9112 §7.1: what follows is left", "1\r\na\r\n0\r\n\r\nGET /", H1_CHUNK_END, "a",
         "GET /"),
    CASE("RFC 9112 §7.1: CRLF as content", "2\r\n\r\n\r\n0\r\n\r\n", H1_CHUNK_END, "\r\n", ""),
    CASE("RFC 9112 §7.1: digits of both cases", "0a\r\n" TEN "\r\n0A\r\n" TEN "\r\n00\r\n\r\n",
         H1_CHUNK_END, TEN TEN, ""),
    CASE("RFC 9112 §7.1.1: extensions", "1;a=\"b c\";d\r\nx\r\n0;e\r\n\r\n", H1_CHUNK_END, "x", ""),
    CASE("RFC 9112 §7.1.1: white space before one", "1 \t;a\r\nx\r\n0\r\n\r\n", H1_CHUNK_END, "x",
         ""),
    CASE("RFC 9112 §7.1.2: trailers", "1\r\nx\r\n0\r\nA: b\r\nC:\td\xfc\r\n\r\n", H1_CHUNK_END, "x",
         ""),
    CASE("not complete in a size", "1", H1_CHUNK_AGAIN, "", ""),
    CASE("not complete in content", "5\r\nabc", H1_CHUNK_AGAIN, "abc", ""),
    CASE("not complete in trailers", "0\r\n", H1_CHUNK_AGAIN, "", ""),
    CASE("RFC 9112 §7.1: no size", "\r\n", H1_CHUNK_BAD, "", "\n"),
    CASE("RFC 9112 §7.1: an extension without size", ";a\r\n", H1_CHUNK_BAD, "", "a\r\n"),
    CASE("RFC 9112 §7.1: white space first", " 1\r\nx", H1_CHUNK_BAD, "", "1\r\nx"),
    CASE("RFC 9112 §7.1: prefixed", "0x1\r\nx", H1_CHUNK_BAD, "", "1\r\nx"),
    CASE("RFC 9112 §7.1: signed", "+1\r\nx", H1_CHUNK_BAD, "", "1\r\nx"),
    CASE("RFC 9112 §7.1: negative", "-1\r\nx", H1_CHUNK_BAD, "", "1\r\nx"),
    CASE("RFC 9112 §7.1: two sizes", "1 1\r\nx", H1_CHUNK_BAD, "", "\r\nx"),
    CASE("RFC 9112 §7.1: white space behind a size", "1 \r\nx", H1_CHUNK_BAD, "", "\nx"),
    CASE("RFC 9112 §7.1: LF behind a size", "1\nx", H1_CHUNK_BAD, "", "x"),
    CASE("RFC 9112 §7.1: LF behind an extension", "1;a\nx", H1_CHUNK_BAD, "", "x"),
    CASE("RFC 9112 §7.1: CR without LF", "1\rx", H1_CHUNK_BAD, "", ""),
    CASE("RFC 9112 §7.1: CR within an extension", "1;a\rb", H1_CHUNK_BAD, "", ""),
    CASE("RFC 9112 §7.1: NUL in an extension", "1;\0\r\nx", H1_CHUNK_BAD, "", "\r\nx"),
    CASE("RFC 9112 §7.1: content longer than said", "1\r\nxy\r\n", H1_CHUNK_BAD, "x", "\r\n"),
    CASE("RFC 9112 §7.1: LF behind content", "1\r\nx\n0\r\n", H1_CHUNK_BAD, "x", "0\r\n"),
    CASE("RFC 9112 §7.1: CR without LF behind content", "1\r\nx\r0\r\n", H1_CHUNK_BAD, "x", "\r\n"),
    CASE("RFC 9112 §7.1: a size of 60 bits", "fffffffffffffff\r\nx", H1_CHUNK_AGAIN, "x", ""),
    CASE("RFC 9112 §7.1: a size of 64 bits", "10000000000000000\r\nx", H1_CHUNK_BAD, "", "0\r\nx"),
    CASE("RFC 9112 §7.1.2: LF ends the body", "0\r\n\nGET", H1_CHUNK_BAD, "", "GET"),
    CASE("RFC 9112 §7.1.2: CR without LF ends the body", "0\r\n\rGET", H1_CHUNK_BAD, "", "ET"),
    CASE("RFC 9112 §7.1.2: a folded trailer", "0\r\nA: b\r\n c\r\n\r\n", H1_CHUNK_BAD, "",
         "c\r\n\r\n"),
    CASE("RFC 9112 §7.1.2: LF within trailers", "0\r\nA: b\n\r\n", H1_CHUNK_BAD, "", "\r\n"),
    CASE("RFC 9112 §7.1.2: names of any length",
         "0\r\nContent-Length-Of-Something-Else: 1\r\nx: \r\n\r\n", H1_CHUNK_END, "", ""),
    CASE("RFC 9112 §7.1.2: a line without colon", "0\r\nA\r\n\r\n", H1_CHUNK_BAD, "", "\n\r\n"),
    CASE("RFC 9112 §5: no name", "0\r\n: b\r\n\r\n", H1_CHUNK_BAD, "", " b\r\n\r\n"),
    CASE("RFC 9112 §5.1: white space before the colon", "0\r\nA : b\r\n", H1_CHUNK_BAD, "",
         ": b\r\n"),
    CASE("RFC 9112 §5: a name that is no token", "0\r\nA\xfc: b\r\n", H1_CHUNK_BAD, "", ": b\r\n"),
    CASE("RFC 9110 §5.5: NUL in a trailer", "0\r\nA: b\0c\r\n", H1_CHUNK_BAD, "", "c\r\n"),
    CASE("RFC 9110 §5.5: DEL in a trailer", "0\r\nA: \x7f\r\n", H1_CHUNK_BAD, "", "\r\n"),
    CASE("RFC 9112 §7.1.2: CR within a trailer", "0\r\nA: b\rc\r\n", H1_CHUNK_BAD, "", "\r\n"),
    CASE("RFC 9110 §6.5.1: framing", "0\r\nContent-Length: 5\r\n\r\n", H1_CHUNK_BAD, "",
         " 5\r\n\r\n"),
    CASE("RFC 9110 §6.5.1: letter case", "0\r\ntransfer-encodinG:\r\n", H1_CHUNK_BAD, "", "\r\n"),
    CASE("RFC 9110 §6.5.1: routing, second line", "0\r\nA: b\r\nHost: x\r\n", H1_CHUNK_BAD, "",
         " x\r\n"),
    CASE("RFC 9110 §6.5.1: authentication", "0\r\nAuthorization: Basic\r\n", H1_CHUNK_BAD, "",
         " Basic\r\n"),
    CASE("RFC 9110 §6.5.1: the beginning of a forbidden name", "0\r\nHos: x\r\nHosts: y\r\n\r\n",
         H1_CHUNK_END, "", ""),
    CASE("a size line at its limit", "1;" FIVE_HUNDR "12345678\r\nx", H1_CHUNK_AGAIN, "x", ""),
    CASE("a size line over its limit", "1;" FIVE_HUNDR "123456789\r\nx", H1_CHUNK_TOO_LONG, "",
         "x"),
    CASE("zeros without end", HUNDRED_0 HUNDRED_0 HUNDRED_0 HUNDRED_0 HUNDRED_0 "0000000000000",
         H1_CHUNK_TOO_LONG, "", ""),
};

struct run {
    struct h1_chunk decoder;
    enum h1_chunk_result result;
    char body[1024];
    size_t body_len;
};

// Feeds one piece from a guarded place; returns how many bytes were not taken.
static size_t feed(struct run *r, struct str piece)
{
    struct str in = guard_copy(piece), data;
    do {
        r->result = h1_chunk_feed(&r->decoder, &in, &data);
        if (r->result != H1_CHUNK_DATA)
            return in.len;
        assert_true(data.len > 0 && data.len <= sizeof r->body - r->body_len);
        memcpy(r->body + r->body_len, data.ptr, data.len);
        r->body_len += data.len;
    } while (true);
}

static void check(const struct chunk_case *c, const struct run *r, size_t left, size_t cut)
{
    if (r->result != c->expected)
        fail_msg("%s: cut at %zu: %d instead of %d", c->name, cut, (int)r->result,
                 (int)c->expected);
    if (!str_eq(str_n(r->body, r->body_len), c->body))
        fail_msg("%s: cut at %zu: body %.*s", c->name, cut, (int)r->body_len, r->body);
    if (left != c->left.len)
        fail_msg("%s: cut at %zu: %zu bytes left", c->name, cut, left);
}

static void bodies_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct chunk_case *c = &CASES[i];
        for (size_t cut = 0; cut <= c->input.len; cut++) {
            struct run r = {.result = H1_CHUNK_AGAIN};
            size_t left = feed(&r, str_slice(c->input, 0, cut)) + c->input.len - cut;
            if (r.result == H1_CHUNK_AGAIN)
                left = feed(&r, str_skip(c->input, cut));
            check(c, &r, left, cut);
        }
    }
}

static void bodies_are_decoded_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct chunk_case *c = &CASES[i];
        struct run r = {.result = H1_CHUNK_AGAIN};
        size_t at = 0;
        while (at < c->input.len && r.result == H1_CHUNK_AGAIN)
            at += 1 - feed(&r, str_slice(c->input, at, at + 1));
        check(c, &r, c->input.len - at, at);
    }
}

// Each line is short enough, all of them are not.
static void trailers_are_bounded(void **state)
{
    (void)state;
    struct run r = {.result = H1_CHUNK_AGAIN};
    size_t fed = 0;
    feed(&r, STR("0\r\n"));
    for (; r.result == H1_CHUNK_AGAIN; fed += 10)
        feed(&r, STR("A: 34567\r\n"));
    assert_int_equal(r.result, H1_CHUNK_TOO_LONG);
    assert_int_equal(fed, H1_CHUNK_TRAILER_BYTES_MAX / 10 * 10 + 10);
}

static void verdicts_stay(void **state)
{
    (void)state;
    struct run end = {.result = H1_CHUNK_AGAIN}, bad = end;
    feed(&end, STR("0\r\n\r\n"));
    feed(&bad, STR("x"));
    assert_int_equal(feed(&end, STR("5\r\n")), 3);
    assert_int_equal(end.result, H1_CHUNK_END);
    assert_int_equal(feed(&bad, STR("0\r\n\r\n")), 5);
    assert_int_equal(bad.result, H1_CHUNK_BAD);
}

static void what_is_written_decodes(void **state)
{
    (void)state;
    char room[64];
    struct wr w = {.ptr = room, .size = sizeof room};
    h1_chunk_put_head(&w, 26);
    wr_bytes(&w, STR("abcdefghijklmnopqrstuvwxyz"));
    h1_chunk_put_tail(&w);
    h1_chunk_put_last(&w);
    assert_true(wr_ok(&w));
    assert_true(str_starts(wr_view(&w), STR("1a\r\nabc")));
    struct run r = {.result = H1_CHUNK_AGAIN};
    assert_int_equal(feed(&r, wr_view(&w)), 0);
    assert_int_equal(r.result, H1_CHUNK_END);
    assert_int_equal(r.body_len, 26);
}

static void the_longest_head_fits_its_room(void **state)
{
    (void)state;
    char room[H1_CHUNK_HEAD_BYTES_MAX];
    struct wr w = {.ptr = room, .size = sizeof room};
    h1_chunk_put_head(&w, UINT64_MAX);
    assert_true(wr_ok(&w));
    assert_int_equal(w.len, sizeof room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_decoded),
        cmocka_unit_test(bodies_are_decoded_byte_by_byte),
        cmocka_unit_test(trailers_are_bounded),
        cmocka_unit_test(verdicts_stay),
        cmocka_unit_test(what_is_written_decodes),
        cmocka_unit_test(the_longest_head_fits_its_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
