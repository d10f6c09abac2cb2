// SPDX-License-Identifier: Apache-2.0
// guard -- copies of test input that end at a page nobody may touch: one byte too far crashes.
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/str.h"

#define GUARD_ROOM_BYTES ((size_t)256 * 1024)
#define GUARD_PAGE_BYTES ((size_t)64 * 1024) // a multiple of any page size in use

// guard_copy copies `s` flush against the forbidden page; valid until the next call.
static inline struct str guard_copy(struct str s)
{
    static char *room;
    ASSERT(s.len <= GUARD_ROOM_BYTES);
    if (!room) {
        room = mmap(NULL, GUARD_ROOM_BYTES + GUARD_PAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT(room != MAP_FAILED);
        ASSERT(mprotect(room + GUARD_ROOM_BYTES, GUARD_PAGE_BYTES, PROT_NONE) == 0);
    }
    char *to = room + GUARD_ROOM_BYTES - s.len;
    if (s.len)
        memcpy(to, s.ptr, s.len);
    return str_n(to, s.len);
}
