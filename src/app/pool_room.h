// SPDX-License-Identifier: Apache-2.0
// pool_room -- the limits of all apps together: how many workers there may be, and how much memory
// of their own they may hold. Who needs room gets that of the worker of any app that was idle the
// longest; when none is idle, of the app that has the most. Lock held by the caller in all calls.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pool;
struct pool_worker;

// pool_room_for tells whether `p` may have one more worker now. If not, room is made as far as it
// goes, and a look follows when there is some.
bool pool_room_for(struct pool *p, uint64_t now_us);

// pool_room_is_wanted tells whether requests of other apps wait for workers that have no room.
bool pool_room_is_wanted(const struct pool *p);

// pool_room_keep makes room where memory_max is exceeded.
void pool_room_keep(uint64_t now_us);

// pool_room_is_exceeded tells whether the workers hold more than memory_max and one that is idle is
// to go.
bool pool_room_is_exceeded(void);

// pool_room_count adds a change of a worker's own memory; a look follows when that is too much.
void pool_room_count(struct pool_worker *w, uint64_t own_kib);
