// SPDX-License-Identifier: Apache-2.0
// keeper -- the parent of all other processes of an instance. One thread, no network, no
// configuration parsing, no slow I/O: it owns the listening sockets, logs and children, and does
// what the loader's plan (keeper/plan.h) and the server (wire/ipc.h) name.
#pragma once

#include "base/compiler.h"
#include "log/log.h"

struct keeper_options {
    const char *program;            // the other roles are started from it: "/proc/self/exe"
    const char *const *loader_argv; // whole argument lists, NULL-terminated
    const char *const *server_argv;
    const char *instance;    // name, for messages
    const char *runtime_dir; // absolute; holds control.sock and pid while the instance runs
    int log_fd;              // what log_init was called with
    enum log_format log_format;
};

// keeper_run starts the instance and returns its exit status when it has ended: 0 after a stop that
// was asked for, 1 when it could not start (all reasons are logged). No child is left then. Call
// log_init before; the caller has no threads, no children, and no use for signals any more.
MUST_USE int keeper_run(const struct keeper_options *options);
