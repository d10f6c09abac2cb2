// SPDX-License-Identifier: Apache-2.0
// lsapi_view_test -- a request packet is read right in both byte orders, and not at all when
// malformed.
#include <string.h>

#include "wire/lsapi.h"

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

#define SIZE (sizeof LSAPI_EXAMPLE_REQUEST)

static char packet[SIZE];

static struct str example(void)
{
    memcpy(packet, LSAPI_EXAMPLE_REQUEST, SIZE);
    return str_n(packet, SIZE);
}

static void reverse(size_t at, size_t len)
{
    for (size_t i = 0; i < len / 2; i++) {
        char byte = packet[at + i];
        packet[at + i] = packet[at + len - 1 - i];
        packet[at + len - 1 - i] = byte;
    }
}

// The example as a machine of the other byte order would send it.
static struct str foreign_example(void)
{
    struct str bytes = example();
    packet[3] = 1;
    for (size_t at = 4; at < 0x2c; at += 4)
        reverse(at, 4);
    for (size_t at = 0x98; at < 0x98 + 50; at += 2)
        reverse(at, 2);
    for (size_t at = 0x98 + 52; at < 0x140; at += 4)
        reverse(at, 4);
    return bytes;
}

static void check_example(struct str bytes)
{
    struct lsapi_view v;
    struct lsapi_pair pair;
    struct str value;
    assert_true(lsapi_view_open(guard_copy(bytes), &v));
    assert_true(str_eq(v.script_file, STR("/tmp/hi.php")));
    assert_true(str_eq(v.script_name, STR("/hi.php")));
    assert_true(str_eq(v.query, STR("a=1")));
    assert_true(str_eq(v.method, STR("GET")));
    assert_int_equal(v.body_bytes, 0);
    size_t at = 0;
    assert_false(lsapi_view_special(&v, &at, &pair));
    assert_true(lsapi_view_env(&v, &at, &pair));
    assert_true(str_eq(pair.name, STR("SCRIPT_FILENAME")));
    assert_true(lsapi_view_known(&v, HEADER_HOST - 1, &value));
    assert_true(str_eq(value, STR("t")));
    assert_false(lsapi_view_known(&v, HEADER_ACCEPT - 1, &value));
    assert_false(lsapi_view_known(&v, LSAPI_KNOWN_HEADERS, &value));
    assert_true(lsapi_view_unknown(&v, 0, &pair));
    assert_true(str_eq(pair.name, STR("X-Id")));
    assert_true(str_eq(pair.value, STR("7")));
    assert_false(lsapi_view_unknown(&v, 1, &pair));
}

static void the_worked_example_is_read(void **state)
{
    (void)state;
    check_example(example());
}

static void a_foreign_byte_order_is_read(void **state)
{
    (void)state;
    check_example(foreign_example());
    packet[3] = 0; // an ARM build's flag says little more than "not x86"
    check_example(str_n(packet, SIZE));
    example();
    packet[3] = 1;
    check_example(str_n(packet, SIZE));
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    struct lsapi_view v;
    for (size_t cut = 0; cut < SIZE; cut++) {
        assert_false(lsapi_view_open(guard_copy(str_slice(example(), 0, cut)), &v));
        // also when the length admits it
        packet[4] = (char)cut;
        packet[5] = (char)(cut >> 8);
        assert_false(lsapi_view_open(guard_copy(str_n(packet, cut)), &v));
    }
}

struct patch {
    const char *what;
    size_t at;
    const char *bytes;
    size_t len;
};

#define PATCH(what, at, bytes)       \
 {                                   \
  what, at, bytes, sizeof(bytes) - 1 \
 }
#define INT_MAX_BYTES "\xff\xff\xff\x7f"
#define MINUS_ONE     "\xff\xff\xff\xff"
#define INT_MIN_BYTES "\0\0\0\x80"

