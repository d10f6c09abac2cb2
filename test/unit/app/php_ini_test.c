// SPDX-License-Identifier: Apache-2.0
// php_ini_test -- values as text of an ini file.
#include "app/php_ini.h"

#include <string.h>

#include "base/compiler.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static void test_values(void **state)
{
    static const struct {
        const char *given, *text, *value; // value NULL: as given
    } CASES[] = {
        {"64M", "'64M'", NULL},
        {"010", "'010'", NULL},
        {"", "\"\"", NULL},
        {"Mozilla/5.0 (X11; Linux)", "'Mozilla/5.0 (X11; Linux)'", NULL},
        {"a&b", "'a&b'", NULL},
        {"pa!ss", "'pa!ss'", NULL},
        {"a\\\"${HOME}\\", "'a\\\"${HOME}\\'", NULL},
        {"it's", "'it'\"'\"'s'", NULL},
        {"''", "\"''\"", NULL},
        {"PHP_OS", "'PHP_OS'", NULL},
        {"E_NONSENSE | 1", "'E_NONSENSE | 1'", NULL},
        {"E_ALL E_NOTICE", "'E_ALL E_NOTICE'", NULL},
        {"E_ALL &", "'E_ALL &'", NULL},
        {"(E_ALL", "'(E_ALL'", NULL},
        {"1234567890|1", "'1234567890|1'", NULL},
        {"On", "On", "1"},
        {"off", "off", "0"},
        {"None", "None", "0"},
        {"E_ALL", "E_ALL", "32767"},
        {"E_ALL & ~E_NOTICE", "E_ALL & ~E_NOTICE", "32759"},
        {"E_ALL&~(E_NOTICE|E_WARNING)^3", "E_ALL&~(E_NOTICE|E_WARNING)^3", "32758"},
        {"~E_NOTICE&255", "0|~E_NOTICE&255", "247"},
        {"1|2&4", "1|2&4", "0"}, // from left to right
    };

    (void)state;
    struct arena a = {0};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct str given = str_c(CASES[i].given);
        assert_string_equal(php_ini_text(given, &a), CASES[i].text);
        struct str value = php_ini_value(given, &a);
        assert_true(str_eq(value, CASES[i].value ? str_c(CASES[i].value) : given));
    }
    arena_done(&a);
}

static void test_deep_parentheses(void **state)
{
    (void)state;
    char text[64];
    struct arena a = {0};
    memset(text, '(', sizeof text);
    assert_int_equal(php_ini_text(str_n(text, sizeof text), &a)[0], '\'');
    arena_done(&a);
}

static void test_what_can_be_written(void **state)
{
    (void)state;
    assert_true(php_ini_is_name(STR("opcache.jit_buffer-2")));
    assert_false(php_ini_is_name(STR("")));
    assert_false(php_ini_is_name(STR("[PATH")));
    assert_false(php_ini_is_name(STR("a=b")));
    assert_false(php_ini_is_name(STR("1a")));
    assert_true(php_ini_is_value(STR("a\tb")));
    assert_false(php_ini_is_value(STR("a\nb")));
    assert_false(php_ini_is_value(STR("a\rb")));
    assert_false(php_ini_is_value(str_n("a\0b", 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_deep_parentheses),
                                       cmocka_unit_test(test_what_can_be_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
