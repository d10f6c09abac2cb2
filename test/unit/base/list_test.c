// SPDX-License-Identifier: Apache-2.0
// list_test -- rings of embedded nodes.
#include "base/list.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

struct item {
    int number;
    struct list_node node;
};

static void check(const struct list *l, const char *expected)
{
    char seen[8] = "";
    size_t len = 0;
    list_foreach(l, struct item, node, item)
        seen[len++] = (char)('0' + item->number);
    assert_string_equal(seen, expected);
    assert_int_equal(list_is_empty(l), *expected == '\0');
}

static void order_is_kept(void **state)
{
    (void)state;
    struct list l;
    struct item items[5] = {
        {.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    list_init(&l);
    check(&l, "");
    assert_null(list_first(&l));
    assert_null(list_pop_front(&l));
    list_push_back(&l, &items[1].node);
    list_push_back(&l, &items[2].node);
    list_push_front(&l, &items[0].node);
    list_insert_before(&items[2].node, &items[4].node);
    check(&l, "0142");
    assert_ptr_equal(list_first(&l), &items[0].node);
    assert_ptr_equal(list_pop_front(&l), &items[0].node);
    assert_false(list_has(&items[0].node));
    assert_true(list_has(&items[4].node));
    list_remove(&items[4].node);
    list_remove(&items[4].node);
    list_remove(&items[3].node);
    check(&l, "12");
}

static void the_current_one_may_be_removed(void **state)
{
    (void)state;
    struct list l;
    struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    list_init(&l);
    for (int i = 0; i < 4; i++)
        list_push_back(&l, &items[i].node);
    list_foreach(&l, struct item, node, item) {
        if (item->number % 2 == 0)
            list_remove(&item->node);
    }
    check(&l, "13");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_kept),
        cmocka_unit_test(the_current_one_may_be_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
