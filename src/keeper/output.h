// SPDX-License-Identifier: Apache-2.0
// output -- what a child writes to its standard error: read from the pipe, handed on in whole
// lines, the last bytes kept for the report of a failed start.
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"
#include "event/loop.h"

#define OUTPUT_KEPT_BYTES 4096

struct output;

// One or more whole lines without the last newline; a line longer than OUTPUT_KEPT_BYTES comes in
// parts.
typedef void output_lines_fn(struct output *o, struct str lines);

struct output {
    output_lines_fn *on_lines;
    // private
    struct loop *loop; // NULL: not open
    struct loop_watch watch;
    struct loop_task again;
    int fd;
    size_t len;    // bytes kept
    size_t untold; // how many of them, at the end, were not handed on yet
    char kept[OUTPUT_KEPT_BYTES];
};

// output_open reads from `fd` (taken over, also on failure) from now on. Set on_lines before.
// 0 or -errno.
MUST_USE int output_open(struct output *o, struct loop *loop, int fd);

// output_drain takes what has arrived, now.
void output_drain(struct output *o);

// output_tail is the last that was written, at most OUTPUT_KEPT_BYTES; stays after output_close.
struct str output_tail(const struct output *o);

// output_release hands on an unfinished line, ends the reading and gives the descriptor away;
// FD_NONE when the writer has closed it.
MUST_USE int output_release(struct output *o);

// output_close hands on an unfinished line, ends the reading and closes; fine when not open.
void output_close(struct output *o);
