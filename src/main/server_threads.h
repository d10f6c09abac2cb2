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
    unsigned long *ids; // pthread_t of all but the first
};

typedef void server_threads_fn(struct thread *t, void *arg);

// server_threads_open makes `count` threads with their loops; items[0] is the caller's, with
// `loop`. 0 or -errno.
MUST_USE int server_threads_open(struct server_threads *s, struct loop *loop, unsigned count);

// server_threads_run starts the other threads, after pool_open. 0 or -errno.
MUST_USE int server_threads_run(struct server_threads *s);

// server_threads_each runs fn(thread, arg) on each thread: at once on the caller's, later on the
// others'. What `arg` points to must live on, or be counted.
void server_threads_each(struct server_threads *s, server_threads_fn *fn, void *arg);

// server_threads_after calls fn(arg) on the control thread when each thread has run what it was
// given before; at once when there is one thread only.
void server_threads_after(struct server_threads *s, void (*fn)(void *arg), void *arg);

// server_threads_close ends the other threads after what was posted to them and waits for them.
// Their memory stays: counters can still be read.
void server_threads_close(struct server_threads *s);
