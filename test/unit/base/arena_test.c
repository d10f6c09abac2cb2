// SPDX-License-Identifier: Apache-2.0
// arena_test -- lifetimes: zeroed memory, ceilings, what is deferred.
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static void memory_is_zeroed_and_aligned_also_when_reused(void **state)
{
    (void)state;
    struct arena a = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 10000; size = size * 2 + 1) {
            unsigned char *ptr = arena_alloc(&a, size);
            assert_int_equal((uintptr_t)ptr % alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(ptr[i], 0);
            memset(ptr, 0xff, size);
        }
        arena_reset(&a);
    }
    arena_done(&a);
}

static void copies_end_in_a_nul(void **state)
{
    (void)state;
    struct arena a = {0};
    struct str copy = arena_dup(&a, STR("a\0b"));
    assert_int_equal(copy.len, 3);
    assert_memory_equal(copy.ptr, "a\0b", 4);
    assert_string_equal(arena_dup(&a, (struct str){NULL, 0}).ptr, "");
    assert_string_equal(arena_cstr(&a, STR("path")), "path");
    assert_null(arena_cstr(&a, STR("pa\0th")));
    struct str text = arena_fmt(&a, "%s-%d", "x", 42);
    assert_string_equal(text.ptr, "x-42");
    assert_int_equal(text.len, 4);
    arena_done(&a);
}

static void the_ceiling_is_known_before(void **state)
{
    (void)state;
    struct arena a = {.ceiling_bytes = 1024};
    assert_true(arena_room(&a, 1024));
    assert_false(arena_room(&a, 1025));
    assert_false(arena_room(&a, SIZE_MAX));
    assert_non_null(arena_alloc(&a, 1000));
    assert_false(arena_room(&a, 64));
    arena_reset(&a);
    assert_true(arena_room(&a, 1024));
    arena_done(&a);
}

static char order[8]; // letters of the deferred calls so far

static void note(void *arg)
{
    size_t len = strlen(order);
    assert_true(len + 1 < sizeof order);
    order[len] = *(char *)arg;
}

static void deferred_calls_run_in_reverse_once(void **state)
{
    (void)state;
    static char letters[] = "123";
    struct arena a = {0};
    arena_defer(&a, note, &letters[0]);
    arena_defer(&a, note, &letters[1]);
    arena_defer(&a, note, &letters[2]);
    arena_reset(&a);
    arena_reset(&a);
    arena_done(&a);
    assert_string_equal(order, "321");
}

static void arrays_grow(void **state)
{
    (void)state;
    struct arena a = {0};
    int *items = NULL;
    size_t moves = 0;
    for (int i = 0; i < 1000; i++) {
        int *more = arena_more(&a, items, (size_t)i, sizeof *items);
        moves += more != items;
        items = more;
        items[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    assert_int_equal(moves, 8); // to 8, 16 ... 1024
    arena_done(&a);
}

// What one holder appends is not seen by the others, whoever comes first.
static void shared_arrays_grow_apart(void **state)
{
    (void)state;
    struct arena a = {0};
    int *outer = NULL;
    for (int i = 0; i < 3; i++) {
        outer = arena_append(&a, outer, (size_t)i, sizeof *outer);
        outer[i] = i;
    }
    int *first = outer;
    int *second = outer;
    for (int i = 3; i < 1000; i++) {
        first = arena_append(&a, first, (size_t)i, sizeof *first);
        first[i] = i;
        second = arena_append(&a, second, (size_t)i, sizeof *second);
        second[i] = -i;
    }
    int *third = arena_append(&a, outer, 3, sizeof *outer);
    third[3] = 33;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(first[i], i);
        assert_int_equal(second[i], i < 3 ? i : -i);
    }
    assert_true(third != first && third != second && third[2] == 2 && first[3] == 3);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned_also_when_reused),
        cmocka_unit_test(copies_end_in_a_nul),
        cmocka_unit_test(the_ceiling_is_known_before),
        cmocka_unit_test(arrays_grow),
        cmocka_unit_test(shared_arrays_grow_apart),
        cmocka_unit_test(deferred_calls_run_in_reverse_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
