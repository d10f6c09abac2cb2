// SPDX-License-Identifier: Apache-2.0
// arena -- see arena.h.
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
# define ARENA_SPARE 0
#elif defined(__has_feature)
# if __has_feature(address_sanitizer)
#  define ARENA_SPARE 0
# endif
#endif
#ifndef ARENA_SPARE
# define ARENA_SPARE 1
#endif

#define BLOCK_BYTES_DEFAULT 4096

struct arena_block {
    struct arena_block *older;
    size_t size; // usable bytes behind this header
    alignas(max_align_t) char data[];
};

struct arena_deferred {
    struct arena_deferred *older;
    void (*fn)(void *arg);
    void *arg;
};

static size_t round_up(size_t size)
{
    size_t align = alignof(max_align_t);
    ASSERT(size <= SIZE_MAX / 2);
    return (size + align - 1) / align * align;
}

static size_t block_size(const struct arena *a)
{
    return (a->block_bytes ? a->block_bytes : BLOCK_BYTES_DEFAULT) - sizeof(struct arena_block);
}

static void *add_block(struct arena *a, size_t size)
{
    struct arena_block *block = mem_alloc(sizeof *block + size);
    block->size = size;
    block->older = a->blocks;
    a->blocks = block;
    return block->data;
}

bool arena_room(const struct arena *a, size_t size)
{
    return !a->ceiling_bytes
           || (size <= a->ceiling_bytes && a->used_bytes <= a->ceiling_bytes - size);
}

void *arena_alloc(struct arena *a, size_t size)
{
    ASSERT(arena_room(a, size));
    size = round_up(size ? size : 1);
    a->used_bytes += size;
    if (size > a->left) { // always so without spare room
        if (!ARENA_SPARE || size > block_size(a) / 2)
            return add_block(a, size);
        a->next = add_block(a, block_size(a));
        a->left = block_size(a);
    }
    void *ptr = a->next;
    a->next += size;
    a->left -= size;
    return ptr;
}

struct str arena_dup(struct arena *a, struct str s)
{
    char *copy = arena_alloc(a, s.len + 1);
    if (s.len)
        memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return (struct str){copy, s.len};
}

const char *arena_cstr(struct arena *a, struct str s)
{
    if (s.len && memchr(s.ptr, '\0', s.len))
        return NULL;
    return arena_dup(a, s).ptr;
}

struct str arena_fmt(struct arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    ASSERT(len >= 0);
    char *text = arena_alloc(a, (size_t)len + 1);
    va_start(args, fmt);
    (void)vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return (struct str){text, (size_t)len};
}

// Room for so many at first; then twice as many, so that the count tells when that is used up.
#define MORE_FIRST ((size_t)8)

void *arena_more(struct arena *a, void *items, size_t count, size_t size)
{
    bool is_full = count >= MORE_FIRST && (count & (count - 1)) == 0;
    if (count > 0 && !is_full)
        return items;
    void *room = arena_alloc(a, size * (count ? count * 2 : MORE_FIRST));
    if (count > 0)
        memcpy(room, items, count * size);
    return room;
}

// Stands before the items: how many of them somebody uses.
struct shared {
    alignas(max_align_t) size_t used;
    size_t room;
};

void *arena_append(struct arena *a, void *items, size_t count, size_t size)
{
    struct shared *s = items ? (struct shared *)items - 1 : NULL;
    if (s && s->used == count && count < s->room) {
        s->used++;
        return items;
    }
    size_t room = count < MORE_FIRST ? MORE_FIRST : count * 2;
    s = arena_alloc(a, sizeof *s + size * room);
    *s = (struct shared){.used = count + 1, .room = room};
    if (count > 0)
        memcpy(s + 1, items, count * size);
    return s + 1;
}

void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg)
{
    struct arena_deferred *deferred = arena_new(a, struct arena_deferred);
    *deferred = (struct arena_deferred){a->deferred, fn, arg};
    a->deferred = deferred;
}

static void run_deferred(struct arena *a)
{
    while (a->deferred) {
        struct arena_deferred *deferred = a->deferred;
        a->deferred = deferred->older;
        deferred->fn(deferred->arg);
    }
}

void arena_reset(struct arena *a)
{
    run_deferred(a);
    struct arena_block *keep = NULL;
    while (a->blocks) {
        struct arena_block *block = a->blocks;
        a->blocks = block->older;
        if (ARENA_SPARE && !a->blocks && block->size == block_size(a))
            keep = block;
        else
            mem_free(block);
    }
    if (keep) {
        // Zero only what was handed out: allocations promise zeroed bytes.
        size_t dirty = a->used_bytes < keep->size ? a->used_bytes : keep->size;
        memset(keep->data, 0, dirty);
        keep->older = NULL;
    }
    a->blocks = keep;
    a->next = keep ? keep->data : NULL;
    a->left = keep ? keep->size : 0;
    a->used_bytes = 0;
}

void arena_done(struct arena *a)
{
    run_deferred(a);
    while (a->blocks) {
        struct arena_block *block = a->blocks;
        a->blocks = block->older;
        mem_free(block);
    }
    a->next = NULL;
    a->left = 0;
    a->used_bytes = 0;
}
