// SPDX-License-Identifier: Apache-2.0
// error_sort_test -- messages in the order of the text that they are about.
#include "conf/error_sort.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

static const struct {
    const char *found[4], *sorted;
} CASES[] = {
    {{0}, ""},
    {{"b:1:1: x"}, "b:1:1: x"},
    {{"b:1:1: x", "a:10:1: y", "a:9:10: z", "a:9:9: w"},
     "a:9:9: w\na:9:10: z\na:10:1: y\nb:1:1: x"},
    {{"a:1:1: second is first", "a:1:1: and stays", "a:1:1: so"},
     "a:1:1: second is first\na:1:1: and stays\na:1:1: so"},
    {{"no place", "z:1: no column", "c:d:2:1: y", "c:d:1:1: x"},
     "c:d:1:1: x\nc:d:2:1: y\nno place\nz:1: no column"},
    {{"b:1:1: two\nlines", "a:1:1: x"}, "b:1:1: two\nlines\na:1:1: x"},
};

static void messages_are_sorted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct err err = {0};
        for (size_t at = 0; at < ARRAY_LEN(CASES[i].found) && CASES[i].found[at]; at++)
            err_set(&err, "%s", CASES[i].found[at]);
        error_sort(&err);
        assert_string_equal(err_text(&err), CASES[i].sorted);
        err_done(&err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_are_sorted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