static const struct patch MALFORMED[] = {
    PATCH("type", 2, "\2"),
    PATCH("one byte more announced", 4, "\x6f"),
    PATCH("one byte less announced", 4, "\x6d"),
    PATCH("raw block too long", 8, "\x2f"),
    PATCH("raw block too short", 8, "\x2d"),
    PATCH("raw block negative", 8, MINUS_ONE),
    PATCH("raw block huge", 8, INT_MAX_BYTES),
    PATCH("body by Content-Length without one", 12, "\xfe\xff\xff\xff"),
    PATCH("script file outside", 16, "\x6e\1\0\0"),
    PATCH("script file negative", 16, MINUS_ONE),
    PATCH("script file without end", 16, "\x60\1\0\0"),
    PATCH("script name outside", 20, INT_MAX_BYTES),
    PATCH("query outside", 24, INT_MIN_BYTES),
    PATCH("method outside", 28, INT_MAX_BYTES),
    PATCH("unknown count too large", 32, "\2"),
    PATCH("unknown count too small", 32, "\0"),
    PATCH("unknown count negative", 32, MINUS_ONE),
    PATCH("unknown count that overflows", 32, "\1\0\0\x10"),
    PATCH("env count too large", 36, "\5"),
    PATCH("env count too small", 36, "\3"),
    PATCH("env count over the limit", 36, "\1\x20\0\0"),
    PATCH("env count negative", 36, MINUS_ONE),
    PATCH("special count too large", 40, "\1"),
    PATCH("special count negative", 40, MINUS_ONE),
    PATCH("terminator of the special list", 0x2f, "\1"),
    PATCH("terminator of the env list", 0x97, "\1"),
    PATCH("name of length 0", 0x30, "\0\0"),
    PATCH("value of length 0", 0x32, "\0\0"),
    PATCH("name past the end", 0x30, "\xff\xff"),
    PATCH("value past the end", 0x32, "\xff\xff"),
    PATCH("name without NUL", 0x43, "x"),
    PATCH("value without NUL", 0x4f, "x"),
    PATCH("known value past the raw block", 0xf4, "\x2e"),
    PATCH("known value's length", 0xac, "\xff\xff"),
    PATCH("known offset negative", 0xf4, MINUS_ONE),
    PATCH("known offset that overflows", 0xf4, INT_MAX_BYTES),
    PATCH("last slot's offset", 0x98 + 52 + 96, "\x2f"),
    PATCH("unknown name's offset", 0x130, "\x2e"),
    PATCH("unknown name negative", 0x130, MINUS_ONE),
    PATCH("unknown name's length", 0x134, INT_MAX_BYTES),
    PATCH("unknown name's length negative", 0x134, MINUS_ONE),
    PATCH("unknown value's offset", 0x138, INT_MAX_BYTES),
    PATCH("unknown value's length", 0x13c, "\6"),
    PATCH("unknown sum that wraps", 0x138, "\1\0\0\0" MINUS_ONE),
};

static void malformed_packets_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(MALFORMED); i++) {
        struct lsapi_view v;
        struct str bytes = example();
        memcpy(packet + MALFORMED[i].at, MALFORMED[i].bytes, MALFORMED[i].len);
        if (lsapi_view_open(guard_copy(bytes), &v))
            fail_msg("accepted: %s", MALFORMED[i].what);
    }
}

static void odd_but_legal_packets_are_read(void **state)
{
    (void)state;
    static const struct patch CASES[] = {
        PATCH("other flag bits", 3, "\xfe"),
        PATCH("negative body length: none", 12, MINUS_ONE),
        PATCH("no script file", 16, "\0"),
        PATCH("length without offset: absent", 0x98, "\xff\xff"),
        PATCH("empty value at the block's end", 0xac, "\0"),
        PATCH("value that ends with the block", 0x13c, "\5"),
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct lsapi_view v;
        struct str bytes = example();
        memcpy(packet + CASES[i].at, CASES[i].bytes, CASES[i].len);
        if (!lsapi_view_open(guard_copy(bytes), &v))
            fail_msg("refused: %s", CASES[i].what);
        assert_int_equal(v.body_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_is_read),
        cmocka_unit_test(a_foreign_byte_order_is_read),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(malformed_packets_are_refused),
        cmocka_unit_test(odd_but_legal_packets_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
