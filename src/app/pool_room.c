// SPDX-License-Identifier: Apache-2.0
// pool_room -- see pool_room.h.
#include "app/pool_room.h"

#include "app/pool_state.h"
#include "app/pool_worker.h"
#include "base/assert.h"

static uint32_t alive_in_all(uint32_t *out_leaving)
{
    uint32_t alive = 0;
    *out_leaving = 0;
    list_foreach(&pool_state.all, struct pool, node, p) {
        alive += pool_state_alive(p);
        *out_leaving += p->counts[POOL_WORKER_RETIRING];
    }
    return alive;
}

// The worker that was idle the longest, of an app other than `p`; first of those that have more
// than their minimum.
static struct pool_worker *longest_idle(const struct pool *p, bool also_minimum)
{
    struct pool_worker *found = NULL;
    list_foreach(&pool_state.all, struct pool, node, other) {
        if (other == p || list_is_empty(&other->idle))
            continue;
        if (!also_minimum && pool_state_usable(other) <= other->set.workers_min)
            continue;
        struct pool_worker *w = CONTAINER_OF(other->idle.head.prev, struct pool_worker, idle);
        if (!found || w->since_us < found->since_us)
            found = w;
    }
    return found;
}

// No worker is idle: the app that has the most gives one up after its request. Never so that it has
// fewer than who asks.
static void ask_for_one(const struct pool *p)
{
    struct pool *most = NULL;
    uint32_t own = pool_state_usable(p) + p->counts[POOL_WORKER_STARTING];
    list_foreach(&pool_state.all, struct pool, node, other) {
        if (other == p || pool_state_usable(other) < own + (own ? 2 : 1))
            continue;
        if (!most || pool_state_usable(other) > pool_state_usable(most))
            most = other;
    }
    if (most && !most->gives_up)
        most->gives_up = 1;
}

static bool evict(const struct pool *p, uint64_t now_us)
{
    struct pool_worker *w = longest_idle(p, false);
    if (!w && p)
        w = longest_idle(p, true);
    if (!w)
        return false;
    metrics_add(&pool_state_self()->metrics, workers_evicted, 1);
    pool_worker_part(w, POOL_WORKER_RETIRING, now_us + w->pool->set.stop_us);
    return true;
}

// An app without any worker goes before those that want another one.
static bool somebody_has_none(const struct pool *p)
{
    list_foreach(&pool_state.all, struct pool, node, other)
        if (other != p && other->in_force && other->queue.count > 0
            && pool_state_usable(other) + other->counts[POOL_WORKER_STARTING] == 0)
            return true;
    return false;
}

static bool has_memory(const struct pool *p)
{
    uint64_t max_kib = pool_state.limits.memory_max_bytes / 1024;
    // Without a worker an app could not serve at all.
    return !max_kib || pool_state.own_kib < max_kib
           || pool_state_usable(p) + p->counts[POOL_WORKER_STARTING] == 0;
}

bool pool_room_for(struct pool *p, uint64_t now_us)
{
    uint32_t leaving;
    uint32_t alive = alive_in_all(&leaving);
    uint32_t max = pool_state.limits.workers_max;
    bool is_first = pool_state_usable(p) + p->counts[POOL_WORKER_STARTING] == 0;
    bool fits = !max || alive < max;
    if (fits && has_memory(p) && (is_first || !somebody_has_none(p) || !max || alive + 1 < max)) {
        p->held_by = NULL;
        return true;
    }
    p->held_by = fits ? (has_memory(p) ? "workers_max" : "memory_max") : "workers_max";
    bool is_coming = leaving > 0 && (fits || alive - leaving < max);
    if (!is_coming && !evict(p, now_us))
        ask_for_one(p);
    return false;
}

bool pool_room_is_wanted(const struct pool *p)
{
    list_foreach(&pool_state.all, struct pool, node, other)
        if (other != p && other->queue.count > 0 && other->held_by
            && pool_state_alive(other) < other->set.workers_max)
            return true;
    return false;
}

static bool is_too_much(void)
{
    uint64_t max_kib = pool_state.limits.memory_max_bytes / 1024;
    return max_kib && pool_state.own_kib > max_kib;
}

bool pool_room_is_exceeded(void)
{
    return is_too_much() && longest_idle(NULL, false) != NULL;
}

void pool_room_keep(uint64_t now_us)
{
    uint32_t leaving;
    (void)alive_in_all(&leaving);
    if (is_too_much() && leaving == 0)
        (void)evict(NULL, now_us);
}

void pool_room_count(struct pool_worker *w, uint64_t own_kib)
{
    ASSERT(pool_state.own_kib >= w->own_kib);
    pool_state.own_kib = pool_state.own_kib - w->own_kib + own_kib;
    bool grows = own_kib > w->own_kib;
    w->own_kib = own_kib;
    if (grows && pool_room_is_exceeded())
        pool_state_due(0);
}
