// SPDX-License-Identifier: Apache-2.0
// wheel -- timers in O(1): a hierarchy of wheels, each slot of one level as long as a turn of the
// level below. Has no clock and calls nobody: the caller says what time it is and gets what is due.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define WHEEL_TICK_US 2048 // precision: a timer is due up to one tick late, never early
#define WHEEL_SLOTS   64   // per level: the occupied ones are the bits of one word
#define WHEEL_LEVELS  9    // 64^9 ticks hold every deadline of 64 bits
#define WHEEL_NEVER   UINT64_MAX

// Embedded in its owner. Zeroed: not started.
struct wheel_timer {
    struct list_node node;
    uint64_t deadline_us;
};

// Invariant: a timer whose deadline, in ticks, first differs from `tick` in the digit (base 64) of
// level L stands in that level, in the slot of its own digit. So within a level all slots in use
// lie after the digit of `tick`, and every timer of a lower level is due before those of a higher
// one.
struct wheel {
    // private
    uint64_t tick;               // all before and at it has been taken out
    uint64_t used[WHEEL_LEVELS]; // bit set: the slot may hold timers (stopping leaves it set)
    struct list slots[WHEEL_LEVELS][WHEEL_SLOTS];
};

// wheel_init makes an empty wheel that stands at `now_us`.
void wheel_init(struct wheel *w, uint64_t now_us);

// wheel_start (re)arms `t` for `deadline_us`; what has passed already is due at the next tick.
void wheel_start(struct wheel *w, struct wheel_timer *t, uint64_t deadline_us);

// wheel_stop disarms; also takes it out of the list that wheel_expire filled. Fine when not armed.
void wheel_stop(struct wheel_timer *t);

// wheel_expire moves all timers due at `now_us` to the end of `due`, ordered by tick. Time never
// goes back.
void wheel_expire(struct wheel *w, uint64_t now_us, struct list *due);

// wheel_next_us is when wheel_expire has work next, WHEEL_NEVER without timers. It may be before
// the first deadline (a slot of a higher level is to be spread), never after it.
uint64_t wheel_next_us(struct wheel *w);
