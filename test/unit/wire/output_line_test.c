// SPDX-License-Identifier: Apache-2.0
// output_line_test -- lines with and without a mark, and what only looks like one.
#include "wire/output_line.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define ID "00deadbeef000001"

static void each_line_is_marked(void **state)
{
    static const char *const TEXTS[] = {"one\n", "one\n\nthree", "", "\n", "with \1 in it\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        struct buf out = {0};
        struct str expected = str_c(TEXTS[i]);
        output_line_mark(&out, STR(ID), expected);
        struct str rest = buf_view(&out);
        while (rest.len) {
            struct str line = str_cut(&rest, '\n');
            assert_true(str_eq(output_line_take(&line), STR(ID)));
            assert_true(str_eq(line, str_cut(&expected, '\n')));
        }
        assert_int_equal(expected.len, 0);
        buf_done(&out);
    }
}

static void what_is_no_mark_stays(void **state)
{
    static const char *const LINES[] = {
        "",
        "text",
        "\1",
        "\1\1",
        "\1" ID,
        ID "\1text",
        "\1" ID "text",
        "\1" ID "0\1text",
        "\1short\1",
        "\1g0deadbeef000001\1text",
        "\1 0deadbeef000001\1text",
        "\1\1" ID "\1text",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++) {
        struct str line = str_c(LINES[i]);
        assert_int_equal(output_line_take(&line).len, 0);
        assert_true(str_eq(line, str_c(LINES[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_marked),
        cmocka_unit_test(what_is_no_mark_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
