// SPDX-License-Identifier: Apache-2.0
// url_test -- targets and hosts, from a copy that ends at a guard page.
#include "http/url.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

#define A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// `shown` is "scheme|host|port|raw path|path|query", the last with '?' when there is one.
static const struct url_case {
    const char *name;
    struct str target;
    enum http_method method;
    enum url_result expected;
    const char *shown;
    enum url_slash slash;
} CASES[] = {
    {"RFC 9112 §3.2.1: origin form", STR_INIT("/a/b.php?c=d&e"), HTTP_GET, URL_OK,
     "||-1|/a/b.php|/a/b.php|?c=d&e", URL_SLASH_REJECT},
    {"RFC 9112 §3.2.1: the root", STR_INIT("/"), HTTP_GET, URL_OK, "||-1|/|/|", URL_SLASH_REJECT},
    {"RFC 3986 §3.4: an empty query", STR_INIT("/?"), HTTP_GET, URL_OK, "||-1|/|/|?",
     URL_SLASH_REJECT},
    {"RFC 3986 §3.4: a query with '?' and '/'", STR_INIT("/a?b?/../c%zz"), HTTP_GET, URL_OK,
     "||-1|/a|/a|?b?/../c%zz", URL_SLASH_REJECT},
    {"RFC 3986 §2.1: decoded once", STR_INIT("/%61%2541%c3%BC"), HTTP_GET, URL_OK,
     "||-1|/%61%2541%c3%BC|/a%41\xc3\xbc|", URL_SLASH_REJECT},
    {"RFC 3986 §2.1: '?' and '#' may be encoded", STR_INIT("/a%3fb%23"), HTTP_GET, URL_OK,
     "||-1|/a%3fb%23|/a?b#|", URL_SLASH_REJECT},
    {"a plus is no space in a path", STR_INIT("/a+b%20c"), HTTP_GET, URL_OK,
     "||-1|/a+b%20c|/a+b c|", URL_SLASH_REJECT},
    {"raw high bytes", STR_INIT("/\xc3\xbc"), HTTP_GET, URL_OK, "||-1|/\xc3\xbc|/\xc3\xbc|",
     URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: dot segments", STR_INIT("/a/./b/../c"), HTTP_GET, URL_OK,
     "||-1|/a/./b/../c|/a/c|", URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: a dot at the end", STR_INIT("/a/."), HTTP_GET, URL_OK, "||-1|/a/.|/a/|",
     URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: two dots at the end", STR_INIT("/a/b/.."), HTTP_GET, URL_OK,
     "||-1|/a/b/..|/a/|", URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: up to the root", STR_INIT("/a/.."), HTTP_GET, URL_OK, "||-1|/a/..|/|",
     URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: encoded dots", STR_INIT("/a/%2e%2E/b/%2e"), HTTP_GET, URL_OK,
     "||-1|/a/%2e%2E/b/%2e|/b/|", URL_SLASH_REJECT},
    {"dots within names stay", STR_INIT("/.a/..b/c../..."), HTTP_GET, URL_OK,
     "||-1|/.a/..b/c../...|/.a/..b/c../...|", URL_SLASH_REJECT},
    {"slashes are not merged", STR_INIT("//a///b"), HTTP_GET, URL_OK, "||-1|//a///b|//a///b|",
     URL_SLASH_REJECT},
    {"an empty segment counts", STR_INIT("/a//../b"), HTTP_GET, URL_OK, "||-1|/a//../b|/a/b|",
     URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: above the root", STR_INIT("/.."), HTTP_GET, URL_ABOVE_ROOT, "",
     URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: above the root, then down", STR_INIT("/a/../../b"), HTTP_GET, URL_ABOVE_ROOT,
     "", URL_SLASH_REJECT},
    {"RFC 3986 §5.2.4: above the root, encoded", STR_INIT("/%2e./"), HTTP_GET, URL_ABOVE_ROOT, "",
     URL_SLASH_REJECT},
    {"RFC 3986 §2.1: one digit", STR_INIT("/a%4"), HTTP_GET, URL_BAD_ESCAPE, "", URL_SLASH_REJECT},
    {"RFC 3986 §2.1: no digit", STR_INIT("/a%"), HTTP_GET, URL_BAD_ESCAPE, "", URL_SLASH_REJECT},
    {"RFC 3986 §2.1: no hexadecimal digits", STR_INIT("/%g0"), HTTP_GET, URL_BAD_ESCAPE, "",
     URL_SLASH_REJECT},
    {"RFC 3986 §7.3: NUL", STR_INIT("/a.php%00.png"), HTTP_GET, URL_NUL, "", URL_SLASH_REJECT},
    {"an encoded slash", STR_INIT("/a%2Fb"), HTTP_GET, URL_ENCODED_SLASH, "", URL_SLASH_REJECT},
    {"an encoded slash that stays", STR_INIT("/a%2Fb%20%2f.."), HTTP_GET, URL_OK,
     "||-1|/a%2Fb%20%2f..|/a%2Fb %2F..|", URL_SLASH_KEEP},
    {"an encoded slash that is one", STR_INIT("/a%2Fb%20c"), HTTP_GET, URL_OK,
     "||-1|/a%2Fb%20c|/a/b c|", URL_SLASH_DECODE},
    {"dots behind an encoded slash that is one", STR_INIT("/a%2f%2e%2e%2Fb"), HTTP_GET, URL_OK,
     "||-1|/a%2f%2e%2e%2Fb|/b|", URL_SLASH_DECODE},
    {"above the root by an encoded slash", STR_INIT("/a%2f..%2f.."), HTTP_GET, URL_ABOVE_ROOT, "",
     URL_SLASH_DECODE},
    {"decoded once, slashes too", STR_INIT("/a%252fb"), HTTP_GET, URL_OK, "||-1|/a%252fb|/a%2fb|",
     URL_SLASH_DECODE},
    {"RFC 9112 §3.2: a fragment", STR_INIT("/a#b"), HTTP_GET, URL_BAD_BYTE, "", URL_SLASH_REJECT},
    {"RFC 9112 §3.2: a space", STR_INIT("/a b"), HTTP_GET, URL_BAD_BYTE, "", URL_SLASH_REJECT},
    {"RFC 9112 §3.2: a raw NUL", STR_INIT("/a\0b"), HTTP_GET, URL_BAD_BYTE, "", URL_SLASH_REJECT},
    {"RFC 9112 §3.2.2: absolute form", STR_INIT("HTTP://A.Example:81/b?c"), HTTP_GET, URL_OK,
     "http|a.example|81|/b|/b|?c", URL_SLASH_REJECT},
    {"RFC 9112 §3.2.2: absolute form without path", STR_INIT("https://a"), HTTP_GET, URL_OK,
     "https|a|-1|/|/|", URL_SLASH_REJECT},
    {"RFC 9112 §3.2.2: a query without path", STR_INIT("http://a?b"), HTTP_GET, URL_OK,
     "http|a|-1|/|/|?b", URL_SLASH_REJECT},
    {"RFC 9112 §3.2.2: another scheme", STR_INIT("ftp://a/"), HTTP_GET, URL_BAD_FORM, "",
     URL_SLASH_REJECT},
    {"RFC 9110 §4.2.4: user information", STR_INIT("http://u:p@a/"), HTTP_GET, URL_BAD_AUTHORITY,
     "", URL_SLASH_REJECT},
    {"RFC 9110 §4.2.1: no host", STR_INIT("http:///a"), HTTP_GET, URL_BAD_AUTHORITY, "",
     URL_SLASH_REJECT},
    {"RFC 9112 §3.2.3: authority form", STR_INIT("A:443"), HTTP_CONNECT, URL_OK, "|a|443|||",
     URL_SLASH_REJECT},
    {"RFC 9112 §3.2.3: no port", STR_INIT("a"), HTTP_CONNECT, URL_BAD_AUTHORITY, "",
     URL_SLASH_REJECT},
    {"RFC 9112 §3.2.3: CONNECT to a path", STR_INIT("/a"), HTTP_CONNECT, URL_BAD_AUTHORITY, "",
     URL_SLASH_REJECT},
    {"RFC 9112 §3.2.3: authority form without CONNECT", STR_INIT("a:443"), HTTP_GET, URL_BAD_FORM,
     "", URL_SLASH_REJECT},
    {"RFC 9112 §3.2.4: asterisk form", STR_INIT("*"), HTTP_OPTIONS, URL_OK, "||-1|||",
     URL_SLASH_REJECT},
    {"RFC 9112 §3.2.4: asterisk without OPTIONS", STR_INIT("*"), HTTP_GET, URL_BAD_FORM, "",
     URL_SLASH_REJECT},
    {"RFC 9112 §3.2: no slash", STR_INIT("a/b"), HTTP_GET, URL_BAD_FORM, "", URL_SLASH_REJECT},
    {"RFC 9112 §3.2: nothing", STR_INIT(""), HTTP_GET, URL_BAD_FORM, "", URL_SLASH_REJECT},
};

