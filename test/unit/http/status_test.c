// SPDX-License-Identifier: Apache-2.0
// status_test -- reason phrases and bodies of statuses.
#include "http/status.h"

#include <limits.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

static void phrases_are_registered(void **state)
{
    (void)state;
    assert_true(str_eq(status_reason(100), STR("Continue")));
    assert_true(str_eq(status_reason(404), STR("Not Found")));
    assert_true(str_eq(status_reason(431), STR("Request Header Fields Too Large")));
    assert_true(str_eq(status_reason(511), STR("Network Authentication Required")));
}

static void unknown_statuses_have_none(void **state)
{
    (void)state;
    static const int UNKNOWN[] = {INT_MIN, -1, 0, 99, 299, 418, 599, 600, 1000, INT_MAX};
    for (size_t i = 0; i < ARRAY_LEN(UNKNOWN); i++)
        assert_int_equal(status_reason(UNKNOWN[i]).len, 0);
}

static void valid_is_what_fits_on_the_wire(void **state)
{
    (void)state;
    assert_false(status_is_valid(99));
    assert_true(status_is_valid(100));
    assert_true(status_is_valid(599));
    assert_false(status_is_valid(600));
}

// RFC 9110 §6.4.1.
static void some_statuses_have_no_body(void **state)
{
    (void)state;
    assert_false(status_has_body(101));
    assert_false(status_has_body(204));
    assert_false(status_has_body(304));
    assert_true(status_has_body(200));
    assert_true(status_has_body(205));
    assert_true(status_has_body(500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phrases_are_registered),
        cmocka_unit_test(unknown_statuses_have_none),
        cmocka_unit_test(valid_is_what_fits_on_the_wire),
        cmocka_unit_test(some_statuses_have_no_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
