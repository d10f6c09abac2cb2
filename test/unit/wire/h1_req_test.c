// SPDX-License-Identifier: Apache-2.0
// h1_req_test -- request heads, whole, cut in two at each place, and byte by byte.
#include "wire/h1_req.h"

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

enum { HEADERS_MAX = 8 };

static const struct h1_limits LIMITS = {.head_bytes_max = 400,
                                        .target_bytes_max = 64,
                                        .headers_max = HEADERS_MAX};

// `shown` is what show() makes of an accepted head.
struct req_case {
    const char *name;
    struct str input;
    enum h1_req_result expected;
    const char *shown;
};

#define ACCEPT(name, input, shown)        \
 {                                        \
  name, STR_INIT(input), H1_REQ_OK, shown \
 }
#define REFUSE(name, input, refusal) \
 {                                   \
  name, STR_INIT(input), refusal, "" \
 }
#define HOST  "Host: a\r\n"
#define GET   "GET / HTTP/1.1\r\n"
#define POST  "POST / HTTP/1.1\r\n" HOST
#define TEN   "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

static const struct req_case ACCEPTED[] = {
    ACCEPT("RFC 9112 §2.1: a request", GET "Host: a.example\r\n\r\nbody",
           "GET / 11 host=a.example len=-1 keep [Host:11=a.example]"),
    ACCEPT("RFC 9112 §2.2: one empty line before", "\r\n" GET HOST "\r\n",
           "GET / 11 host=a len=-1 keep [Host:11=a]"),
    ACCEPT("RFC 9112 §3: another method", "BREW /pot HTTP/1.1\r\n" HOST "\r\n",
           "BREW /pot 11 host=a len=-1 keep [Host:11=a]"),
    ACCEPT("RFC 9112 §3.2.2: absolute form", "GET http://b/ HTTP/1.1\r\n" HOST "\r\n",
           "GET http://b/ 11 host=a len=-1 keep [Host:11=a]"),
    ACCEPT("RFC 9112 §3.2.4: asterisk form", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n",
           "OPTIONS * 11 host=a len=-1 keep [Host:11=a]"),
    ACCEPT("raw UTF-8 in a target, as curl sends it", "GET /\xc3\xbc HTTP/1.1\r\n" HOST "\r\n",
           "GET /\xc3\xbc 11 host=a len=-1 keep [Host:11=a]"),
    ACCEPT("RFC 9110 §2.5: a higher minor version", "GET / HTTP/1.7\r\n" HOST "\r\n",
           "GET / 11 host=a len=-1 keep [Host:11=a]"),
    ACCEPT("RFC 9112 §3.2: HTTP/1.0 needs no host", "GET / HTTP/1.0\r\n\r\n",
           "GET / 10 host= len=-1 []"),
    ACCEPT("RFC 9112 §9.3: HTTP/1.0 may ask to keep",
           "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
           "GET / 10 host= len=-1 keep [Connection:6=Keep-Alive]"),
    ACCEPT("RFC 9112 §9.6: close", GET HOST "Connection: x, ClOsE\r\n\r\n",
           "GET / 11 host=a len=-1 [Host:11=a][Connection:6=x, ClOsE]"),
    ACCEPT("RFC 9112 §5.1: white space around a value", GET HOST "A:\t b c \t \r\n\r\n",
           "GET / 11 host=a len=-1 keep [Host:11=a][A:0=b c]"),
    ACCEPT("RFC 9110 §5.5: empty values and high bytes", GET HOST "A:\r\nB:  \r\nC: \xfc\r\n\r\n",
           "GET / 11 host=a len=-1 keep [Host:11=a][A:0=][B:0=][C:0=\xfc]"),
    ACCEPT("RFC 9110 §5.5: HTAB within a value", GET HOST "A: 1234567\t89\t\tx\r\n\r\n",
           "GET / 11 host=a len=-1 keep [Host:11=a][A:0=1234567\t89\t\tx]"),
    ACCEPT("RFC 9110 §5.6.2: all bytes of a token", GET HOST "!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n",
           "GET / 11 host=a len=-1 keep [Host:11=a][!#$%&'*+-.^_`|~09azAZ:0=x]"),
    ACCEPT("RFC 9112 §6.2: Content-Length", POST "Content-Length: 0012\r\n\r\n",
           "POST / 11 host=a len=12 keep [Host:11=a][Content-Length:8=0012]"),
    ACCEPT("RFC 9110 §8.6: 63 bits of length", POST "content-length: 9223372036854775807\r\n\r\n",
           "POST / 11 host=a len=9223372036854775807 keep "
           "[Host:11=a][content-length:8=9223372036854775807]"),
    ACCEPT("RFC 9112 §7.1: chunked", POST "Transfer-Encoding: Chunked\r\n\r\n",
           "POST / 11 host=a len=-1 chunked keep [Host:11=a][Transfer-Encoding:25=Chunked]"),
    ACCEPT("RFC 9110 §10.1.1: Expect", POST "Expect: 100-Continue\r\n\r\n",
           "POST / 11 host=a len=-1 keep expect [Host:11=a][Expect:37=100-Continue]"),
    ACCEPT("RFC 9110 §10.1.1: Expect says nothing in HTTP/1.0",
           "POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n",
           "POST / 10 host= len=-1 [Expect:37=100-continue]"),
    ACCEPT("RFC 9110 §7.8: Upgrade", GET HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
           "GET / 11 host=a len=-1 keep upgrade "
           "[Host:11=a][Connection:6=Upgrade][Upgrade:56=websocket]"),
    ACCEPT("RFC 9110 §7.8: Upgrade without Connection", GET HOST "Upgrade: websocket\r\n\r\n",
           "GET / 11 host=a len=-1 keep [Host:11=a][Upgrade:56=websocket]"),
    ACCEPT("RFC 9110 §7.2: an IPv6 host with port", GET "Host: [::1]:8080\r\n\r\n",
           "GET / 11 host=[::1]:8080 len=-1 keep [Host:11=[::1]:8080]"),
    ACCEPT("the longest target", "GET /" FIFTY TEN "123 HTTP/1.1\r\n" HOST "\r\n",
           "GET /" FIFTY TEN "123 11 host=a len=-1 keep [Host:11=a]"),
    ACCEPT("the largest head",
           GET HOST "A: " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY TEN "12345678\r\n\r\n",
           "GET / 11 host=a len=-1 keep "
           "[Host:11=a][A:0=" FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY TEN "12345678]"),
    ACCEPT("as many headers as may be",
           GET HOST "A: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\nA: 6\r\nA: 7\r\n\r\n",
           "GET / 11 host=a len=-1 keep "
           "[Host:11=a][A:0=1][A:0=2][A:0=3][A:0=4][A:0=5][A:0=6][A:0=7]"),
};

