// SPDX-License-Identifier: Apache-2.0
// random -- see random.h.
#include "os/random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/assert.h"

void random_bytes(void *room, size_t size)
{
    char *at = room;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        // A server without randomness must not go on with predictable keys.
        ASSERT(got > 0);
        at += got;
        size -= (size_t)got;
    }
}

uint64_t random_u64(void)
{
    uint64_t value;
    random_bytes(&value, sizeof value);
    return value;
}
