// SPDX-License-Identifier: Apache-2.0
// state -- everything that the keeper knows: one object, handed to its files. Each part is changed
// by the file that is named like it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/loop.h"
#include "keeper/apps.h"
#include "keeper/boards.h"
#include "keeper/child.h"
#include "keeper/generation.h"
#include "keeper/keeper.h"
#include "keeper/listeners.h"
#include "keeper/loader.h"
#include "keeper/logs.h"
#include "keeper/notify.h"
#include "keeper/reload.h"
#include "keeper/runtime_dir.h"
#include "keeper/server.h"
#include "keeper/stop.h"

struct keeper {
    const struct keeper_options *options;
    struct loop *loop;
    bool is_root;
    bool has_terminal;  // as standard input: its end is that of the instance
    uint64_t files_max; // limit of descriptors that this process was started with, for the apps
    int exit_status;

    int signal_fd;
    struct loop_watch signals;
    struct notify notify;
    struct runtime_dir runtime;
    struct child_table children;

    // What generations share.
    struct listeners listeners;
    struct logs logs;
    struct boards boards;

    struct generation *current; // in force; NULL before the first commit
    struct reload reload;
    struct loader loader;
    struct server server;
    struct apps apps;
    struct stop stop;
};
