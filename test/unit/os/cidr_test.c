// SPDX-License-Identifier: Apache-2.0
// cidr_test -- ranges of addresses: read, written, and who is in them.
#include "os/cidr.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static void ranges_are_read(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        enum cidr_result result;
        const char *written; // NULL: nothing is
    } CASES[] = {
        {"192.0.2.1", CIDR_OK, "192.0.2.1/32"},
        {"192.0.2.0/24", CIDR_OK, "192.0.2.0/24"},
        {"0.0.0.0/0", CIDR_OK, "0.0.0.0/0"},
        {"10.0.0.1/8", CIDR_HOST_BITS, "10.0.0.0/8"},
        {"10.128.0.0/9", CIDR_OK, "10.128.0.0/9"},
        {"10.192.0.0/9", CIDR_HOST_BITS, "10.128.0.0/9"},
        {"2001:db8::/32", CIDR_OK, "2001:db8::/32"},
        {"2001:DB8::1", CIDR_OK, "2001:db8::1/128"},
        {"2001:db8::1/64", CIDR_HOST_BITS, "2001:db8::/64"},
        {"::/0", CIDR_OK, "::/0"},
        {"::ffff:192.0.2.0/120", CIDR_OK, "192.0.2.0/24"},
        {"::ffff:192.0.2.1", CIDR_OK, "192.0.2.1/32"},
        {"::ffff:0.0.0.0/64", CIDR_MALFORMED, NULL},
        {"", CIDR_MALFORMED, NULL},
        {"192.0.2", CIDR_MALFORMED, NULL},
        {"192.0.2.0/", CIDR_MALFORMED, NULL},
        {"192.0.2.0/33", CIDR_MALFORMED, NULL},
        {"192.0.2.0/-1", CIDR_MALFORMED, NULL},
        {"192.0.2.0/255.255.255.0", CIDR_MALFORMED, NULL},
        {"192.0.2.0/24/8", CIDR_MALFORMED, NULL},
        {"192.0.2.010", CIDR_MALFORMED, NULL},
        {"[::1]", CIDR_MALFORMED, NULL},
        {"::1/129", CIDR_MALFORMED, NULL},
        {"fe80::1%eth0", CIDR_MALFORMED, NULL},
        {"localhost", CIDR_MALFORMED, NULL},
        {" 192.0.2.1", CIDR_MALFORMED, NULL},
        {"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc", CIDR_MALFORMED, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct cidr range;
        char room[CIDR_TEXT_MAX];
        if (cidr_parse(str_c(CASES[i].text), &range) != CASES[i].result)
            fail_msg("%s", CASES[i].text);
        if (!CASES[i].written)
            continue;
        assert_int_equal(cidr_text(&range, room), strlen(CASES[i].written));
        assert_string_equal(room, CASES[i].written);
    }
}

static void addresses_are_found(void **state)
{
    (void)state;

    static const struct {
        const char *range, *ip;
        bool has;
    } CASES[] = {
        {"192.0.2.0/24", "192.0.2.255", true},
        {"192.0.2.0/24", "192.0.3.0", false},
        {"192.0.2.0/24", "::ffff:c000:2ff", true},
        {"0.0.0.0/0", "255.255.255.255", true},
        {"0.0.0.0/0", "::1", false},
        {"::/0", "127.0.0.1", false},
        {"::/0", "::1", true},
        {"2001:db8::/33", "2001:db8:7fff::", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"::ffff:10.0.0.0/104", "10.1.2.3", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct cidr range;
        struct sock_addr addr;
        assert_int_equal(cidr_parse(str_c(CASES[i].range), &range), CIDR_OK);
        assert_true(cidr_ip(str_c(CASES[i].ip), &addr));
        if (cidr_has(&range, &addr) != CASES[i].has)
            fail_msg("%s %s", CASES[i].range, CASES[i].ip);
    }
    struct cidr all;
    struct sock_addr path;
    assert_int_equal(cidr_parse(STR("0.0.0.0/0"), &all), CIDR_OK);
    assert_true(sock_addr_parse(STR("unix:/x"), &path));
    assert_false(cidr_has(&all, &path));
    assert_false(cidr_of(&path, 64, &all));
}

static void neighbours_share_a_range(void **state)
{
    (void)state;
    struct sock_addr addr;
    struct cidr range;
    char room[CIDR_TEXT_MAX];
    assert_true(cidr_ip(STR("2001:db8:1:2:3:4:5:6"), &addr));
    assert_true(cidr_of(&addr, 64, &range));
    cidr_text(&range, room);
    assert_string_equal(room, "2001:db8:1:2::/64");
    assert_true(cidr_ip(STR("::ffff:192.0.2.7"), &addr));
    assert_true(cidr_of(&addr, 64, &range));
    cidr_text(&range, room);
    assert_string_equal(room, "192.0.2.7/32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(addresses_are_found),
        cmocka_unit_test(neighbours_share_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
