// SPDX-License-Identifier: Apache-2.0
// err_test -- messages for people: one line each, each with its context.
#include "base/err.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static void nothing_is_the_empty_text(void **state)
{
    (void)state;
    struct err e = {0};
    assert_string_equal(err_text(&e), "");
    assert_false(err_prefix(&e, "context"));
    assert_string_equal(err_text(&e), "");
    err_done(&e);
}

static void each_message_gets_its_context(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(err_set(&e, "bad %s", "size"));
    assert_string_equal(err_text(&e), "bad size");
    assert_false(err_set(&e, "bad time"));
    assert_int_equal(e.count, 2);
    assert_false(err_prefix(&e, "godwit.conf:%d", 7));
    assert_string_equal(err_text(&e), "godwit.conf:7: bad size\ngodwit.conf:7: bad time");
    assert_false(err_set(&e, "last"));
    assert_string_equal(err_text(&e), "godwit.conf:7: bad size\ngodwit.conf:7: bad time\nlast");
    err_done(&e);
    assert_string_equal(err_text(&e), "");
    assert_false(err_set(&e, "again"));
    assert_string_equal(err_text(&e), "again");
    err_done(&e);
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    struct err e = {0};
    char text[5000];
    memset(text, 'x', sizeof text);
    assert_false(err_set(&e, "%.*s", (int)sizeof text, text));
    size_t len = strlen(err_text(&e));
    assert_true(len > 1000 && len < sizeof text);
    err_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_the_empty_text),
        cmocka_unit_test(each_message_gets_its_context),
        cmocka_unit_test(a_long_message_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
