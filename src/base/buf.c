// SPDX-License-Identifier: Apache-2.0
// buf -- see buf.h.
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define SIZE_FIRST 512

struct str buf_view(const struct buf *b)
{
    return (struct str){b->data ? b->data + b->start : NULL, b->end - b->start};
}

size_t buf_len(const struct buf *b)
{
    return b->end - b->start;
}

static void move_to_front(struct buf *b)
{
    if (!b->start)
        return;
    memmove(b->data, b->data + b->start, b->end - b->start);
    b->end -= b->start;
    b->start = 0;
}

char *buf_room(struct buf *b, size_t want, size_t *out_room)
{
    size_t held = buf_len(b);
    size_t most = b->ceiling_bytes ? b->ceiling_bytes : (size_t)-1 / 2;
    if (want > most || held > most - want)
        return NULL;
    if (b->size - b->end < want)
        move_to_front(b);
    if (b->size - b->end < want) {
        size_t size = b->size ? b->size : SIZE_FIRST;
        while (size < held + want)
            size *= 2;
        if (size > most)
            size = most;
        b->data = mem_grow(b->data, size);
        b->size = size;
    }
    *out_room = b->size - b->end;
    return b->data + b->end;
}

void buf_added(struct buf *b, size_t count)
{
    ASSERT(count <= b->size - b->end);
    b->end += count;
}

bool buf_put(struct buf *b, struct str s)
{
    size_t room;
    if (!s.len)
        return true;
    char *to = buf_room(b, s.len, &room);
    if (!to)
        return false;
    memcpy(to, s.ptr, s.len);
    buf_added(b, s.len);
    return true;
}

bool buf_fmt(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    ASSERT(len >= 0);
    size_t room;
    char *to = buf_room(b, (size_t)len + 1, &room);
    if (!to)
        return false;
    va_start(args, fmt);
    (void)vsnprintf(to, (size_t)len + 1, fmt, args);
    va_end(args);
    buf_added(b, (size_t)len);
    return true;
}

void buf_take(struct buf *b, size_t count)
{
    size_t held = buf_len(b);
    b->start += count < held ? count : held;
    if (b->start == b->end)
        b->start = b->end = 0;
}

void buf_trim(struct buf *b)
{
    if (b->start == b->end)
        buf_done(b);
}

void buf_done(struct buf *b)
{
    mem_free(b->data);
    b->data = NULL;
    b->start = b->end = b->size = 0;
}
