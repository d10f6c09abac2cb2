// SPDX-License-Identifier: Apache-2.0
// stream -- see stream.h.
#include "net/stream.h"

#include "os/fd.h"
#include "os/sock.h"

static ssize_t plain_read(struct stream *s, void *room, size_t size)
{
    return fd_receive_some(s->fd, room, size);
}

static ssize_t plain_write(struct stream *s, const struct iovec *iov, size_t count, bool more)
{
    return sock_send(s->fd, iov, count, more);
}

static ssize_t plain_send_file(struct stream *s, int file, off_t *offset, size_t count)
{
    return sock_sendfile(s->fd, file, offset, count);
}

static void plain_end(struct stream *s)
{
    sock_shutdown_write(s->fd);
}

static void plain_reset(struct stream *s)
{
    sock_reset_on_close(s->fd);
}

static const struct stream_ops PLAIN_OPS = {
    .read = plain_read,
    .write = plain_write,
    .send_file = plain_send_file,
    .end = plain_end,
    .reset = plain_reset,
    .short_read_is_all = true,
};

void stream_open(struct stream *s, int fd, loop_watch_fn *on_ready)
{
    *s = (struct stream){.ops = &PLAIN_OPS, .fd = fd, .watch.on_ready = on_ready};
}

int stream_watch(struct stream *s, struct loop *l)
{
    // Both directions from the start: no system call each time the interest changes.
    int rc = loop_watch_start(l, &s->watch, s->fd, POLL_READ | POLL_WRITE);
    s->is_watched = rc == 0;
    return rc;
}

ssize_t stream_read(struct stream *s, void *room, size_t size)
{
    return s->ops->read(s, room, size);
}

unsigned stream_ready(const struct stream *s, unsigned ready)
{
    return s->wants_write && (ready & POLL_WRITE) ? ready | POLL_READ : ready;
}

ssize_t stream_peek(struct stream *s, void *room, size_t size)
{
    return sock_peek(s->fd, room, size);
}

ssize_t stream_write(struct stream *s, const struct iovec *iov, size_t count, bool more)
{
    return s->ops->write(s, iov, count, more);
}

ssize_t stream_send_file(struct stream *s, int file, off_t *offset, size_t count)
{
    return s->ops->send_file(s, file, offset, count);
}

void stream_end(struct stream *s)
{
    s->ops->end(s);
}

void stream_reset(struct stream *s)
{
    s->ops->reset(s);
}

void stream_cut(struct stream *s)
{
    s->is_cut = true;
}

void stream_make_plain(struct stream *s)
{
    s->ops = &PLAIN_OPS;
}

void stream_close(struct stream *s)
{
    if (s->fd == FD_NONE)
        return;
    if (s->ops->release)
        s->ops->release(s);
    if (s->is_watched)
        loop_watch_close(&s->watch);
    else
        fd_close(&s->fd);
    s->fd = FD_NONE;
}
