// SPDX-License-Identifier: Apache-2.0
// clock -- the clocks. No system call on Linux (vDSO) unless said. Any thread.
#pragma once

#include <stdint.h>

// clock_mono_us is the monotonic clock in microseconds: for durations and deadlines. The same for
// all processes of one machine.
uint64_t clock_mono_us(void);

// clock_cpu_us is what all threads of this process have computed, in microseconds. A system call.
uint64_t clock_cpu_us(void);

// clock_wall_us is the time of day in microseconds since 1970 UTC: for people and for HTTP dates.
int64_t clock_wall_us(void);
