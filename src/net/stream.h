// SPDX-License-Identifier: Apache-2.0
// stream -- the bytes of one connection, whatever carries them: a plain socket, or TLS (tls.h)
// behind the same table. Non-blocking; no buffers, no policy.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/compiler.h"
#include "event/loop.h"

struct stream;

struct stream_ops {
    ssize_t (*read)(struct stream *s, void *room, size_t size);
    ssize_t (*write)(struct stream *s, const struct iovec *iov, size_t count, bool more);
    ssize_t (*send_file)(struct stream *s, int file, off_t *offset, size_t count);
    void (*end)(struct stream *s);
    void (*reset)(struct stream *s);
    void (*release)(struct stream *s); // before the socket is closed; NULL: nothing to do
    bool short_read_is_all; // a read that gives less than it could has emptied the socket
};

// Embedded in its owner.
struct stream {
    const struct stream_ops *ops;
    int fd;           // FD_NONE: closed
    bool wants_write; // reading goes on when there is room to write (TLS only)
    bool is_cut;      // nothing more is to be sent, not even the end
    bool is_watched;
    bool
        is_misled; // the peer speaks HTTP where TLS was expected (set by tls.c); plain from then on
    uint8_t empty_records; // of tls.c
    void *tls;             // of tls.c
    struct loop_watch watch;
};

// stream_open makes a plain stream of the connected, non-blocking socket `fd`, which it takes over.
void stream_open(struct stream *s, int fd, loop_watch_fn *on_ready);

// stream_watch has `on_ready` called on `l` from now on, when there are bytes or room
// (edge-triggered; the first call comes in the next turn). A stream can be used before: one that is
// read, answered and closed at once never costs the call. 0 or -errno.
MUST_USE int stream_watch(struct stream *s, struct loop *l);

// stream_read reads once. Count, 0 at the end, or -errno.
MUST_USE ssize_t stream_read(struct stream *s, void *room, size_t size);

// stream_ready is what readiness of the socket (POLL_* bits) means for the stream: with TLS,
// reading may wait for room to write.
unsigned stream_ready(const struct stream *s, unsigned ready);

// stream_peek looks at what a plain stream would read, without taking it. As stream_read.
MUST_USE ssize_t stream_peek(struct stream *s, void *room, size_t size);

// stream_write writes several pieces (at most 16 are used) once; `more` tells that bytes of the
// same answer follow at once. Count or -errno.
MUST_USE ssize_t stream_write(struct stream *s, const struct iovec *iov, size_t count, bool more);

// stream_send_file sends up to `count` bytes of `file` from *offset, which it advances. Count (0:
// the file is shorter than that) or -errno.
MUST_USE ssize_t stream_send_file(struct stream *s, int file, off_t *offset, size_t count);

// stream_end tells the peer that no more bytes come; reading goes on.
void stream_end(struct stream *s);

// stream_reset makes the close that follows look like a failure to the peer (RST), where the
// carrier has that: for an answer whose end is only told by the close.
void stream_reset(struct stream *s);

// stream_cut has the close that follows not be told as an orderly end, where the carrier has such
// (TLS): for an answer that is not complete.
void stream_cut(struct stream *s);

// stream_make_plain has the bytes go as they are again. For who has put a table of its own.
void stream_make_plain(struct stream *s);

// stream_close ends the watch and closes. Fine when closed.
void stream_close(struct stream *s);
