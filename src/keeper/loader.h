// SPDX-License-Identifier: Apache-2.0
// loader -- runs the loader role and takes what it says: a plan and a configuration, or errors. One
// at a time.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "event/loop.h"
#include "keeper/channel.h"
#include "keeper/child.h"

struct keeper;

struct loader {
    struct child child;
    struct channel channel;
    struct loop_timer timer; // its time is over
    int plan_fd;             // what it has sent
    int config_fd;
    struct err errors;
};

// loader_start starts one; reload_loaded or reload_fail is called when it has ended. False: `err`
// says why it could not be started.
MUST_USE bool loader_start(struct keeper *k, struct err *err);

// loader_kill ends a running one; reload_fail is called when it has ended. Fine when none runs.
void loader_kill(struct keeper *k);
