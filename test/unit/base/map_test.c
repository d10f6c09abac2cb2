// SPDX-License-Identifier: Apache-2.0
// map_test -- a table agrees with a plain array under many puts and removes.
#include "base/map.h"

#include <stdio.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define KEYS 400

static char keys[KEYS][8];
static char marks[KEYS]; // values point in here

static int make_keys(void **state)
{
    (void)state;
    for (int i = 0; i < KEYS; i++)
        (void)snprintf(keys[i], sizeof keys[i], "key%d", i);
    return 0;
}

static void it_agrees_with_an_array(void **state)
{
    (void)state;
    struct map m = {0};
    bool held[KEYS] = {false};
    size_t count = 0;
    unsigned dice = 1;
    for (int step = 0; step < 20000; step++) {
        dice = dice * 1103515245u + 12345u;
        unsigned i = (dice >> 16) % KEYS;
        struct str key = str_c(keys[i]);
        assert_ptr_equal(map_find(&m, key), held[i] ? &marks[i] : NULL);
        if (dice >> 31) {
            assert_ptr_equal(map_put(&m, key, &marks[i]), held[i] ? &marks[i] : NULL);
            count += !held[i];
            held[i] = true;
        } else {
            assert_ptr_equal(map_remove(&m, key), held[i] ? &marks[i] : NULL);
            count -= held[i];
            held[i] = false;
        }
        assert_int_equal(map_count(&m), count);
    }
    size_t at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&m, &at)) != NULL) {
        size_t i = (size_t)((char *)entry->value - marks);
        assert_true(str_eq(entry->key, str_c(keys[i])));
        assert_true(held[i]);
        held[i] = false;
        count--;
    }
    assert_int_equal(count, 0);
    map_done(&m);
    assert_int_equal(map_count(&m), 0);
}

static void case_matters_only_where_asked(void **state)
{
    (void)state;

    static const struct {
        bool nocase;
        struct str other;
        bool found;
    } CASES[] = {
        {false, STR_INIT("Host"), true},  {false, STR_INIT("host"), false},
        {true, STR_INIT("hOST"), true},   {true, STR_INIT("hos"), false},
        {true, STR_INIT("Host "), false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct map m = {.nocase = CASES[i].nocase};
        assert_null(map_find(&m, CASES[i].other));
        assert_null(map_put(&m, STR("Host"), marks));
        assert_ptr_equal(map_find(&m, CASES[i].other), CASES[i].found ? marks : NULL);
        map_done(&m);
    }
}

static void the_empty_key_is_a_key(void **state)
{
    (void)state;
    struct map m = {0};
    assert_null(map_put(&m, (struct str){NULL, 0}, marks));
    assert_ptr_equal(map_find(&m, STR("")), marks);
    assert_ptr_equal(map_put(&m, STR(""), marks + 1), marks);
    assert_int_equal(map_count(&m), 1);
    assert_ptr_equal(map_remove(&m, STR("")), marks + 1);
    map_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_an_array),
        cmocka_unit_test(case_matters_only_where_asked),
        cmocka_unit_test(the_empty_key_is_a_key),
    };
    return cmocka_run_group_tests(tests, make_keys, NULL);
}
