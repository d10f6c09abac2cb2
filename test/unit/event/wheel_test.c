// SPDX-License-Identifier: Apache-2.0
// wheel_test -- timers under a virtual clock: never early, at most a tick late, none lost.
#include "event/wheel.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

#define START_US  UINT64_C(123456789)
#define SECOND_US UINT64_C(1000000)
#define DAY_US    (86400 * SECOND_US)

static struct wheel wheel;

static int set_up(void **state)
{
    (void)state;
    wheel_init(&wheel, START_US);
    return 0;
}

// Goes to `now_us` and returns how many timers came due; none may be early.
static size_t expire(uint64_t now_us)
{
    struct list due;
    struct list_node *node;
    size_t count = 0;
    list_init(&due);
    wheel_expire(&wheel, now_us, &due);
    while ((node = list_pop_front(&due)) != NULL) {
        struct wheel_timer *t = CONTAINER_OF(node, struct wheel_timer, node);
        assert_true(t->deadline_us <= now_us);
        count++;
    }
    return count;
}

static void each_distance_is_kept_to_the_tick(void **state)
{
    (void)state;
    static const uint64_t AFTER_US[] = {
        0,      1,           WHEEL_TICK_US - 1, WHEEL_TICK_US,      WHEEL_TICK_US + 1,
        100000, SECOND_US,   10 * SECOND_US,    60 * SECOND_US,     3600 * SECOND_US,
        DAY_US, 30 * DAY_US, 10000 * DAY_US,    64 * WHEEL_TICK_US, 4096 * WHEEL_TICK_US,
    };
    uint64_t now_us = START_US;
    for (size_t i = 0; i < ARRAY_LEN(AFTER_US); i++) {
        struct wheel_timer t = {0};
        uint64_t deadline_us = now_us + AFTER_US[i];
        wheel_start(&wheel, &t, deadline_us);
        assert_true(list_has(&t.node));
        if (AFTER_US[i] > 0)
            assert_int_equal(expire(deadline_us - 1), 0);
        assert_int_equal(expire(deadline_us + 2 * WHEEL_TICK_US), 1);
        assert_false(list_has(&t.node));
        assert_true(wheel_next_us(&wheel) == WHEEL_NEVER);
        now_us = deadline_us + 2 * WHEEL_TICK_US;
    }
}

// Sleeping exactly as long as wheel_next_us says, as a loop does, is neither late nor endless.
static void waiting_as_told_comes_in_time(void **state)
{
    (void)state;
    static const uint64_t AFTER_US[] = {500, 70000, 5 * SECOND_US, 61 * SECOND_US, 3 * DAY_US};
    for (size_t i = 0; i < ARRAY_LEN(AFTER_US); i++) {
        struct wheel_timer t = {0};
        wheel_init(&wheel, START_US);
        wheel_start(&wheel, &t, START_US + AFTER_US[i]);
        uint64_t now_us = START_US;
        int wakes = 0;
        while (list_has(&t.node)) {
            uint64_t next_us = wheel_next_us(&wheel);
            assert_true(next_us > now_us);
            assert_true(next_us < t.deadline_us + WHEEL_TICK_US);
            now_us = next_us;
            expire(now_us);
            assert_in_range(++wakes, 1, WHEEL_LEVELS);
        }
        assert_true(now_us >= t.deadline_us && now_us < t.deadline_us + WHEEL_TICK_US);
    }
}

static void the_far_future_is_never(void **state)
{
    (void)state;
    struct wheel_timer t = {0};
    wheel_start(&wheel, &t, UINT64_MAX);
    assert_int_equal(expire(START_US + 100000 * DAY_US), 0);
    assert_true(wheel_next_us(&wheel) > START_US + 100000 * DAY_US);
    wheel_stop(&t);
    assert_true(wheel_next_us(&wheel) == WHEEL_NEVER);
    wheel_stop(&t);
}

static void a_restart_moves_the_deadline_both_ways(void **state)
{
    (void)state;
    struct wheel_timer t = {0};
    wheel_start(&wheel, &t, START_US + SECOND_US);
    wheel_start(&wheel, &t, START_US + 60 * SECOND_US);
    assert_int_equal(expire(START_US + 59 * SECOND_US), 0);
    wheel_start(&wheel, &t, START_US + 59 * SECOND_US + 1000);
    assert_int_equal(expire(START_US + 59 * SECOND_US + 10000), 1);
    wheel_start(&wheel, &t, START_US); // long past
    assert_int_equal(expire(START_US + 59 * SECOND_US + 20000), 1);
}

static void one_that_is_due_can_still_be_stopped(void **state)
{
    (void)state;
    struct wheel_timer first = {0};
    struct wheel_timer second = {0};
    struct list due;
    list_init(&due);
    wheel_start(&wheel, &first, START_US + 10000);
    wheel_start(&wheel, &second, START_US + 10000);
    wheel_expire(&wheel, START_US + 20000, &due);
    assert_ptr_equal(list_pop_front(&due), &first.node);
    wheel_stop(&second);
    assert_true(list_is_empty(&due));
}

// Many timers at random distances, started, moved and stopped while time goes on in random steps.
static void none_is_lost_or_early_among_many(void **state)
{
    (void)state;
    static struct wheel_timer timers[500];
    uint64_t now_us = START_US;
    unsigned dice = 7;
    memset(timers, 0, sizeof timers);
    for (int step = 0; step < 40000; step++) {
        dice = dice * 1103515245u + 12345u;
        unsigned value = dice >> 8;
        struct wheel_timer *t = &timers[value % ARRAY_LEN(timers)];
        if (value % 7 == 0)
            wheel_stop(t);
        else
            wheel_start(&wheel, t, now_us + (UINT64_C(1) << value % 36) + value % 5000);
        now_us += step % 50 ? value % 3000 : value * UINT64_C(1000);
        expire(now_us);
        for (size_t i = step % 50 ? ARRAY_LEN(timers) - 1 : 0; i < ARRAY_LEN(timers); i++)
            if (list_has(&timers[i].node))
                assert_true(timers[i].deadline_us + 2 * WHEEL_TICK_US > now_us);
    }
    for (size_t i = 0; i < ARRAY_LEN(timers); i++)
        wheel_stop(&timers[i]);
    assert_true(wheel_next_us(&wheel) == WHEEL_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_distance_is_kept_to_the_tick, set_up),
        cmocka_unit_test_setup(waiting_as_told_comes_in_time, set_up),
        cmocka_unit_test_setup(the_far_future_is_never, set_up),
        cmocka_unit_test_setup(a_restart_moves_the_deadline_both_ways, set_up),
        cmocka_unit_test_setup(one_that_is_due_can_still_be_stopped, set_up),
        cmocka_unit_test_setup(none_is_lost_or_early_among_many, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
