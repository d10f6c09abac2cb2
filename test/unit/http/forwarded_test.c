// SPDX-License-Identifier: Apache-2.0
// forwarded_test -- what proxies say, in both forms, and what is none of it.
#include "http/forwarded.h"

#include <stdio.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

// Writes hops as "ip port proto;".
static const char *text_of(const struct forwarded_hop *hops, size_t count)
{
    static char text[4096];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s %u %.*s;", STR_ARG(hops[i].ip),
                                hops[i].port, STR_ARG(hops[i].proto));
    return text;
}

static void lists_are_read(void **state)
{
    (void)state;

    static const struct {
        const char *value, *hops;
    } CASES[] = {
        {"", ""},
        {"192.0.2.1", "192.0.2.1 0 ;"},
        {" 192.0.2.1 ,\t2001:db8::1,", "192.0.2.1 0 ;2001:db8::1 0 ;"},
        {"192.0.2.1:80, [2001:db8::1]:443, [::1]", "192.0.2.1 80 ;2001:db8::1 443 ;::1 0 ;"},
        {"unknown, _secret, 192.0.2.1", " 0 ; 0 ;192.0.2.1 0 ;"},
        {"192.0.2.1:99999, 192.0.2.1:", "192.0.2.1 0 ;192.0.2.1 0 ;"},
        {"[::1, ]:80", "::1 0 ; 0 ;"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct forwarded_hop hops[FORWARDED_HOPS_MAX];
        size_t count = forwarded_list(str_c(CASES[i].value), hops);
        assert_string_equal(text_of(hops, count), CASES[i].hops);
    }
}

static void elements_are_read(void **state)
{
    (void)state;

    static const struct {
        const char *value, *hops;
    } CASES[] = {
        {"", ""},
        {"for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60 0 http;"},
        {"For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17 4711 ;"},
        {"for=192.0.2.43, for=198.51.100.17;PROTO=https", "192.0.2.43 0 ;198.51.100.17 0 https;"},
        {"for=192.0.2.43 ; host=\"a,b;c\" , for=\"192.0.2.2:8\"", "192.0.2.43 0 ;192.0.2.2 8 ;"},
        {"for=\"19\\2.0.2.1\"", "192.0.2.1 0 ;"},
        {"for=192.0.2.1:80", "192.0.2.1 80 ;"},
        {"for=_gazonk;proto=https, for=unknown", " 0 https; 0 ;"},
        {"proto=https", " 0 https;"},
        {"for", " 0 ;"},
        {"for=", " 0 ;"},
        {"for=a b", " 0 ;"},
        {"for=\"192.0.2.1", " 0 ;"},
        {"for=\"192.0.2.1\\", " 0 ;"},
        {"for=192.0.2.1;", "192.0.2.1 0 ;"},
        {";; proto=http ;for=192.0.2.1; ", "192.0.2.1 0 http;"},
        {", ,for=192.0.2.1,;, ", "192.0.2.1 0 ; 0 ;"},
        {"for=192.0.2.1;for=192.0.2.2", " 0 ;"},
        {"for=192.0.2.1;proto=http;proto=https", " 0 ;"},
        {"for=192.0.2.1 for=192.0.2.2", " 0 ;"},
        {"192.0.2.1", " 0 ;"},
        {"for=192.0.2.1, =x", " 0 ;"},
        // What a client has sent cannot spoil what a proxy has put behind it.
        {"for=\", for=192.0.2.1", " 0 ;192.0.2.1 0 ;"},
        {"\", for=192.0.2.1;proto=https", " 0 ;192.0.2.1 0 https;"},
        {"for=\"a\\, for=192.0.2.1", " 0 ;192.0.2.1 0 ;"},
        {"nonsense, for=192.0.2.1, for=192.0.2.2", " 0 ;192.0.2.1 0 ;192.0.2.2 0 ;"},
        {"for=192.0.2.9, \"\\\", for=192.0.2.1", " 0 ;192.0.2.1 0 ;"},
        {"for=\"[::1]\";host=\"a,\\\",b\", for=192.0.2.1", "::1 0 ;192.0.2.1 0 ;"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct forwarded_hop hops[FORWARDED_HOPS_MAX];
        size_t count = forwarded_elements(str_c(CASES[i].value), &arena, hops);
        assert_string_equal(text_of(hops, count), CASES[i].hops);
        arena_done(&arena);
    }
}

static void the_nearest_are_kept(void **state)
{
    (void)state;
    char value[2048];
    size_t len = 0;
    for (unsigned i = 0; i < FORWARDED_HOPS_MAX + 8; i++)
        len += (size_t)snprintf(value + len, sizeof value - len, "192.0.2.%u,", i);
    struct forwarded_hop hops[FORWARDED_HOPS_MAX];
    assert_int_equal(forwarded_list(str_n(value, len), hops), FORWARDED_HOPS_MAX);
    assert_true(str_eq(hops[0].ip, STR("192.0.2.8")));
    assert_true(str_eq(hops[FORWARDED_HOPS_MAX - 1].ip, STR("192.0.2.39")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(elements_are_read),
        cmocka_unit_test(the_nearest_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
