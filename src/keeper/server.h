// SPDX-License-Identifier: Apache-2.0
// server -- the server role as the keeper sees it: started, told of generations, restarted when it
// dies. What it asks for is handed to reload, worker, apps and stop.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "event/loop.h"
#include "keeper/channel.h"
#include "keeper/child.h"

struct keeper;
struct generation;

enum server_state {
    SERVER_DOWN,     // no process; the timer starts one
    SERVER_STARTING, // has been sent its first generation
    SERVER_SERVING   // has committed one
};

struct server {
    struct child child;
    struct channel channel;
    enum server_state state;
    struct loop_timer timer; // DOWN: start another; else: its time is over, kill it
    uint64_t started_us;
    unsigned quick_deaths; // in a row, each within a second of its start
    bool is_dismissed;     // its end is wanted, and was explained
    struct generation
        *offered; // the generation prepared last, counted; NULL: none since the commit
    struct generation *founder; // the first in force, counted: it decides up to the end of the
                                // instance who servers run as and with how many threads
};

// server_init makes it DOWN, without a timer.
void server_init(struct server *s);

// server_offer has the server prepare `g`: a serving one beside what it serves; otherwise one is
// started with it, in place of one that is only starting. reload_prepared, or reload_fail, follows.
void server_offer(struct keeper *k, struct generation *g);

// server_commit tells it to use what it has prepared.
void server_commit(struct keeper *k);

// server_restart_needed names the directives that `g` changes and that stay as they are up to a
// restart of the instance; NULL: there is none.
const char *server_restart_needed(const struct keeper *k, const struct generation *g);

// server_abandon tells it to forget what it prepares; one that was started for that is ended.
void server_abandon(struct keeper *k);

// server_send sends it a message; nothing happens when there is none.
void server_send(struct keeper *k, const struct ipc_msg *msg, const int *fds, size_t fd_count);

// server_log sends lines that an app wrote to its standard error; dropped while the server is slow.
void server_log(struct keeper *k, struct str app, pid_t pid, struct str lines);

// server_drain asks it to finish and exit; stop_server_ended follows. False: there is no process.
bool server_drain(struct keeper *k);

// server_kill ends the process at once.
void server_kill(struct keeper *k);

// server_forget stops timers: none is to be started any more.
void server_forget(struct keeper *k);
