// SPDX-License-Identifier: Apache-2.0
// sink -- lines to a descriptor from any thread without blocking it: a bounded ring, one writer
// thread for all sinks, a counter of dropped lines. The writer batches: no system call per line,
// and a line reaches its file up to 20 ms late. Not across fork: the child has no writer.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define SINK_RING_BYTES (256 * 1024) // per sink; beyond it lines are dropped and counted

struct sink;

// sink_new makes a sink that writes to `fd`, which it takes over. The writer thread starts with the
// first sink.
MUST_USE struct sink *sink_new(int fd);

// sink_write queues one line (a newline is added). False: dropped, counted. Any thread.
bool sink_write(struct sink *s, struct str line);

// sink_swap makes later lines go to `fd` (taken over), after what is queued went to the old one,
// which is closed then: log rotation. Any thread.
void sink_swap(struct sink *s, int fd);

// sink_dropped is the count of lines dropped so far: those that found the ring full, and those
// whose write failed (no space, reader gone).
uint64_t sink_dropped(const struct sink *s);

// What a sink has lost so far, and whether it still does.
struct sink_losses {
    uint64_t lines;  // as sink_dropped counts them
    int error;       // why the last of them was: -errno of a write, 0 when the ring was full
    bool is_failing; // the last write failed
};

// sink_losses tells all of them at once.
struct sink_losses sink_losses(const struct sink *s);

// sink_flush waits until all that was queued before the call is written, 2 s at most.
void sink_flush(struct sink *s);

// sink_free flushes, closes and frees; nobody may write any more. NULL is fine.
void sink_free(struct sink *s);
