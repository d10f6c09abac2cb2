// SPDX-License-Identifier: Apache-2.0
// str_test -- slices: searching, cutting, comparing, numbers.
#include "base/str.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

static const struct str ABC = STR_INIT("abc");

static void order_is_by_bytes_then_length(void **state)
{
    (void)state;

    static const struct {
        struct str a, b;
        int order;
        bool same_folded;
    } CASES[] = {
        {STR_INIT(""), STR_INIT(""), 0, true},
        {STR_INIT("a"), STR_INIT(""), 1, false},
        {STR_INIT("a"), STR_INIT("b"), -1, false},
        {STR_INIT("ab"), STR_INIT("a"), 1, false},
        {STR_INIT("A"), STR_INIT("a"), -1, true},
        {STR_INIT("\xe4"), STR_INIT("a"), 1, false},
        {STR_INIT("a\0b"), STR_INIT("a\0c"), -1, false},
        {STR_INIT("@["), STR_INIT("`{"), -1, false},
        {STR_INIT("\xc4"), STR_INIT("\xe4"), -1, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int order = str_cmp(CASES[i].a, CASES[i].b);
        assert_int_equal((order > 0) - (order < 0), CASES[i].order);
        assert_int_equal(str_eq(CASES[i].a, CASES[i].b), CASES[i].order == 0);
        assert_int_equal(str_eq_nocase(CASES[i].a, CASES[i].b), CASES[i].same_folded);
    }
    assert_true(str_eq((struct str){NULL, 0}, STR("")));
    assert_true(str_eq(str_c(NULL), str_c("")));
}

static void ends_are_found(void **state)
{
    (void)state;

    static const struct {
        struct str s, part;
        bool starts, starts_folded, ends;
    } CASES[] = {
        {STR_INIT("abc"), STR_INIT(""), true, true, true},
        {STR_INIT("abc"), STR_INIT("ab"), true, true, false},
        {STR_INIT("abc"), STR_INIT("AB"), false, true, false},
        {STR_INIT("abc"), STR_INIT("bc"), false, false, true},
        {STR_INIT("abc"), STR_INIT("abcd"), false, false, false},
        {STR_INIT(""), STR_INIT("a"), false, false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_int_equal(str_starts(CASES[i].s, CASES[i].part), CASES[i].starts);
        assert_int_equal(str_starts_nocase(CASES[i].s, CASES[i].part), CASES[i].starts_folded);
        assert_int_equal(str_ends(CASES[i].s, CASES[i].part), CASES[i].ends);
    }
    assert_int_equal(str_find(STR("a:b:c"), ':'), 1);
    assert_int_equal(str_rfind(STR("a:b:c"), ':'), 3);
    assert_int_equal(str_find(ABC, ':'), 3);
    assert_int_equal(str_rfind(ABC, ':'), 3);
    assert_int_equal(str_find((struct str){NULL, 0}, ':'), 0);
}

static void slices_are_clamped(void **state)
{
    (void)state;

    static const struct {
        size_t from, to;
        struct str expected;
    } CASES[] = {
        {0, 3, STR_INIT("abc")}, {1, 2, STR_INIT("b")}, {0, 99, STR_INIT("abc")},
        {2, 1, STR_INIT("")},    {7, 9, STR_INIT("")},  {3, SIZE_MAX, STR_INIT("")},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_true(str_eq(str_slice(ABC, CASES[i].from, CASES[i].to), CASES[i].expected));
    assert_true(str_eq(str_skip(ABC, 2), STR("c")));
    assert_true(str_eq(str_skip(ABC, 4), STR("")));
}

static void trim_takes_blanks_and_tabs_only(void **state)
{
    (void)state;

    static const struct {
        struct str in, out;
    } CASES[] = {
        {STR_INIT(""), STR_INIT("")},
        {STR_INIT(" \t"), STR_INIT("")},
        {STR_INIT("\t a b \t"), STR_INIT("a b")},
        {STR_INIT("\va\r"), STR_INIT("\va\r")},
        {STR_INIT(" \n "), STR_INIT("\n")},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_true(str_eq(str_trim(CASES[i].in), CASES[i].out));
}

static void cut_tells_a_last_empty_field_from_the_end(void **state)
{
    (void)state;
    struct str rest = STR("a,,b,");
    static const char *const FIELDS[] = {"a", "", "b", ""};
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        assert_non_null(rest.ptr);
        assert_true(str_eq(str_cut(&rest, ','), str_c(FIELDS[i])));
    }
    assert_null(rest.ptr);
    assert_int_equal(rest.len, 0);
    assert_int_equal(str_cut(&rest, ',').len, 0);
}

static void numbers_are_digits_within_64_bits(void **state)
{
    (void)state;

    static const struct {
        struct str text;
        bool dec_ok;
        uint64_t dec;
        bool hex_ok;
        uint64_t hex;
    } CASES[] = {
        {STR_INIT("0"), true, 0, true, 0},
        {STR_INIT("0010"), true, 10, true, 16},
        {STR_INIT("fF"), false, 0, true, 255},
        {STR_INIT("18446744073709551615"), true, UINT64_MAX, false, 0},
        {STR_INIT("18446744073709551616"), false, 0, false, 0},
        {STR_INIT("99999999999999999999"), false, 0, false, 0},
        {STR_INIT("ffffffffffffffff"), false, 0, true, UINT64_MAX},
        {STR_INIT("10000000000000000"), true, 10000000000000000, false, 0},
        {STR_INIT(""), false, 0, false, 0},
        {STR_INIT("-1"), false, 0, false, 0},
        {STR_INIT("+1"), false, 0, false, 0},
        {STR_INIT(" 1"), false, 0, false, 0},
        {STR_INIT("1 "), false, 0, false, 0},
        {STR_INIT("0x1"), false, 0, false, 0},
        {STR_INIT("1\0"), false, 0, false, 0},
        {STR_INIT("g"), false, 0, false, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        uint64_t value = 77;
        assert_int_equal(str_to_u64(CASES[i].text, &value), CASES[i].dec_ok);
        assert_int_equal(value, CASES[i].dec_ok ? CASES[i].dec : 77);
        value = 77;
        assert_int_equal(str_hex_to_u64(CASES[i].text, &value), CASES[i].hex_ok);
        assert_int_equal(value, CASES[i].hex_ok ? CASES[i].hex : 77);
    }
}

static void controls_are_seen(void **state)
{
    (void)state;
    assert_false(str_has_ctl(STR("")));
    assert_false(str_has_ctl(STR(" ~\x80\xff")));
    for (int c = 0; c < 0x20; c++) {
        char text[] = {'a', (char)c, 'b'};
        assert_true(str_has_ctl(str_n(text, sizeof text)));
    }
    assert_true(str_has_ctl(STR("a\x7f")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_by_bytes_then_length),
        cmocka_unit_test(ends_are_found),
        cmocka_unit_test(slices_are_clamped),
        cmocka_unit_test(trim_takes_blanks_and_tabs_only),
        cmocka_unit_test(cut_tells_a_last_empty_field_from_the_end),
        cmocka_unit_test(numbers_are_digits_within_64_bits),
        cmocka_unit_test(controls_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
