// SPDX-License-Identifier: Apache-2.0
// escape_test -- bytes of strangers in HTML, JSON, logs and paths.
#include "http/escape.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

typedef bool escape_fn(struct buf *b, struct str s);

static const struct escape_case {
    escape_fn *escape;
    struct str in, out;
} CASES[] = {
    {escape_html, STR_INIT(""), STR_INIT("")},
    {escape_html, STR_INIT("plain"), STR_INIT("plain")},
    {escape_html, STR_INIT("<a href=\"b\">&'</a>"),
     STR_INIT("&lt;a href=&quot;b&quot;&gt;&amp;&#39;&lt;/a&gt;")},
    {escape_json, STR_INIT("a\"b\\c/d"), STR_INIT("a\\\"b\\\\c/d")},
    {escape_json, STR_INIT("\n\r\t\0\x1f\x7f"), STR_INIT("\\n\\r\\t\\u0000\\u001f\\u007f")},
    {escape_json, STR_INIT("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"),
     STR_INIT("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80")},
    {escape_json, STR_INIT("\xff\x80"), STR_INIT("\\u00ff\\u0080")},
    {escape_json, STR_INIT("\xc3"), STR_INIT("\\u00c3")},              // cut
    {escape_json, STR_INIT("\xe2\x82x"), STR_INIT("\\u00e2\\u0082x")}, // cut by a letter
    {escape_json, STR_INIT("\xc0\xaf"), STR_INIT("\\u00c0\\u00af")},   // longer than needed
    {escape_json, STR_INIT("\xe0\x80\xaf"), STR_INIT("\\u00e0\\u0080\\u00af")},
    {escape_json, STR_INIT("\xed\xa0\x80"), STR_INIT("\\u00ed\\u00a0\\u0080")}, // surrogate
    {escape_json, STR_INIT("\xf4\x90\x80\x80"),
     STR_INIT("\\u00f4\\u0090\\u0080\\u0080")}, // above U+10FFFF
    {escape_log, STR_INIT("GET /a b"), STR_INIT("GET /a b")},
    {escape_log, STR_INIT("a\"b\\\n\xc3\x7f"), STR_INIT("a\\x22b\\x5c\\x0a\\xc3\\x7f")},
    {escape_path, STR_INIT("/a-b_c.d~/@:!$&'()*+,;="), STR_INIT("/a-b_c.d~/@:!$&'()*+,;=")},
    {escape_path, STR_INIT("/a b?c#d%\"\xc3\0"), STR_INIT("/a%20b%3Fc%23d%25%22%C3%00")},
};

static void bytes_are_escaped(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct buf b = {0};
        assert_true(CASES[i].escape(&b, guard_copy(CASES[i].in)));
        if (!str_eq(buf_view(&b), CASES[i].out))
            fail_msg("%zu: %.*s", i, STR_ARG(buf_view(&b)));
        buf_done(&b);
    }
}

static void ceilings_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct buf b = {.ceiling_bytes = CASES[i].out.len - (CASES[i].out.len > 0)};
        bool has_room = CASES[i].out.len == 0;
        if (CASES[i].out.len == 1)
            continue; // a ceiling of 0 means none
        assert_int_equal(CASES[i].escape(&b, CASES[i].in), has_room);
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_escaped),
        cmocka_unit_test(ceilings_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
