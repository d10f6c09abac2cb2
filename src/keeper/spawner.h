// SPDX-License-Identifier: Apache-2.0
// spawner -- the process of an app that forks its workers: started on demand, asked for workers
// when it has said HELLO, asked to leave. Its channel is also the way of its workers' first word
// (READY, FAILED).
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/list.h"
#include "event/loop.h"
#include "keeper/channel.h"
#include "keeper/child.h"
#include "keeper/output.h"

struct app;

enum spawner_state {
    SPAWNER_LOADING, // HELLO has not come yet
    SPAWNER_UP,
    SPAWNER_LEAVING, // was asked to end
    SPAWNER_ENDED    // the process is gone; workers that it has forked may still report
};

struct spawner {
    struct list_node node; // app.spawners
    struct app *app;
    struct child child;
    struct channel channel;
    struct output output;
    enum spawner_state state;
    bool leave_wanted;       // as soon as nobody waits for HELLO any more
    bool is_lost;            // its channel has closed though nobody asked it to leave
    struct loop_timer timer; // LOADING: HELLO is overdue; LEAVING: it is killed
    struct loop_task check;  // frees it when nothing is left of it
};

// spawner_start starts one and makes it the app's. 0 or -errno of what failed up to the exec.
MUST_USE int spawner_start(struct app *app);

// spawner_leave asks it to end, after those were forked that wait for it; workers stay. It is
// killed when the app's time for ending is over.
void spawner_leave(struct spawner *s);

// spawner_kill ends it at once: it is of no use any more. The next worker gets another one.
void spawner_kill(struct spawner *s);

// spawner_check lets it be freed, later in this turn, if the process is gone and no worker needs
// it.
void spawner_check(struct spawner *s);
