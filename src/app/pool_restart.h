// SPDX-License-Identifier: Apache-2.0
// pool_restart -- new workers for an app that has not changed as far as the configuration tells:
// `godwit restart` and tmp/restart.txt. The steps that follow are those of a changed app: one new
// worker proves that it starts, from a new spawner, before the old ones leave. If it does not, the
// old ones, if there are any, stay, and it is tried again from time to time.
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct pool;

enum pool_restart {
    POOL_RESTART_UNKNOWN, // there is no such app
    POOL_RESTART_BEGUN    // the outcome is told: pool_link.restarted
};

// pool_restart begins one. Any thread that has called pool_thread_start.
enum pool_restart pool_restart(struct str app);

// pool_restart_step does what is due; false: nothing else may be started now. Lock held, as below.
bool pool_restart_step(struct pool *p);

// pool_restart_proved and pool_restart_failed: the first worker of the new ones.
void pool_restart_proved(struct pool *p);
void pool_restart_failed(struct pool *p);

// pool_restart_removed: the app is not in the configuration any more.
void pool_restart_removed(struct pool *p);
