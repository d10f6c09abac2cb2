// SPDX-License-Identifier: Apache-2.0
// apps -- the app table of the generation in force, and the retired apps whose processes still
// live. Decides nothing about how many workers there should be: that is the server's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"
#include "event/loop.h"

struct keeper;
struct generation;
struct board;
struct plan_app;
struct spawner;

struct app {
    struct list_node node;
    struct keeper *k;
    struct generation *generation; // counted: owns `plan`
    const struct plan_app *plan;
    struct board *board;     // counted
    struct spawner *spawner; // that new workers come from; NULL: none runs
    struct spawner *old;     // kept until a new one has proved itself; NULL: none
    struct list spawners;    // all that are not freed yet
    struct list workers;
    bool is_retired;         // replaced by other settings, or removed
    struct loop_timer timer; // removed: stragglers are ended
    struct loop_task check;  // frees a retired app that nobody belongs to any more
    char *info;              // what its runtime said of itself; NULL: nothing yet
};

struct apps {
    struct list table, retired;
    struct map workers; // by the id that the server gave; those of a dead server are not in it
};

// apps_init makes both tables empty.
void apps_init(struct apps *apps);

// apps_replace makes the apps of `g` the table. Apps with the same settings keep their processes;
// the spawners of the others leave, their workers are the server's to end. What still lives of a
// removed app when running requests must have finished is ended then.
void apps_replace(struct keeper *k, struct generation *g);

// apps_start_worker starts one more worker of the app, as `id`. WORKER_READY or WORKER_FAILED
// follows.
void apps_start_worker(struct keeper *k, struct str name, uint32_t id);

// apps_idle lets the app's spawner leave, unless workers wait for it.
void apps_idle(struct keeper *k, struct str name);

// apps_renew lets the next workers come from a new spawner and keeps the one that is there, until
// apps_settle says which of them stays.
void apps_renew(struct keeper *k, struct str name);
void apps_settle(struct keeper *k, struct str name, bool is_good);

// apps_orphan_workers ends all workers: the server that their connections lived in is gone.
void apps_orphan_workers(struct keeper *k);

// apps_send_infos tells the server what the runtimes said of themselves.
void apps_send_infos(struct keeper *k);

// apps_leave asks all spawners and workers to end; they are killed when their app's time is over.
void apps_leave(struct keeper *k);

// apps_hear takes in what spawners and booting workers have said, now.
void apps_hear(struct keeper *k);

// apps_signal signals all spawners and workers.
void apps_signal(struct keeper *k, int signal);

// apps_stop_ms is the longest time that any app with processes has to end.
uint64_t apps_stop_ms(const struct keeper *k);

// apps_user is the uid that the app's processes run as.
uid_t apps_user(const struct app *app);

// apps_done frees all; no process is left.
void apps_done(struct keeper *k);
