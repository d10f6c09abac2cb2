// SPDX-License-Identifier: Apache-2.0
// pool_busy -- how many workers of an app are given requests at the same time. When pages compute
// all the time, more of them than processors only push each other off; when they wait, for a
// database say, many are needed. So it is measured, while requests wait, what the busy workers do.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "app/pool_state.h"

#define POOL_BUSY_LOOK_US 100000 // between two measurements

// Lock held by the caller in these.

// pool_busy_max is how many may be busy now; POOL_BUSY_ANY: all of them.
uint32_t pool_busy_max(const struct pool *p);

// pool_busy_has_room tells whether an idle worker may be given a request.
bool pool_busy_has_room(const struct pool *p);

// pool_busy_use_idle gives idle workers to those who wait, as far as there is room. To be called
// when a worker is busy no more, or more of them may be.
void pool_busy_use_idle(struct pool *p);

// pool_busy_queued notes that a request waits; returns when to look.
uint64_t pool_busy_queued(struct pool *p, uint64_t now_us);

// pool_busy_look notes whether a measurement of the pool is due; returns when the next look
// is, POOL_NEVER when nobody waits.
uint64_t pool_busy_look(struct pool *p, uint64_t now_us);

// pool_busy_measure does what pool_busy_look has noted: reads two facts of each busy worker,
// without the lock, which the caller does not hold. Control thread.
void pool_busy_measure(void);
