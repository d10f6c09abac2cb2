// SPDX-License-Identifier: Apache-2.0
// clock_test -- clocks go forward and agree with the system; random bytes differ.
#include "os/clock.h"

#include <string.h>
#include <time.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "os/random.h"

static void time_goes_forward(void **state)
{
    (void)state;
    uint64_t last_us = clock_mono_us();
    for (int i = 0; i < 1000; i++) {
        uint64_t now_us = clock_mono_us();
        assert_true(now_us >= last_us);
        last_us = now_us;
    }
    time_t before = time(NULL);
    int64_t wall_us = clock_wall_us();
    time_t after = time(NULL);
    // time() may lag behind by a tick of the kernel.
    assert_true(wall_us / 1000000 >= before && wall_us / 1000000 <= after + 1);
}

static void random_bytes_fill_all_and_differ(void **state)
{
    (void)state;
    unsigned char seen[64] = {0};
    unsigned char room[64 + 1];
    for (int round = 0; round < 40; round++) {
        memset(room, 0, sizeof room);
        random_bytes(room, sizeof room - 1);
        for (size_t i = 0; i < sizeof seen; i++)
            seen[i] |= room[i];
        assert_int_equal(room[sizeof room - 1], 0);
    }
    for (size_t i = 0; i < sizeof seen; i++)
        assert_int_not_equal(seen[i], 0);
    assert_true(random_u64() != random_u64());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_goes_forward),
        cmocka_unit_test(random_bytes_fill_all_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
