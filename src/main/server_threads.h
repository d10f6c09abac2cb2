// SPDX-License-Identifier: Apache-2.0
// server_threads -- the server's threads, one loop each. The first one is the caller's: the control
// thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "core/thread.h"

struct server_threads {
    struct thread *items;
    unsigned count;
    struct jobs *jobs;
    // private
    bool is_running;    // all of them
    unsigned long *ids; // pthread_t of all but the first
};

typedef void server_threads_fn(struct thread *t, void *arg);

// server_threads_open makes `count` threads with their loops; items[0] is the caller's, with
// `loop`. 0 or -errno.
MUST_USE int server_threads_open(struct server_threads *s, struct loop *loop, unsigned count);

// server_threads_run starts the other threads, after pool_open. 0, or -errno: then `count` is as
// many as could be started.
MUST_USE int server_threads_run(struct server_threads *s);

// server_threads_each runs fn(thread, arg) on each thread that runs: at once on the caller's, later
// on the others'. What `arg` points to must live on, or be counted.
void server_threads_each(struct server_threads *s, server_threads_fn *fn, void *arg);

// server_threads_after calls fn(arg) on the control thread when each thread has run what it was
// given before; at once when there is one thread only, or none.
void server_threads_after(struct server_threads *s, void (*fn)(void *arg), void *arg);

// server_threads_close ends the other threads and waits for them. First each thread does what was
// posted to it, and once more, so that what one of them passed on meanwhile arrives: nobody may
// pass on anything after that. Turns the caller's loop. Their memory stays: counters can still be
// read. Fine when they were not started.
void server_threads_close(struct server_threads *s);