static const struct req_case REFUSED[] = {
    REFUSE("RFC 9112 §2.2: two empty lines before", "\r\n\r\n" GET HOST "\r\n", H1_REQ_BAD_METHOD),
    REFUSE("RFC 9112 §2.2: LF before", "\n" GET HOST "\r\n", H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: LF ends the request line", "GET / HTTP/1.1\n" HOST "\r\n",
           H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: LF ends a field", GET "Host: a\n\r\n", H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: LF ends the head", GET HOST "\n", H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: LF in a name", GET HOST "A\nB: x\r\n\r\n", H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: CR without LF in a value", GET HOST "A: b\rc\r\n\r\n", H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: CR CR LF", GET HOST "A: b\r\r\n\r\n", H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: CR without LF at the end", GET HOST "\rX\r\n\r\n", H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: CR without LF after the version", "GET / HTTP/1.1\rX" HOST "\r\n",
           H1_REQ_BARE_LF),
    REFUSE("RFC 9112 §2.2: white space before the first field", GET " " HOST "\r\n", H1_REQ_FOLDED),
    REFUSE("RFC 9110 §9.1: bytes of TLS", "\x16\x03\x01\x02", H1_REQ_BAD_METHOD),
    REFUSE("RFC 9110 §9.1: a method with a colon", "GE:T / HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_METHOD),
    REFUSE("RFC 9110 §9.1: a method with NUL", "G\0T / HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_METHOD),
    REFUSE("RFC 9112 §3.1: an endless method", FIFTY " / HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_METHOD),
    REFUSE("RFC 9112 §3: white space before the method", " GET / HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_METHOD),
    REFUSE("RFC 9112 §3: HTAB between parts", "GET\t/ HTTP/1.1\r\n" HOST "\r\n", H1_REQ_BAD_METHOD),
    REFUSE("RFC 9112 §3: HTAB before the version", "GET /\tHTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_LINE),
    REFUSE("RFC 9112 §3: two spaces", "GET  / HTTP/1.1\r\n" HOST "\r\n", H1_REQ_BAD_TARGET),
    REFUSE("RFC 9112 §3: two spaces before the version", "GET /  HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_LINE),
    REFUSE("RFC 9112 §3: a space at the end", "GET / HTTP/1.1 \r\n" HOST "\r\n", H1_REQ_BAD_LINE),
    REFUSE("RFC 9112 §3: a space within the target", "GET /a b HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_LINE),
    REFUSE("RFC 9112 §3: HTTP/0.9", "GET /\r\n\r\n", H1_REQ_BAD_LINE),
    REFUSE("RFC 9112 §3: a method alone", "GET\r\n\r\n", H1_REQ_BAD_LINE),
    REFUSE("RFC 9112 §3.2: NUL in the target", "GET /\0 HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_TARGET),
    REFUSE("RFC 9112 §3.2: DEL in the target", "GET /\x7f HTTP/1.1\r\n" HOST "\r\n",
           H1_REQ_BAD_TARGET),
    REFUSE("RFC 9112 §2.3: lower case", "GET / http/1.1\r\n" HOST "\r\n", H1_REQ_BAD_LINE),
    REFUSE("RFC 9112 §2.3: two digits", "GET / HTTP/1.10\r\n" HOST "\r\n", H1_REQ_BAD_LINE),
    REFUSE("RFC 9110 §15.6.6: HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           H1_REQ_BAD_VERSION),
    REFUSE("RFC 9112 §5.2: a folded field", GET HOST "A: b\r\n c\r\n\r\n", H1_REQ_FOLDED),
    REFUSE("RFC 9112 §5.2: a field folded by HTAB", GET HOST "A: b\r\n\tc\r\n\r\n", H1_REQ_FOLDED),
    REFUSE("RFC 9112 §5.1: a space before the colon", GET "Host : a\r\n\r\n", H1_REQ_SPACE_COLON),
    REFUSE("RFC 9112 §5.1: HTAB before the colon", GET HOST "A\t: a\r\n\r\n", H1_REQ_SPACE_COLON),
    REFUSE("RFC 9112 §5.1: VT before the colon", GET HOST "A\v: a\r\n\r\n", H1_REQ_BAD_NAME),
    REFUSE("RFC 9112 §5: no name", GET HOST ": a\r\n\r\n", H1_REQ_BAD_NAME),
    REFUSE("RFC 9112 §5: no colon", GET HOST "A\r\n\r\n", H1_REQ_BAD_NAME),
    REFUSE("RFC 9110 §5.1: a name that is no token", GET HOST "A(: a\r\n\r\n", H1_REQ_BAD_NAME),
    REFUSE("RFC 9110 §5.1: a high byte in a name", GET HOST "\xc3\xa4: a\r\n\r\n", H1_REQ_BAD_NAME),
    REFUSE("RFC 9110 §5.5: NUL in a value", GET HOST "A: b\0c\r\n\r\n", H1_REQ_CONTROL),
    REFUSE("RFC 9110 §5.5: DEL in a value", GET HOST "A: b\x7f\r\n\r\n", H1_REQ_CONTROL),
    REFUSE("RFC 9110 §5.5: VT before a value", POST "Transfer-Encoding: \vchunked\r\n\r\n",
           H1_REQ_CONTROL),
    REFUSE("RFC 9112 §3.2: no host", GET "A: b\r\n\r\n", H1_REQ_NO_HOST),
    REFUSE("RFC 9112 §3.2: no host with an absolute target", "GET http://a/ HTTP/1.1\r\n\r\n",
           H1_REQ_NO_HOST),
    REFUSE("RFC 9112 §3.2: two hosts", GET HOST HOST "\r\n", H1_REQ_TWO_HOSTS),
    REFUSE("RFC 9112 §3.2: two hosts in HTTP/1.0", "GET / HTTP/1.0\r\n" HOST "hOST: b\r\n\r\n",
           H1_REQ_TWO_HOSTS),
    REFUSE("RFC 9112 §3.2: an empty host", GET "Host:\r\n\r\n", H1_REQ_BAD_HOST),
    REFUSE("RFC 9112 §3.2: user information in the host", GET "Host: u@a\r\n\r\n", H1_REQ_BAD_HOST),
    REFUSE("RFC 9112 §3.2: a path in the host", GET "Host: a/b\r\n\r\n", H1_REQ_BAD_HOST),
    REFUSE("RFC 9112 §3.2: a list of hosts", GET "Host: a, b\r\n\r\n", H1_REQ_BAD_HOST),
    REFUSE("RFC 9112 §6.3: length and coding",
           POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
           H1_REQ_LENGTH_AND_TRANSFER),
    REFUSE("RFC 9112 §6.3: coding and length",
           POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
           H1_REQ_LENGTH_AND_TRANSFER),
    REFUSE("RFC 9112 §6.3: differing lengths",
           POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9110 §8.6: the same length twice",
           POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9110 §8.6: a list of lengths", POST "Content-Length: 3, 3\r\n\r\n",
           H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9110 §8.6: a signed length", POST "Content-Length: +3\r\n\r\n", H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9110 §8.6: a negative length", POST "Content-Length: -1\r\n\r\n",
           H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9110 §8.6: a hexadecimal length", POST "Content-Length: 0x3\r\n\r\n",
           H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9110 §8.6: an empty length", POST "Content-Length:\r\n\r\n", H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9110 §8.6: beyond 63 bits", POST "Content-Length: 9223372036854775808\r\n\r\n",
           H1_REQ_BAD_LENGTH),
    REFUSE("RFC 9112 §6.1: an unknown coding", POST "Transfer-Encoding: gzip\r\n\r\n",
           H1_REQ_UNKNOWN_TRANSFER),
    REFUSE("RFC 9112 §6.1: an unknown coding before chunked",
           POST "Transfer-Encoding: gzip, chunked\r\n\r\n", H1_REQ_UNKNOWN_TRANSFER),
    REFUSE("RFC 9112 §6.1: a parameter of chunked", POST "Transfer-Encoding: chunked;q=1\r\n\r\n",
           H1_REQ_UNKNOWN_TRANSFER),
    REFUSE("RFC 9112 §6.1: chunked twice", POST "Transfer-Encoding: chunked, chunked\r\n\r\n",
           H1_REQ_BAD_TRANSFER),
    REFUSE("RFC 9112 §6.1: chunked in two fields",
           POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
           H1_REQ_BAD_TRANSFER),
    REFUSE("RFC 9112 §6.1: identity after chunked",
           POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
           H1_REQ_BAD_TRANSFER),
    REFUSE("RFC 9112 §6.3: chunked is not last", POST "Transfer-Encoding: chunked, gzip\r\n\r\n",
           H1_REQ_BAD_TRANSFER),
    REFUSE("RFC 9112 §6.1: no coding at all", POST "Transfer-Encoding:\r\n\r\n",
           H1_REQ_BAD_TRANSFER),
    REFUSE("RFC 9112 §6.1: an empty member", POST "Transfer-Encoding: ,chunked\r\n\r\n",
           H1_REQ_BAD_TRANSFER),
    REFUSE("RFC 9112 §6.1: a coding in HTTP/1.0",
           "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", H1_REQ_TRANSFER_IN_10),
    REFUSE("RFC 9110 §10.1.1: another expectation", POST "Expect: a-pony\r\n\r\n",
           H1_REQ_BAD_EXPECT),
    REFUSE("RFC 9110 §15.5.15: one byte too long",
           "GET /" FIFTY TEN "1234 HTTP/1.1\r\n" HOST "\r\n", H1_REQ_TARGET_TOO_LONG),
    REFUSE("RFC 9110 §15.5.15: an endless target", "GET /" FIFTY FIFTY FIFTY,
           H1_REQ_TARGET_TOO_LONG),
    REFUSE("RFC 6585 §5: one header too many",
           GET HOST "A: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\nA: 6\r\nA: 7\r\nA: 8\r\n\r\n",
           H1_REQ_TOO_MANY_HEADERS),
    REFUSE("RFC 6585 §5: an endless value",
           GET HOST "A: " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY, H1_REQ_HEAD_TOO_LARGE),
    REFUSE("RFC 6585 §5: no end where the room ends",
           GET HOST "A: " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY TEN TEN "12",
           H1_REQ_HEAD_TOO_LARGE),
    REFUSE("RFC 6585 §5: the end comes too late",
           GET HOST "A: " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY TEN "123456789\r\n\r\n",
           H1_REQ_HEAD_TOO_LARGE),
};

static struct header room[HEADERS_MAX];

static const char *show(const struct h1_req *req)
{
    static char text[2048];
    size_t len = (size_t)snprintf(
        text, sizeof text, "%.*s %.*s %u host=%.*s len=%lld%s%s%s%s [", STR_ARG(req->method_token),
        STR_ARG(req->target), req->version, STR_ARG(req->host), (long long)req->content_length,
        req->is_chunked ? " chunked" : "", req->keep_alive ? " keep" : "",
        req->expects_continue ? " expect" : "", req->wants_upgrade ? " upgrade" : "");
    for (size_t i = 0; i < req->header_count; i++) {
        const struct header *h = &req->headers[i];
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s:%u=%.*s", i ? "][" : "",
                                STR_ARG(h->name), h->id, STR_ARG(h->value));
    }
    snprintf(text + len, sizeof text - len, "]");
    return text;
}

static size_t end_of_head(struct str input)
{
    const char *end = memmem(input.ptr + 2, input.len - 2, "\r\n\r\n", 4);
    return end ? (size_t)(end - input.ptr) + 4 : input.len;
}

// What a call must answer when it has the whole input.
static void check_whole(const struct req_case *c, size_t seen)
{
    struct h1_req req = {.headers = room};
    struct str bytes = guard_copy(c->input);
    enum h1_req_result result = h1_req_parse(bytes, seen, &LIMITS, &req);
    if (result != c->expected)
        fail_msg("%s: seen %zu: %d instead of %d", c->name, seen, (int)result, (int)c->expected);
    if (result != H1_REQ_OK)
        return;
    if (strcmp(show(&req), c->shown) != 0)
        fail_msg("%s: seen %zu: %s", c->name, seen, show(&req));
    assert_int_equal(req.head_len, end_of_head(c->input));
    assert_ptr_equal(req.field_lines.ptr + req.field_lines.len + 2, bytes.ptr + req.head_len);
}

// A part says AGAIN, or already what the whole says; then no more bytes are needed.
static bool part_is_enough(const struct req_case *c, size_t seen, size_t len)
{
    struct h1_req req = {.headers = room};
    struct str part = guard_copy(str_slice(c->input, 0, len));
    enum h1_req_result result = h1_req_parse(part, seen, &LIMITS, &req);
    if (result != H1_REQ_AGAIN && result != c->expected)
        fail_msg("%s: cut at %zu: %d", c->name, len, (int)result);
    return result != H1_REQ_AGAIN;
}

static void check_case(const struct req_case *c)
{
    check_whole(c, 0);
    for (size_t cut = 0; cut <= c->input.len; cut++)
        if (!part_is_enough(c, 0, cut))
            check_whole(c, cut);
    size_t len = 0;
    while (len < c->input.len && !part_is_enough(c, len, len + 1))
        len++;
    if (len == c->input.len)
        fail_msg("%s: byte by byte: no end", c->name);
}

static void heads_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ACCEPTED); i++)
        check_case(&ACCEPTED[i]);
}

static void heads_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++)
        check_case(&REFUSED[i]);
}

static void each_refusal_has_a_status_and_a_case(void **state)
{
    (void)state;
    for (int r = H1_REQ_AGAIN + 1; r <= H1_REQ_BAD_VERSION; r++) {
        int status = 0;
        bool has_case = false;
        const char *reason = h1_req_refusal((enum h1_req_result)r, &status);
        assert_true(strlen(reason) > 0 && status >= 400 && status < 600);
        for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++)
            has_case |= REFUSED[i].expected == (enum h1_req_result)r;
        assert_true(has_case);
    }
}

// The slices follow the bytes, so a pipelined request starts where the head before it ended.
static void pipelined_heads_follow_each_other(void **state)
{
    (void)state;
    struct h1_req req = {.headers = room};
    struct str bytes = guard_copy(STR(GET HOST "\r\n"
                                               "HEAD /b HTTP/1.1\r\n" HOST "\r\n"));
    assert_int_equal(h1_req_parse(bytes, 0, &LIMITS, &req), H1_REQ_OK);
    assert_int_equal(req.method, HTTP_GET);
    assert_int_equal(h1_req_parse(str_skip(bytes, req.head_len), 0, &LIMITS, &req), H1_REQ_OK);
    assert_int_equal(req.method, HTTP_HEAD);
    assert_true(str_eq(req.target, STR("/b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_accepted),
        cmocka_unit_test(heads_are_refused),
        cmocka_unit_test(each_refusal_has_a_status_and_a_case),
        cmocka_unit_test(pipelined_heads_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
