// SPDX-License-Identifier: Apache-2.0
// api -- the control interface of an instance, HTTP and JSON on its own Unix socket:
//
//   GET  /api/status       the instance, its listeners and counters
//   GET  /api/apps         each app with its limits, queue and workers
//   GET  /api/metrics      the counters as text for Prometheus
//   POST /api/reload       200, or 422 {"errors": [...]}
//   POST /api/stop?now=0|1 202; now: running requests are not waited for
//   POST /api/restart?app=NAME
//                          200 when a new worker is ready, 422 {"errors": [...]}, 404
//   POST /api/reopen-logs  200
//
// Commands go to the keeper through struct api_host. Control thread.
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/exchange.h"

enum api_command { API_RELOAD, API_STOP, API_STOP_NOW, API_REOPEN_LOGS, API_RESTART };

// What the server's role tells of itself.
struct api_host {
    struct str instance; // name
    struct str socket;   // path of the control socket
    int32_t keeper_pid, server_pid;
    uint64_t began_us; // of this process, monotonic
    struct thread *threads;
    unsigned thread_count;
    // brings counters up to date that are kept elsewhere; may be NULL
    void (*count)(void *arg);
    // names of the listeners, in the arena
    struct str *(*listeners)(void *arg, struct arena *a, size_t *out_count);
    // asks the keeper, but for API_RESTART, which is the pools'; api_answer(id, ...) follows
    void (*ask)(void *arg, enum api_command command, uint32_t id);
    void *arg;
};

// api_open answers the exchanges of control connections from now on. What `given` points to is
// borrowed until api_close.
void api_open(const struct api_host *given);

// api_answer: the keeper has done what `id` asked for (`status` 0; `text` is a warning, or empty),
// or `text` says why not.
void api_answer(uint32_t id, int32_t status, struct str text);

// api_restarted: `app` has a new worker, or `text` says why not.
void api_restarted(struct str app, bool ok, struct str text);

// api_close forgets the host; exchanges that wait are forgotten with it.
void api_close(void);
