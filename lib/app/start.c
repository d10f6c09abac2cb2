// SPDX-License-Identifier: Apache-2.0
// start -- see start.h.
#include "start.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "os/fd.h"

// The descriptor that a variable names; FD_NONE when it names none.
static int inherited(const char *name)
{
    const char *text = getenv(name);
    uint64_t fd;
    if (!text || !str_to_u64(str_c(text), &fd) || fd > INT32_MAX
        || fd_set_cloexec((int)fd, true) < 0)
        return FD_NONE;
    return (int)fd;
}

bool start_read(struct spawner_start *out)
{
    const char *app = getenv("GODWIT_APP");
    *out = (struct spawner_start){
        .app = app ? app : "",
        .channel = inherited("GODWIT_CHANNEL"),
        .board = inherited("GODWIT_BOARD"),
        .keeper = getppid(),
    };
    return out->channel != FD_NONE && fd_set_nonblock(out->channel, false) == 0;
}
