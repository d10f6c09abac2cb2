// SPDX-License-Identifier: Apache-2.0
// pool_restart -- see pool_restart.h.
//
//   NONE --(asked)--> WANTED --(nothing starts any more)--> PROVING --(ready)--> NONE
//     |                 ^                                      |
//     '--(later)--------'              NONE, later again <-----'--(failed)
//
// The keeper is told to use a new spawner in between, and to keep the old one: whatever starts
// after that has the new code. If that cannot start, the old spawner is the app's again, and its
// workers are what is wanted. An app without workers starts one for the proof alone: who asks for a
// restart wants to know that the new code serves.
#include "app/pool_restart.h"

#include "app/pool_state.h"

enum pool_restart pool_restart(struct str app)
{
    enum pool_restart how = POOL_RESTART_UNKNOWN;
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, app);
    if (p && p->in_force && p->generation) {
        how = POOL_RESTART_BEGUN;
        p->restart = POOL_RESTART_WANTED;
        p->restart_us = 0;
        pool_state_due(0);
    }
    pool_state_unlock();
    return how;
}

bool pool_restart_step(struct pool *p)
{
    if (p->restart_us && p->restart_us <= pool_state_now_us()) {
        p->restart_us = 0;
        p->restart = POOL_RESTART_WANTED;
    }
    if (p->restart != POOL_RESTART_WANTED)
        return true;
    if (p->counts[POOL_WORKER_STARTING] > 0)
        return false;
    p->restart = POOL_RESTART_PROVING;
    // One that is asked for before the last one has proved itself takes its place.
    bool is_proving = p->generation == p->restart_generation && p->proved != p->generation;
    if (!is_proving)
        p->restart_from = p->generation;
    p->restart_generation = p->generation = ++p->generations;
    p->failures = 0;
    p->retry_us = 0;
    pool_state_order(POOL_ORDER_RENEW, p->endpoint.name, 0);
    return true;
}

void pool_restart_proved(struct pool *p)
{
    if (p->restart != POOL_RESTART_PROVING)
        return;
    p->restart = POOL_RESTART_NONE;
    pool_state_restarted(p, POOL_RESTARTED_WELL, STR(""));
}

void pool_restart_failed(struct pool *p)
{
    if (p->restart != POOL_RESTART_PROVING)
        return;
    p->restart = POOL_RESTART_NONE;
    enum pool_restarted how = POOL_RESTARTED_STAY;
    // Unless the settings have changed meanwhile: then there is no way back.
    bool goes_back = p->generation == p->restart_generation;
    if (goes_back) {
        p->generation = p->restart_from;
        p->failures = 0;
        p->retry_us = 0;
        p->restart_us = pool_state_now_us() + POOL_BACKOFF_MAX_US;
    }
    if (pool_state_usable(p) == 0)
        how = goes_back ? POOL_RESTARTED_OLD_CODE : POOL_RESTARTED_LATER;
    pool_state_restarted(p, how, str_n(p->failure, p->failure_len));
}

void pool_restart_removed(struct pool *p)
{
    bool is_asked = p->restart != POOL_RESTART_NONE;
    p->restart = POOL_RESTART_NONE;
    p->restart_us = 0;
    if (is_asked)
        pool_state_restarted(p, POOL_RESTARTED_REMOVED,
                             STR("the app was removed from the configuration before a new worker "
                                 "was ready"));
}
