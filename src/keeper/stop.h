// SPDX-License-Identifier: Apache-2.0
// stop -- the end of the instance: the server finishes, then the apps, then whatever is left below
// the keeper.
#pragma once

#include <stdbool.h>

#include "event/loop.h"

struct keeper;

enum stop_phase {
    STOP_NONE,
    STOP_DRAINING, // the server finishes what runs
    STOP_LEAVING,  // apps and strangers were asked to end
    STOP_KILLING,  // everybody is killed, again and again until nobody is left
    STOP_DONE
};

struct stop {
    enum stop_phase phase;
    struct loop_timer timer;
    unsigned kills;
    bool is_hasty; // DRAINING for a moment only, then KILLING
};

// stop_init makes it STOP_NONE.
void stop_init(struct stop *s);

// stop_begin begins the end, or with `now` skips to the killing.
void stop_begin(struct keeper *k, bool now);

// stop_begin_hasty is stop_begin(k, true) that leaves the server a moment to pass its answer on.
void stop_begin_hasty(struct keeper *k);

// stop_is_begun tells whether it has begun.
bool stop_is_begun(const struct keeper *k);

// stop_server_ended: the server process is gone.
void stop_server_ended(struct keeper *k);

// stop_child_ended: some child is gone, perhaps the last one.
void stop_child_ended(struct keeper *k);
