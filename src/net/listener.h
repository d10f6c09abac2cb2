// SPDX-License-Identifier: Apache-2.0
// listener -- takes connections from one listening socket that several threads share. Does not
// bind, does not log, does not know what the connections are for.
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "event/loop.h"
#include "os/sock.h"

struct listener;

typedef void listener_accept_fn(struct listener *l, int fd, const struct sock_addr *peer);
typedef void listener_error_fn(struct listener *l, int error);

// Embedded in its owner. Zeroed: not started.
struct listener {
    listener_accept_fn *on_accept; // takes `fd` over; may stop the listener
    // accept has failed with -error for lack of something (descriptors, memory): no connections are
    // taken for LISTENER_PAUSE_US. Others may still be served meanwhile.
    listener_error_fn *on_error;
    // private
    struct loop *loop;
    int fd;
    struct loop_watch watch;
    struct loop_timer pause;
    int batch; // connections that the next turn takes
};

#define LISTENER_PAUSE_US  UINT64_C(100000)
#define LISTENER_BATCH_MAX 16 // connections taken in one turn, so that those served get theirs

// listener_start accepts on `fd` (borrowed, non-blocking) from now on. 0 or -errno.
MUST_USE int listener_start(struct listener *l, struct loop *loop, int fd);

// listener_stop ends it; fine when not started.
void listener_stop(struct listener *l);
