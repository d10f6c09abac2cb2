// SPDX-License-Identifier: Apache-2.0
// jobs -- a small pool of threads for what can block: cold opens, lookups, spool writes.
#pragma once

#include "base/compiler.h"
#include "event/loop.h"

struct jobs;
struct job;

typedef void job_fn(struct job *job);

// Embedded in its owner, which stays alive until on_done was called.
struct job {
    job_fn *work;    // on a pool thread
    job_fn *on_done; // then on the loop's thread
    // private
    struct loop *loop;
    struct loop_task task;
    struct list_node node;
};

// jobs_new makes a pool of up to `threads` threads (started lazily, all signals blocked). Never
// NULL.
MUST_USE struct jobs *jobs_new(unsigned threads);

// jobs_submit queues a job; on_done comes on `loop`. Any thread.
void jobs_submit(struct jobs *j, struct loop *loop, struct job *job);

// jobs_free works off what is queued and ends the threads; the on_done of the last jobs may still
// wait in their loops. NULL is fine.
void jobs_free(struct jobs *j);
