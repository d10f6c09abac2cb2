// SPDX-License-Identifier: Apache-2.0
// child -- the processes below the keeper by their numbers, and their deaths. All are children of
// the keeper itself (it is the reaper of orphans), and only child_reap collects them: until then a
// number in the table can't belong to anybody else, so that signalling by number is safe.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/map.h"

struct child;
struct child_table;

typedef void child_ending_fn(struct child *c);
typedef void child_ended_fn(struct child *c, int status);
typedef void child_unknown_fn(struct child_table *t);

// Embedded in its owner. Zeroed: no process.
struct child {
    pid_t pid; // 0: none, or collected
    child_ending_fn
        *on_ending; // dead, but not collected: its process group is still its own; or NULL
    child_ended_fn *on_ended; // collected with this wait status, out of the table
};

#define CHILD_LOST_MAX 64 // ends of unknown children that are remembered

struct child_table {
    struct map by_pid;
    // A child has ended that is not in the table: enter it now if its number has been told; or
    // NULL.
    child_unknown_fn *on_unknown;

    struct {
        pid_t pid;
        int status;
    } lost[CHILD_LOST_MAX];

    size_t lost_at;
};

// child_add enters a process whose callbacks are set.
void child_add(struct child_table *t, struct child *c, pid_t pid);

// child_is_known tells whether `pid` is in the table.
bool child_is_known(const struct child_table *t, pid_t pid);

// child_count is the count of processes in the table.
size_t child_count(const struct child_table *t);

// child_signal signals the process; false when there is none.
bool child_signal(const struct child *c, int signal);

// child_reap collects all ended children and calls their owners.
void child_reap(struct child_table *t);

// child_take_lost tells whether the unknown child `pid` has ended lately, forgets it and sets its
// status: a worker may be dead before its spawner has said its number.
bool child_take_lost(struct child_table *t, pid_t pid, int *out_status);

// child_kill_strangers signals all processes below the keeper that are not in the table; with
// `session` not 0 only those of that session.
void child_kill_strangers(const struct child_table *t, int signal, pid_t session);
