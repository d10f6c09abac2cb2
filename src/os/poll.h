// SPDX-License-Identifier: Apache-2.0
// poll -- the kernel's readiness queue (epoll), edge-triggered. Nothing of the event loop's policy.
#pragma once

#include <stdint.h>

#include "base/compiler.h"

enum {
    POLL_READ = 1,  // bytes, a connection or end of file can be read
    POLL_WRITE = 2, // there is room to write
    POLL_HANGUP =
        4, // peer has closed (at least) its writing side, or an error stands on the descriptor
    POLL_BROKEN = 16, // with POLL_HANGUP: an error stands, or both directions are closed
    POLL_SHARED = 8,  // for poll_add: a listener that several threads watch (EPOLLEXCLUSIVE, level)
};

struct poll_event {
    void *tag;
    unsigned ready; // POLL_* bits
};

// poll_open makes a queue: descriptor or -errno.
MUST_USE int poll_open(void);

// poll_add watches `fd` for `interest`; each event carries `tag`. 0 or -errno. Any thread.
MUST_USE int poll_add(int queue, int fd, unsigned interest, void *tag);

// poll_del stops watching. 0 or -errno. Any thread.
int poll_del(int queue, int fd);

// poll_wait waits at most `timeout_ms` (-1: for ever) and fills up to `count` events. Count or
// -errno; an interrupted wait gives 0.
MUST_USE int poll_wait(int queue, struct poll_event *events, int count, int timeout_ms);
