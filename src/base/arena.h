// SPDX-License-Identifier: Apache-2.0
// arena -- memory by lifetime: many small allocations, one release. Lifetimes in the program:
// program, config snapshot, connection, exchange. Pointers go from short lifetimes to long ones.
// Sanitizer builds give each allocation a malloc of its own, so that overruns are seen.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"

struct arena_block;
struct arena_deferred;

// A zeroed arena is valid and empty (no ceiling, default block size). Not shared between threads.
struct arena {
    size_t ceiling_bytes; // 0: none. arena_alloc ends the process over it: check arena_room first
    size_t block_bytes;   // size of the blocks asked from the heap; 0: 4096
    // private
    struct arena_block *blocks;
    struct arena_deferred *deferred;
    char *next;
    size_t left;
    size_t used_bytes;
};

// arena_alloc returns `size` zeroed bytes aligned for any type. Never NULL. Freed by arena_reset.
MUST_USE void *arena_alloc(struct arena *a, size_t size);

// arena_room tells whether `size` more bytes stay below the ceiling; where input from outside sets
// the size, ask first and answer 431, 413 or 503.
bool arena_room(const struct arena *a, size_t size);

// arena_dup copies `s` and adds a NUL behind it (not counted).
struct str arena_dup(struct arena *a, struct str s);

// arena_cstr copies `s` as a C string; NULL when `s` has an inner NUL.
MUST_USE const char *arena_cstr(struct arena *a, struct str s);

// arena_fmt formats as printf does into the arena.
PRINTF_LIKE(2, 3) struct str arena_fmt(struct arena *a, const char *fmt, ...);

// arena_more returns `items`, an array that it has made, with room for one behind the `count` that
// are there, of `size` bytes each; NULL and 0 begin one. The array may move. Only one holder may
// let it grow: the room is behind copies of the pointer, too.
MUST_USE void *arena_more(struct arena *a, void *items, size_t count, size_t size);

// arena_append is arena_more for an array of several holders, as scopes share what they inherit:
// whoever was not the last to append gets a copy of his `count` items. NULL or what it has
// returned.
MUST_USE void *arena_append(struct arena *a, void *items, size_t count, size_t size);

// arena_defer calls fn(arg) at reset, in reverse order of the calls: for descriptors and
// references.
void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg);

// arena_reset runs what was deferred and frees all memory; the arena can be used again. It keeps
// the first block when that has the default size, so a reused arena costs no heap call.
void arena_reset(struct arena *a);

// arena_done is arena_reset that keeps nothing.
void arena_done(struct arena *a);

#define arena_new(a, type)          ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (size_t)(count)))
