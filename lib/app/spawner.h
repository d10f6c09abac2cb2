// SPDX-License-Identifier: Apache-2.0
// spawner -- the process that Godwit's keeper starts for an app: loads the program once, forks
// workers on demand. See wire/ipc.h for what is said.
#pragma once

#include <sys/types.h>

#include "godwit_app.h"

// A program that has its own way of serving LSAPI connections, each by a process of its own that is
// not the spawner's child. Each gets a minder (minder.h), which is the worker for the keeper.
struct spawner_foreign {
    void *arg;
    int program; // pidfd: without this process the spawner is of no use, and ends
    // connect makes a connection; *out_pid is the process that serves it. Descriptor, or -errno.
    int (*connect)(void *arg, pid_t *out_pid);
};

// How the keeper has started the process.
struct spawner_start {
    const char *app;                       // its name
    int channel;                           // to the keeper
    int board;                             // the scoreboard, or FD_NONE
    pid_t keeper;                          // the parent at start
    const struct spawner_foreign *foreign; // NULL: workers are copies of this process
};

// spawner_run serves the keeper's channel until told to leave; in each worker it returns when that
// has nothing more to do. The exit status of the process.
int spawner_run(const struct godwit_app_hooks *hooks, const struct spawner_start *start);
