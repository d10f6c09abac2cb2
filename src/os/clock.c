// SPDX-License-Identifier: Apache-2.0
// clock -- see clock.h.
#include "os/clock.h"

#include <time.h>

#include "base/assert.h"

static struct timespec read_clock(clockid_t id)
{
    struct timespec ts;
    // Fails for an unknown clock only.
    ASSERT(clock_gettime(id, &ts) == 0);
    return ts;
}

uint64_t clock_mono_us(void)
{
    struct timespec ts = read_clock(CLOCK_MONOTONIC);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_cpu_us(void)
{
    struct timespec ts = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    struct timespec ts = read_clock(CLOCK_REALTIME);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}
