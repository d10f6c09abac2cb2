// SPDX-License-Identifier: Apache-2.0
// wheel -- see wheel.h.
#include "event/wheel.h"

#include "base/assert.h"

#define DIGIT_BITS 6
STATIC_ASSERT(1 << DIGIT_BITS == WHEEL_SLOTS);

static unsigned digit(uint64_t tick, unsigned level)
{
    return (tick >> (level * DIGIT_BITS)) & (WHEEL_SLOTS - 1);
}

// The first tick that is not before the deadline.
static uint64_t tick_after(uint64_t deadline_us)
{
    return deadline_us / WHEEL_TICK_US + (deadline_us % WHEEL_TICK_US != 0);
}

// Puts a timer (in no list) into the slot that the invariant demands; `tick` lies after w->tick.
static void place(struct wheel *w, struct wheel_timer *t, uint64_t tick)
{
    unsigned level = (63 - (unsigned)__builtin_clzll(tick ^ w->tick)) / DIGIT_BITS;
    unsigned slot = digit(tick, level);
    ASSERT_DEBUG(level < WHEEL_LEVELS);
    list_push_back(&w->slots[level][slot], &t->node);
    w->used[level] |= UINT64_C(1) << slot;
}

// Finds the slot that begins first, and when. False when the wheel is empty.
static bool find_slot(struct wheel *w, unsigned *out_level, unsigned *out_slot, uint64_t *out_tick)
{
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        while (w->used[level]) {
            unsigned slot = (unsigned)__builtin_ctzll(w->used[level]);
            if (list_is_empty(&w->slots[level][slot])) {
                w->used[level] &= w->used[level] - 1;
                continue;
            }
            unsigned shift = level * DIGIT_BITS;
            uint64_t start = w->tick >> shift >> DIGIT_BITS << DIGIT_BITS;
            *out_level = level;
            *out_slot = slot;
            *out_tick = (start | slot) << shift;
            return true;
        }
    }
    return false;
}

// Empties a slot that begins at w->tick: what is due goes to `due`, the rest to lower levels.
static void spread(struct wheel *w, unsigned level, unsigned slot, struct list *due)
{
    struct list_node *node;
    while ((node = list_pop_front(&w->slots[level][slot])) != NULL) {
        struct wheel_timer *t = CONTAINER_OF(node, struct wheel_timer, node);
        uint64_t tick = tick_after(t->deadline_us);
        if (tick <= w->tick)
            list_push_back(due, node);
        else
            place(w, t, tick);
    }
    w->used[level] &= ~(UINT64_C(1) << slot);
}

void wheel_init(struct wheel *w, uint64_t now_us)
{
    w->tick = now_us / WHEEL_TICK_US;
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        w->used[level] = 0;
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_init(&w->slots[level][slot]);
    }
}

void wheel_start(struct wheel *w, struct wheel_timer *t, uint64_t deadline_us)
{
    list_remove(&t->node);
    t->deadline_us = deadline_us;
    uint64_t tick = tick_after(deadline_us);
    place(w, t, tick > w->tick ? tick : w->tick + 1);
}

void wheel_stop(struct wheel_timer *t)
{
    list_remove(&t->node);
}

void wheel_expire(struct wheel *w, uint64_t now_us, struct list *due)
{
    uint64_t now = now_us / WHEEL_TICK_US;
    unsigned level;
    unsigned slot;
    uint64_t tick;
    while (find_slot(w, &level, &slot, &tick) && tick <= now) {
        w->tick = tick;
        spread(w, level, slot, due);
    }
    if (now > w->tick)
        w->tick = now;
}

uint64_t wheel_next_us(struct wheel *w)
{
    unsigned level;
    unsigned slot;
    uint64_t tick;
    if (!find_slot(w, &level, &slot, &tick))
        return WHEEL_NEVER;
    return tick > UINT64_MAX / WHEEL_TICK_US ? WHEEL_NEVER : tick * WHEEL_TICK_US;
}
