// SPDX-License-Identifier: Apache-2.0
// runtime_dir -- the directory of the running instance: the file `pid`, locked while it runs, and
// `control.sock`. Does not choose where it is.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

// The directory's files.
#define RUNTIME_DIR_PID     "pid"
#define RUNTIME_DIR_CONTROL "control.sock"

struct runtime_dir {
    char *path;
    int lock_fd; // FD_NONE: not open
    int control_fd;
};

// runtime_dir_open makes the directory, takes the lock, writes our pid and listens on the control
// socket (its user only; root's group too when run by root). False: `err` says why; in particular
// when an instance runs there already.
MUST_USE bool runtime_dir_open(struct runtime_dir *d, const char *path, const char *instance,
                               struct err *err);

// runtime_dir_close removes files and directory and gives the lock back; fine when not open.
void runtime_dir_close(struct runtime_dir *d);
