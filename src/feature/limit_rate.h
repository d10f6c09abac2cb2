// SPDX-License-Identifier: Apache-2.0
// limit_rate -- what keys take against a rate with a burst, for all threads together: the generic
// cell rate algorithm (ITU-T I.371), one moment per key. The table has a fixed size; when it is
// full, the key nearest to being idle is forgotten.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define LIMIT_RATE_KEYS_MAX 32768

// limit_rate_take takes one request of `key`: one is let through each `interval_us`, and `burst`
// more at once after a pause. False: too many; *out_wait_us is when the next one would be let
// through. Any thread.
MUST_USE bool limit_rate_take(uint64_t key, uint64_t interval_us, uint64_t burst, uint64_t now_us,
                              uint64_t *out_wait_us);

// limit_rate_reserve is for what can wait, such as bytes: it puts `cost_us`, the time that they
// take at the key's rate, behind all that the key has taken before. Microseconds until they may go.
// Any thread.
MUST_USE uint64_t limit_rate_reserve(uint64_t key, uint64_t cost_us, uint64_t now_us);

// limit_rate_refund takes back what was reserved and not used.
void limit_rate_refund(uint64_t key, uint64_t cost_us);
