// SPDX-License-Identifier: Apache-2.0
// channel -- one end of a socket pair between the keeper and a child: packets of wire/ipc.h in
// both directions without ever blocking. What the peer does not take at once waits in a bounded
// queue.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "event/loop.h"
#include "os/fd.h"
#include "wire/ipc.h"

struct channel;

// The callback takes descriptors out of `packet->fds` by putting FD_NONE in their place; the others
// are closed after it, where that may take its time; with packet->lost there are none. It may call
// channel_close, but not free the channel's memory.
typedef void channel_msg_fn(struct channel *c, const struct ipc_msg *msg,
                            struct fd_received *packet);

// Called once, the channel being closed already: the peer is gone (`why` NULL) or broke the
// protocol.
typedef void channel_closed_fn(struct channel *c, const char *why);

struct channel {
    channel_msg_fn *on_msg;
    channel_closed_fn *on_closed;
    // private
    struct loop *loop; // NULL: not open
    struct loop_watch watch;
    struct loop_task again;
    int fd;
    struct list waiting;
    size_t waiting_count;
    const char *fault; // why it is to be closed in a later turn
};

// channel_open makes the pair and sets *out_peer, which the caller passes to the child and closes.
// Set the callbacks before. 0 or -errno.
MUST_USE int channel_open(struct channel *c, struct loop *loop, int *out_peer);

// channel_adopt is for the child: it takes over `fd`, also on failure, the end that the process was
// started with. 0 or -errno.
MUST_USE int channel_adopt(struct channel *c, struct loop *loop, int fd);

// channel_is_open tells whether messages can still be sent.
bool channel_is_open(const struct channel *c);

// channel_is_slow tells that packets wait: what can be left out should not be sent now.
bool channel_is_slow(const struct channel *c);

// channel_send sends or queues a message with descriptors (borrowed); text over IPC_TEXT_MAX is cut
// at its front. Nothing happens when the channel is not open. A peer that lets too much pile up has
// broken the protocol: on_closed comes in a later turn.
void channel_send(struct channel *c, const struct ipc_msg *msg, const int *fds, size_t fd_count);

// channel_drain takes the packets that have arrived, now: after the peer's death, before its end is
// acted upon. Of a peer that goes on sending not all.
void channel_drain(struct channel *c);

// channel_close closes without a call of on_closed; fine when not open.
void channel_close(struct channel *c);