static struct str show(struct arena *a, const struct url *url)
{
    return arena_fmt(a, "%.*s|%.*s|%d|%.*s|%.*s|%s%.*s", STR_ARG(url->scheme),
                     STR_ARG(url->host.name), url->host.port, STR_ARG(url->raw_path),
                     STR_ARG(url->path), url->has_query ? "?" : "", STR_ARG(url->query));
}

static void targets_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct url_case *c = &CASES[i];
        struct arena a = {0};
        struct url url;
        enum url_result result = url_parse(guard_copy(c->target), c->method, c->slash, &a, &url);
        if (result != c->expected)
            fail_msg("%s: %d instead of %d", c->name, (int)result, (int)c->expected);
        if (result == URL_OK && !str_eq(show(&a, &url), str_c(c->shown)))
            fail_msg("%s: %.*s", c->name, STR_ARG(show(&a, &url)));
        arena_done(&a);
    }
}

static void each_result_has_a_text_and_a_case(void **state)
{
    (void)state;
    for (int r = URL_OK; r <= URL_BAD_AUTHORITY; r++) {
        bool has_case = false;
        for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
            has_case |= CASES[i].expected == (enum url_result)r;
        assert_true(has_case && url_result_text((enum url_result)r)[0]);
    }
}

// `name` empty: refused.
static const struct host_case {
    struct str value, name;
    int port;
} HOSTS[] = {
    {STR_INIT("a"), STR_INIT("a"), -1},
    {STR_INIT("WWW.Example.ORG"), STR_INIT("www.example.org"), -1},
    {STR_INIT("a:8080"), STR_INIT("a"), 8080},
    {STR_INIT("a:"), STR_INIT("a"), -1},
    {STR_INIT("a:0"), STR_INIT("a"), 0},
    {STR_INIT("a:65535"), STR_INIT("a"), 65535},
    {STR_INIT("a.:80"), STR_INIT("a"), 80},
    {STR_INIT("_a-b.c_"), STR_INIT("_a-b.c_"), -1},
    {STR_INIT("127.0.0.1:1"), STR_INIT("127.0.0.1"), 1},
    {STR_INIT("[::1]"), STR_INIT("[::1]"), -1},
    {STR_INIT("[::]:80"), STR_INIT("[::]"), 80},
    {STR_INIT("[FE80::a:0]"), STR_INIT("[fe80::a:0]"), -1},
    {STR_INIT("[1:2:3:4:5:6:7:8]"), STR_INIT("[1:2:3:4:5:6:7:8]"), -1},
    {STR_INIT("[1:2:3:4:5:6:7::]"), STR_INIT("[1:2:3:4:5:6:7::]"), -1},
    {STR_INIT("[::ffff:1.2.3.4]"), STR_INIT("[::ffff:1.2.3.4]"), -1},
    {STR_INIT("[1:2:3:4:5:6:1.2.3.4]"), STR_INIT("[1:2:3:4:5:6:1.2.3.4]"), -1},
    {STR_INIT(A50 A50 A50 A50 A50 "aaaaa"), STR_INIT(A50 A50 A50 A50 A50 "aaaaa"), -1},
    {STR_INIT(A50 A50 A50 A50 A50 "aaaaaa"), STR_INIT(""), 0},
    {STR_INIT(""), STR_INIT(""), 0},
    {STR_INIT(":80"), STR_INIT(""), 0},
    {STR_INIT("."), STR_INIT(""), 0},
    {STR_INIT(".."), STR_INIT(""), 0},
    {STR_INIT(".a"), STR_INIT(""), 0},
    {STR_INIT("a..b"), STR_INIT(""), 0},
    {STR_INIT("a b"), STR_INIT(""), 0},
    {STR_INIT("a/b"), STR_INIT(""), 0},
    {STR_INIT("u@a"), STR_INIT(""), 0},
    {STR_INIT("%61"), STR_INIT(""), 0},
    {STR_INIT("\xc3\xbc"), STR_INIT(""), 0},
    {STR_INIT("a\0"), STR_INIT(""), 0},
    {STR_INIT("a:65536"), STR_INIT(""), 0},
    {STR_INIT("a:000080"), STR_INIT(""), 0},
    {STR_INIT("a:-1"), STR_INIT(""), 0},
    {STR_INIT("a:8o"), STR_INIT(""), 0},
    {STR_INIT("a:80:80"), STR_INIT(""), 0},
    {STR_INIT("::1"), STR_INIT(""), 0},
    {STR_INIT("["), STR_INIT(""), 0},
    {STR_INIT("[]"), STR_INIT(""), 0},
    {STR_INIT("[::1"), STR_INIT(""), 0},
    {STR_INIT("[::1]80"), STR_INIT(""), 0},
    {STR_INIT("[::1%25eth0]"), STR_INIT(""), 0},
    {STR_INIT("[1]"), STR_INIT(""), 0},
    {STR_INIT("[:1]"), STR_INIT(""), 0},
    {STR_INIT("[1:2:3:4:5:6:7]"), STR_INIT(""), 0},
    {STR_INIT("[1:2:3:4:5:6:7:8:9]"), STR_INIT(""), 0},
    {STR_INIT("[1:2:3:4::5:6:7:8]"), STR_INIT(""), 0},
    {STR_INIT("[1::2::3]"), STR_INIT(""), 0},
    {STR_INIT("[:::]"), STR_INIT(""), 0},
    {STR_INIT("[12345::]"), STR_INIT(""), 0},
    {STR_INIT("[g::]"), STR_INIT(""), 0},
    {STR_INIT("[::1.2.3.4:5]"), STR_INIT(""), 0},
    {STR_INIT("[::1.2.3.256]"), STR_INIT(""), 0},
    {STR_INIT("[::1.2.3.04]"), STR_INIT(""), 0},
    {STR_INIT("[::1.2.3]"), STR_INIT(""), 0},
    {STR_INIT("[::1.2.3.4.]"), STR_INIT(""), 0},
    {STR_INIT("[v1.a]"), STR_INIT(""), 0},
};

