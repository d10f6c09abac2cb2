// SPDX-License-Identifier: Apache-2.0
// limit_rate_test -- rates and bursts with a clock of the test's own; a table that is full.
#include "feature/limit_rate.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define MS ((uint64_t)1000)

static void rates_and_bursts(void **state)
{
    (void)state;

    // One request each 100 ms and two more at once.
    static const struct {
        uint64_t at_ms;
        bool is_let;
        uint64_t wait_ms;
    } STEPS[] = {
        {0, true, 0},    {0, true, 0},      {0, true, 0},       {0, false, 100}, {40, false, 60},
        {100, true, 0},  {100, false, 100}, {199, false, 1},    {200, true, 0},  {1000, true, 0},
        {1000, true, 0}, {1000, true, 0},   {1000, false, 100},
    };

    uint64_t wait_us = 0;
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        uint64_t now_us = (5000 + STEPS[i].at_ms) * MS;
        if (limit_rate_take(1, 100 * MS, 2, now_us, &wait_us) != STEPS[i].is_let)
            fail_msg("step %zu", i);
        if (!STEPS[i].is_let)
            assert_int_equal(wait_us, STEPS[i].wait_ms * MS);
    }
    // Others have a rate of their own.
    assert_true(limit_rate_take(2, 100 * MS, 0, 5000 * MS, &wait_us));
    assert_false(limit_rate_take(2, 100 * MS, 0, 5000 * MS, &wait_us));
    assert_true(limit_rate_take(3, 100 * MS, 0, 5000 * MS, &wait_us));
}

static void a_full_table_forgets_the_idlest(void **state)
{
    (void)state;
    uint64_t wait_us;
    // One that is far ahead of its rate, then more than all others can hold.
    for (int i = 0; i < 100; i++)
        assert_true(limit_rate_take(100, 1000 * MS, 1000, 0, &wait_us));
    for (uint64_t key = 1000; key < 1000 + 4 * LIMIT_RATE_KEYS_MAX; key++)
        assert_true(limit_rate_take(key, MS, 0, 0, &wait_us));
    assert_false(limit_rate_take(100, 1000 * MS, 50, 0, &wait_us));
    assert_int_equal(wait_us, 50 * 1000 * MS);
}

// What waits goes behind what was reserved before it, and what is not used comes back.
static void reservations_line_up(void **state)
{
    (void)state;
    uint64_t now_us = 9000 * MS;
    assert_int_equal(limit_rate_reserve(7, 100 * MS, now_us), 0);
    assert_int_equal(limit_rate_reserve(7, 50 * MS, now_us), 100 * MS);
    assert_int_equal(limit_rate_reserve(7, 10 * MS, now_us + 20 * MS), 130 * MS);
    limit_rate_refund(7, 60 * MS);
    assert_int_equal(limit_rate_reserve(7, 10 * MS, now_us + 20 * MS), 80 * MS);
    assert_int_equal(limit_rate_reserve(8, 10 * MS, now_us), 0);
    assert_int_equal(limit_rate_reserve(7, 10 * MS, now_us + 1000 * MS), 0);
    limit_rate_refund(6, 10 * MS); // has nothing
    assert_int_equal(limit_rate_reserve(6, 10 * MS, now_us), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_and_bursts),
        cmocka_unit_test(a_full_table_forgets_the_idlest),
        cmocka_unit_test(reservations_line_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
