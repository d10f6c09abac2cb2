// SPDX-License-Identifier: Apache-2.0
// h1_fields_test -- what both kinds of heads share: the scan for bytes and the gate for partial
// heads. Names, values and framing are tested through h1_req_test and h1_resp_test.
#include "wire/h1_fields.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

enum { MARK = 100 };

static void a_partial_head_is_due_when_it_matters(void **state)
{
    (void)state;

    static const struct due_case {
        const char *name;
        struct str bytes;
        size_t seen;
        bool expected;
    } CASES[] = {
        {"the first bytes", STR_INIT("G"), 0, true},
        {"no bytes", STR_INIT(""), 0, true},
        {"more of a line", STR_INIT("GET /"), 1, false},
        {"a line is complete", STR_INIT("GET /\r\n"), 1, false},
        {"the head is complete", STR_INIT("GET /\r\n\r\n"), 8, true},
        {"the head is complete, and more", STR_INIT("GET /\r\n\r\nbody"), 1, true},
        {"the end was seen before", STR_INIT("GET /\r\n\r\nbody"), 9, false},
        {"LF without CR", STR_INIT("GET /\n"), 5, true},
        {"LF without CR after other lines", STR_INIT("GET /\r\nA: b\r\nC\nD"), 3, true},
        {"LF CR CR LF", STR_INIT("GET /\r\n\r\r\n"), 7, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct str bytes = guard_copy(CASES[i].bytes);
        if (h1_fields_is_due(bytes, CASES[i].seen, MARK) != CASES[i].expected)
            fail_msg("%s", CASES[i].name);
    }
}

static void passing_the_mark_is_due_once(void **state)
{
    (void)state;
    static const char LINE[MARK + 2] = {'a'};
    assert_false(h1_fields_is_due(str_n(LINE, MARK), MARK - 1, MARK));
    assert_true(h1_fields_is_due(str_n(LINE, MARK + 1), MARK, MARK));
    assert_true(h1_fields_is_due(str_n(LINE, MARK + 2), 1, MARK));
    assert_false(h1_fields_is_due(str_n(LINE, MARK + 2), MARK + 1, MARK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partial_head_is_due_when_it_matters),
        cmocka_unit_test(passing_the_mark_is_due_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
