// SPDX-License-Identifier: Apache-2.0
// worker -- one process that serves: hooks, connection, scoreboard and SIGTERM brought together.
// Knows not where its connections come from.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "conn.h"
#include "godwit_app.h"

// What is sent to say that somebody is there.
enum worker_ack {
    WORKER_ACK_NEVER,
    WORKER_ACK_EACH,     // REQ_RECEIVED for each request
    WORKER_ACK_ONCE,     // one REQ_RECEIVED when the connection begins
    WORKER_PID_ONLY,     // the pid notice when the connection begins
    WORKER_PID_THEN_ACK, // the pid notice, and REQ_RECEIVED for each request but the first
};

struct worker {
    const struct godwit_app_hooks *hooks;
    enum worker_ack ack;
    uint64_t requests_max; // 0: no limit
    // Called between requests when the connection has been silent for a while (SO_RCVTIMEO): false
    // ends the wait. May be NULL.
    bool (*keep_waiting)(void);
    void (*on_busy)(bool busy); // around each request; may be NULL
    // Whether the server understands that a worker which has finished its answer early comes back.
    bool returns;
    // private
    struct conn conn;
    uint64_t requests, on_connection;
    bool booted, is_copy;
};

// worker_boot runs the boot hook and takes over SIGTERM. The hook's result: 0 is good.
MUST_USE int worker_boot(struct worker *w);

// worker_serve serves one connection, which it owns, to its end. True: take another one.
bool worker_serve(struct worker *w, int fd);

// worker_leave runs the leave hook and frees what the worker holds.
void worker_leave(struct worker *w);
