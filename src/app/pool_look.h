// SPDX-License-Identifier: Apache-2.0
// pool_look -- what the control thread decides from time to time: who waits too long, which workers
// are started, retired, killed.
#pragma once

#include <stdint.h>

struct pool;

// pool_look_open prepares task and timer. Control thread.
void pool_look_open(void);

// pool_look_queued: a ticket was queued in `p`; asks for a look if that may mean a start. Lock
// held.
void pool_look_queued(struct pool *p, uint64_t now_us);
