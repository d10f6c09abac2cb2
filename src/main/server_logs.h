// SPDX-License-Identifier: Apache-2.0
// server_logs -- the log files that the keeper has opened, each with a sink: collected for a
// generation, put in force at its commit, swapped on rotation.
#pragma once

#include "base/list.h"
#include "base/str.h"
#include "core/metrics.h"
#include "core/snapshot.h"
#include "event/loop.h"

struct server_logs {
    struct list all;
    // private
    struct loop *loop;
    struct loop_timer look_timer;
    struct metrics *metrics; // NULL until server_logs_watch
};

// server_logs_init makes it empty.
void server_logs_init(struct server_logs *l);

// server_logs_watch looks for lost lines from now on, every few seconds: they are counted in
// `metrics`, those of this loop's thread, and told in the error log. Control thread.
void server_logs_watch(struct server_logs *l, struct loop *loop, struct metrics *metrics);

// server_logs_count counts what was lost up to now. Control thread, after server_logs_watch.
void server_logs_count(struct server_logs *l);

// server_logs_offer takes `fd` over for the generation that is being prepared.
void server_logs_offer(struct server_logs *l, struct str name, int fd);

// server_logs_abandon closes what was only offered.
void server_logs_abandon(struct server_logs *l);

// server_logs_commit makes the snapshot's error log and access logs those that are written.
void server_logs_commit(struct server_logs *l, const struct snapshot *s);

// server_logs_reopened swaps `fd` (taken over) in.
void server_logs_reopened(struct server_logs *l, struct str name, int fd);

// server_logs_close writes what is queued and closes all; messages go to descriptor 2 again.
void server_logs_close(struct server_logs *l);