static void hosts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(HOSTS); i++) {
        const struct host_case *c = &HOSTS[i];
        struct arena a = {0};
        struct url_host host = {.port = 0};
        struct url_host parts;
        struct str value = guard_copy(c->value);
        bool ok = url_host_parse(value, &a, &host);
        if (ok != (c->name.len > 0) || url_host_split(value, &parts) != ok)
            fail_msg("%.*s: %d", STR_ARG(c->value), ok);
        if (!str_eq(host.name, c->name) || host.port != c->port)
            fail_msg("%.*s: %.*s %d", STR_ARG(c->value), STR_ARG(host.name), host.port);
        arena_done(&a);
    }
}

static void any_text_is_decoded(void **state)
{
    (void)state;
    struct arena a = {0};
    struct str out;
    assert_true(url_decode(STR("a+b"), &a, &out) && str_eq(out, STR("a+b")));
    assert_true(url_decode(STR("%00%2f%41"), &a, &out) && str_eq(out, STR("\0/A")));
    assert_true(url_decode(STR(""), &a, &out) && out.len == 0);
    assert_false(url_decode(STR("%4"), &a, &out));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_read),
        cmocka_unit_test(each_result_has_a_text_and_a_case),
        cmocka_unit_test(hosts_are_read),
        cmocka_unit_test(any_text_is_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
