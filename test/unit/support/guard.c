// SPDX-License-Identifier: Apache-2.0
// guard -- see guard.h.
#include "support/guard.h"

#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"

enum { FORBIDDEN_BYTES = 64 * 1024 }; // a multiple of any page size in use

struct str guard_copy(struct str s)
{
    static char *room;
    ASSERT(s.len <= GUARD_ROOM_BYTES);
    if (!room) {
        room = mmap(NULL, GUARD_ROOM_BYTES + FORBIDDEN_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT(room != MAP_FAILED);
        ASSERT(mprotect(room + GUARD_ROOM_BYTES, FORBIDDEN_BYTES, PROT_NONE) == 0);
    }
    char *to = room + GUARD_ROOM_BYTES - s.len;
    if (s.len)
        memcpy(to, s.ptr, s.len);
    return str_n(to, s.len);
}
