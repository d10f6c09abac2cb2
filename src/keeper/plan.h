// SPDX-License-Identifier: Apache-2.0
// plan -- the small table that a loader gives the keeper: listeners, logs, apps, who the server is.
// The keeper parses no configuration; this is a strict binary form in a sealed memory file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "log/log.h"
#include "os/proc.h"

struct plan_listener {
    struct str address; // form of sock_addr_parse
    uint32_t mode;      // for Unix sockets; 0: default
    bool is_tls;        // for who reads the log; TLS is the server's
};

struct plan_log {
    struct str name; // absolute path, "stdout" or "stderr"
};

struct plan_app {
    struct str name; // unique
    uint64_t digest; // of all settings that a running worker depends on: differs -> rolling restart
    const char *const *argv; // argv[0] is the program's absolute path; NULL-terminated
    const char *program;     // the one that does the work, for people
    const char *const *envp; // whole environment, NULL-terminated
    const char *dir;         // working directory; NULL: "/"
    bool has_user;
    struct proc_user user;
    uint32_t workers_max; // 1 to SCOREBOARD_RECORDS_MAX
    uint64_t start_ms;    // a spawner's HELLO and a worker's READY must come within it
    uint64_t stop_ms;     // from the wish to leave to SIGKILL
    bool keep_children;   // children of a worker survive its normal exit
};

struct plan {
    struct str instance; // name, [A-Za-z0-9._-]+
    bool has_user;
    struct proc_user user; // of the server
    uint32_t threads;      // of the server; 0: one per processor
    uint64_t drain_ms;     // longest wait for running requests at stop
    struct plan_listener *listeners;
    size_t listener_count;
    struct plan_log *logs;
    size_t log_count;
    struct str error_log; // one of the logs, or "stderr": the keeper's own lines go there, too
    enum log_level log_level;
    enum log_format log_format;
    struct plan_app *apps;
    size_t app_count;
};

// plan_encode appends the binary form.
void plan_encode(const struct plan *plan, struct buf *out);

// plan_decode reads it, everything copied into `a`. False when malformed (nothing of *out is
// valid).
MUST_USE bool plan_decode(struct str bytes, struct arena *a, struct plan *out);

// plan_app_find returns the app of that name, NULL when there is none.
struct plan_app *plan_app_find(const struct plan *plan, struct str name);
