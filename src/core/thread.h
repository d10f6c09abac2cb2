// SPDX-License-Identifier: Apache-2.0
// thread -- one server thread's own things: loop, read buffers, counters, cached date. Everything
// here is touched by that thread only, but for the counters, which others read.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/str.h"
#include "core/metrics.h"
#include "event/jobs.h"
#include "event/loop.h"

#define THREAD_BLOCK_BYTES   ((size_t)32 * 1024) // of thread_block_take
#define THREAD_BLOCKS_KEPT   16                  // free blocks kept; the rest goes back to the heap
#define THREAD_SCRATCH_BYTES ((size_t)64 * 1024)
#define THREAD_ATTACHED_MAX  16

enum {
    THREAD_ID_PREFIX_DIGITS = 10
}; // of request ids: random, of the thread's life; the rest
   // counts requests

// What a room or module keeps on a thread: see thread_attach.
struct thread_attached {
    const void *owner;
    void *data;
    void (*free)(void *data);
    void (*rest)(void *data); // NULL: has nothing to give back
};

struct thread {
    struct loop *loop;
    struct jobs *jobs; // shared by all threads
    unsigned index;    // 0 is also the control thread
    char *scratch;     // THREAD_SCRATCH_BYTES to read into within one callback; not kept between
                       // callbacks
    struct metrics metrics;
    struct list exchanges; // in progress, oldest first (struct exchange, node)
    // private
    struct thread_attached attached[THREAD_ATTACHED_MAX];
    unsigned attached_count;
    void *blocks;
    unsigned block_count;
    int64_t date_s;
    char date[32];
    char id_prefix[THREAD_ID_PREFIX_DIGITS];
    uint64_t id_next;
};

// thread_init prepares it (loop given by the caller); thread_done frees.
void thread_init(struct thread *t, unsigned index, struct loop *loop, struct jobs *jobs);
void thread_done(struct thread *t);

// thread_attach keeps `data` on the thread for `owner`, an address that names who it belongs to (a
// module, a table): caches and lists by thread. `free` is called by thread_done, last attached
// first.
void thread_attach(struct thread *t, const void *owner, void *data, void (*free)(void *data));

// thread_on_rest has `rest` called by thread_rest for what `owner` has attached: it gives back what
// is kept for reuse only.
void thread_on_rest(struct thread *t, const void *owner, void (*rest)(void *data));

// thread_attached returns what `owner` has attached, NULL if nothing.
void *thread_attached(const struct thread *t, const void *owner);

// thread_block_take gives a block of THREAD_BLOCK_BYTES (contents undefined); thread_block_give
// takes it back, on the same thread.
char *thread_block_take(struct thread *t);
void thread_block_give(struct thread *t, char *block);

// thread_rest gives back to the heap what is kept for reuse: the free blocks, and what rooms have
// said by thread_on_rest.
void thread_rest(struct thread *t);

// thread_date is the value of a Date header now (IMF-fixdate), made once a second.
struct str thread_date(struct thread *t);

// thread_request_id makes a new request id: 16 lower-case hexadecimal digits, unique over threads
// and restarts.
void thread_request_id(struct thread *t, char room[static 17]);
