// SPDX-License-Identifier: Apache-2.0
// pool_restart -- see pool_restart.h.
//
//   NONE --(asked)--> WANTED --(nothing starts any more)--> PROVING --(ready, failed)--> NONE
//
// The spawner is asked to leave in between: whatever starts after that has a new one.
#include "app/pool_restart.h"

#include "app/pool_state.h"

enum pool_restart pool_restart(struct str app)
{
    enum pool_restart how = POOL_RESTART_UNKNOWN;
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, app);
    if (p && p->in_force && p->generation) {
        bool has_workers = pool_state_usable(p) + p->counts[POOL_WORKER_STARTING] > 0;
        how = has_workers ? POOL_RESTART_BEGUN : POOL_RESTART_DONE;
        if (has_workers)
            p->restart = POOL_RESTART_WANTED;
        else if (p->may_have_spawner)
            pool_state_order(POOL_ORDER_APP_IDLE, p->endpoint.name, 0);
        pool_state_due(0);
    }
    pool_state_unlock();
    return how;
}

bool pool_restart_step(struct pool *p)
{
    if (p->restart != POOL_RESTART_WANTED)
        return true;
    if (p->counts[POOL_WORKER_STARTING] > 0)
        return false;
    p->restart = POOL_RESTART_PROVING;
    p->generation++;
    p->failures = 0;
    p->retry_us = 0;
    pool_state_order(POOL_ORDER_APP_IDLE, p->endpoint.name, 0);
    // Those that were left may have gone meanwhile: then the next request starts new ones.
    if (pool_state_usable(p) == 0 && p->queue.count == 0) {
        p->proved = p->generation;
        pool_restart_proved(p);
    }
    return true;
}

void pool_restart_proved(struct pool *p)
{
    if (p->restart != POOL_RESTART_PROVING)
        return;
    p->restart = POOL_RESTART_NONE;
    pool_state_restarted(p, true, STR(""));
}

void pool_restart_failed(struct pool *p)
{
    if (p->restart != POOL_RESTART_PROVING)
        return;
    p->restart = POOL_RESTART_NONE;
    pool_state_restarted(p, false, str_n(p->failure, p->failure_len));
}
