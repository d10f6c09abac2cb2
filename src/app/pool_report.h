// SPDX-License-Identifier: Apache-2.0
// pool_report -- what the pools hold, copied for `status` and `apps`, and the check that it makes
// sense.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "app/pool.h"
#include "base/arena.h"
#include "base/str.h"

struct pool_report_worker {
    uint32_t id;
    int32_t pid;       // 0: not known yet
    const char *state; // "starting", "idle", "reading", "running", "detached", "retiring",
                       // "resting"
    uint64_t since_ms; // in that state
    bool outdated;     // of settings before the last change
    bool worn;         // to be replaced: requests, memory
    uint64_t requests;
    struct str url;   // "METHOD URL" that it serves, from its scoreboard; empty: not known
    uint64_t own_kib; // memory that it does not share with its spawner
};

struct pool_report {
    struct str name;
    bool in_force;
    struct pool_settings set;
    uint32_t busy_max; // workers that may have a request at once; POOL_BUSY_ANY
    uint32_t queued;
    uint32_t starting; // workers that have no process yet, as far as we know
    uint64_t oldest_wait_ms;
    uint32_t generation;
    uint64_t served;
    bool restarting;
    uint32_t worn;        // workers that are to be replaced
    struct str held_by;   // limit of all apps that forbids more workers; empty: none
    uint64_t spool_bytes; // in temporary files
    uint64_t start_ms;    // what a start takes
    struct str failure;   // of the last start that failed; empty: none
    uint64_t failure_age_ms;
    uint32_t failures_in_row;
    uint64_t retry_in_ms;
    struct str info; // JSON text of the runtime, empty: none
    struct pool_report_worker *workers;
    size_t worker_count;
};

// pool_report copies the state of all pools into the arena; *out_count of them. Reads a file of
// /proc for each worker, without the lock.
const struct pool_report *pool_report(struct arena *a, size_t *out_count);

// pool_report_check asserts the invariants of pool_state.h for all pools.
void pool_report_check(void);
