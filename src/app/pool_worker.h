// SPDX-License-Identifier: Apache-2.0
// pool_worker -- one worker's way through its states. Lock held by the caller in all calls.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "app/pool_state.h"

// pool_worker_start adds one that is STARTING and orders it.
struct pool_worker *pool_worker_start(struct pool *p);

// pool_worker_judge notes whether one that comes back from a request is worn. `anon_kib` 0: was not
// measured now.
void pool_worker_judge(struct pool_worker *w, uint64_t anon_kib);

// pool_worker_can_be_replaced tells whether another one is on its way, or can be, as far as is
// known.
bool pool_worker_can_be_replaced(const struct pool *p);

// pool_worker_replace lets a worn worker go, for the one that was started for it and is ready now.
void pool_worker_replace(struct pool *p);

// pool_worker_find returns the pool's worker of that id, NULL when there is none.
struct pool_worker *pool_worker_find(struct pool *p, uint32_t id);

// pool_worker_detach lets one that has answered go on working. One that `comes_back` says so and is
// offered again, and has no reason to close before; another one may close and go on. At `kill_us`
// either is killed.
void pool_worker_detach(struct pool_worker *w, bool comes_back, uint64_t kill_us);

// pool_worker_closed parts with one that has closed its connection where it may not, and has not
// ended: it is given a moment to do so, and is made to then.
void pool_worker_closed(struct pool_worker *w);

// pool_worker_offer gives one that is free (BUSY without user, RESTING, STARTING or DETACHED with a
// connection) to the oldest ticket, makes it idle, lets it rest, or retires it when its time has
// come.
void pool_worker_offer(struct pool_worker *w);

// pool_worker_take makes it BUSY, for the calling thread's or a granted ticket's use.
void pool_worker_take(struct pool_worker *w);

// pool_worker_own makes the calling thread `t` watch a slot that was taken for it. False: the
// kernel refuses, for lack of memory or watches; the worker has parted then.
MUST_USE bool pool_worker_own(struct pool_worker *w, struct thread *t);

// pool_worker_part closes its connection; it counts until its exit, and is killed at `kill_us`.
void pool_worker_part(struct pool_worker *w, enum pool_worker_state state, uint64_t kill_us);

// pool_worker_free forgets it.
void pool_worker_free(struct pool_worker *w);
