// SPDX-License-Identifier: Apache-2.0
// generation -- one loaded configuration as the keeper knows it: its plan, the sealed memory that
// the server reads, and what the keeper has opened for it. Counted: the current one, a candidate,
// and what apps of an older one still need.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "keeper/boards.h"
#include "keeper/listeners.h"
#include "keeper/logs.h"
#include "keeper/plan.h"

struct keeper;

struct generation {
    uint32_t number;
    unsigned refs;
    struct arena arena;
    struct plan plan;
    int config_fd;
    // Opened, in the order of the plan; NULL after the first that failed.
    struct listener **listeners;
    struct logfile **logs;
    struct board **boards; // one an app
};

// generation_new reads the plan in memory file `plan_fd` (borrowed) and takes `config_fd` over,
// also on failure. NULL: `err` says why. One reference is the caller's.
MUST_USE struct generation *generation_new(uint32_t number, int plan_fd, int config_fd,
                                           struct err *err);

// generation_open binds listeners, opens logs and makes scoreboards, each only if no generation has
// it. False: `err` says everything that failed; what was opened goes with the generation.
MUST_USE bool generation_open(struct generation *g, struct keeper *k, struct err *err);

// generation_close gives listeners and logs back: the server has gone over to a newer generation.
void generation_close(struct generation *g);

// generation_ref takes one more reference; returns `g`.
struct generation *generation_ref(struct generation *g);

// generation_unref gives it back; the last one closes and frees all. NULL is fine.
void generation_unref(struct generation *g);
