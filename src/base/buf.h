// SPDX-License-Identifier: Apache-2.0
// buf -- a growing byte buffer with a stated ceiling, consumed from the front. Heap memory, freed
// by buf_done or when it runs empty under buf_trim.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"

// Invariants: start <= end <= size <= ceiling (when ceiling is not 0). {0} is an empty buffer.
struct buf {
    size_t ceiling_bytes; // 0: no ceiling
    // private
    char *data;
    size_t start, end, size;
};

// buf_view borrows the bytes held, until the next call that changes the buffer.
struct str buf_view(const struct buf *b);

// buf_len is the count of bytes held.
size_t buf_len(const struct buf *b);

// buf_room returns a place for at least `want` more bytes and sets *out_room to how many fit there;
// NULL when the ceiling forbids. Follow with buf_added.
MUST_USE char *buf_room(struct buf *b, size_t want, size_t *out_room);

// buf_added tells that `count` bytes were written to the place of the last buf_room.
void buf_added(struct buf *b, size_t count);

// buf_put appends `s`; false, and nothing appended, when the ceiling forbids.
MUST_USE bool buf_put(struct buf *b, struct str s);

// buf_fmt appends formatted text; false, and nothing appended, when the ceiling forbids.
PRINTF_LIKE(2, 3) bool buf_fmt(struct buf *b, const char *fmt, ...);

// buf_take drops `count` bytes (at most all) from the front.
void buf_take(struct buf *b, size_t count);

// buf_trim gives memory back when the buffer is empty.
void buf_trim(struct buf *b);

// buf_done frees all; the buffer is empty and usable.
void buf_done(struct buf *b);
