// SPDX-License-Identifier: Apache-2.0
// channel -- see channel.h.
#include "keeper/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/closer.h"

#define PACKETS_PER_TURN_MAX 256  // then others get their turn
#define DRAIN_MAX            4096 // packets
#define WAITING_MAX          4096 // packets that a peer may leave unread
#define SLOW_COUNT           64   // from here on the peer is called slow

// A packet that did not fit into the socket; its descriptors are duplicates.
struct waiting {
    struct list_node node;
    int fds[FD_PASS_MAX];
    size_t fd_count;
    size_t len;
    char bytes[];
};

static void free_waiting(struct channel *c, struct waiting *w)
{
    list_remove(&w->node);
    c->waiting_count--;
    if (w->fd_count > 0)
        closer_close(w->fds, w->fd_count);
    mem_free(w);
}

static void end(struct channel *c, const char *why)
{
    channel_close(c);
    c->on_closed(c, why);
}

// The outcome of a send that is not to be repeated: sent, or the peer is gone (the reading side
// tells).
static bool is_settled(int rc)
{
    return rc != -EAGAIN && rc != -ENOBUFS && rc != -ENOMEM && rc != -ETOOMANYREFS;
}

static void flush(struct channel *c)
{
    struct list_node *node;
    while ((node = list_first(&c->waiting)) != NULL) {
        struct waiting *w = CONTAINER_OF(node, struct waiting, node);
        if (!is_settled(fd_send(c->fd, str_n(w->bytes, w->len), w->fds, w->fd_count)))
            return;
        free_waiting(c, w);
    }
}

static void wait_in_queue(struct channel *c, struct str packet, const int *fds, size_t fd_count)
{
    struct waiting *w = mem_alloc(sizeof *w + packet.len);
    memcpy(w->bytes, packet.ptr, packet.len);
    w->len = packet.len;
    for (size_t i = 0; i < fd_count; i++) {
        int dup = fd_dup(fds[i]);
        if (dup >= 0)
            w->fds[w->fd_count++] = dup;
        else
            c->fault = "could not be sent a descriptor";
    }
    list_push_back(&c->waiting, &w->node);
    if (++c->waiting_count > WAITING_MAX)
        c->fault = "does not read its messages";
    // The end is told from the loop, not to a caller in the middle of its work.
    if (c->fault)
        loop_later(c->loop, &c->again);
}

static void deliver(struct channel *c, struct str bytes, struct fd_received *packet)
{
    struct ipc_msg msg;
    bool good = ipc_decode(bytes, &msg);
    // If its descriptors were lost for lack of room there is none in it: who takes it must do
    // without, for the peer is not to blame.
    if (good)
        c->on_msg(c, &msg, packet);
    if (packet->fd_count > 0)
        closer_close(packet->fds, packet->fd_count);
    if (!good)
        end(c, "sent a malformed message");
}

// Takes up to `max` packets; true when there may be more.
static bool take_packets(struct channel *c, int max)
{
    char room[IPC_BYTES_MAX];
    for (int i = 0; i < max && channel_is_open(c); i++) {
        struct fd_received packet;
        int rc = fd_receive(c->fd, room, sizeof room, &packet);
        if (rc == 0)
            return false;
        // Told once when the peer closed with something unread; what it sent before can still be
        // read.
        if (rc == -ECONNRESET)
            continue;
        if (rc < 0)
            end(c, rc == -EMSGSIZE ? "sent a message that is too long" : "could not be read from");
        else if (packet.len == 0)
            end(c, NULL);
        else
            deliver(c, str_n(room, packet.len), &packet);
    }
    return channel_is_open(c);
}

static void on_ready(struct loop_watch *watch, unsigned ready)
{
    struct channel *c = CONTAINER_OF(watch, struct channel, watch);
    if (ready & POLL_WRITE)
        flush(c);
    if ((ready & ~(unsigned)POLL_WRITE) && take_packets(c, PACKETS_PER_TURN_MAX))
        loop_later(c->loop, &c->again);
}

static void on_again(struct loop_task *task)
{
    struct channel *c = CONTAINER_OF(task, struct channel, again);
    if (c->fault)
        end(c, c->fault);
    else if (take_packets(c, PACKETS_PER_TURN_MAX))
        loop_later(c->loop, &c->again);
}

int channel_adopt(struct channel *c, struct loop *loop, int fd)
{
    ASSERT(c->on_msg && c->on_closed && !channel_is_open(c));
    c->watch = (struct loop_watch){.on_ready = on_ready};
    c->again = (struct loop_task){.run = on_again};
    c->fd = fd;
    c->fault = NULL;
    list_init(&c->waiting);
    int rc = fd_set_nonblock(fd, true);
    if (rc == 0)
        rc = loop_watch_start(loop, &c->watch, fd, POLL_READ | POLL_WRITE);
    if (rc < 0)
        fd_close(&c->fd);
    else
        c->loop = loop;
    return rc;
}

int channel_open(struct channel *c, struct loop *loop, int *out_peer)
{
    int pair[2];
    int rc = fd_pair(SOCK_SEQPACKET, pair);
    if (rc < 0)
        return rc;
    rc = fd_pass_credentials(pair[0]);
    if (rc < 0)
        fd_close(&pair[0]);
    else
        rc = channel_adopt(c, loop, pair[0]);
    if (rc < 0)
        fd_close(&pair[1]);
    else
        *out_peer = pair[1];
    return rc;
}

bool channel_is_open(const struct channel *c)
{
    return c->loop != NULL;
}

bool channel_is_slow(const struct channel *c)
{
    return c->waiting_count >= SLOW_COUNT;
}

void channel_send(struct channel *c, const struct ipc_msg *msg, const int *fds, size_t fd_count)
{
    if (!channel_is_open(c))
        return;
    struct ipc_msg cut = *msg;
    ASSERT(cut.name.len < IPC_TEXT_MAX);
    if (cut.text.len > IPC_TEXT_MAX - cut.name.len)
        cut.text = str_skip(cut.text, cut.text.len - (IPC_TEXT_MAX - cut.name.len));
    char room[IPC_BYTES_MAX];
    struct str packet = str_n(room, ipc_encode(&cut, room));
    ASSERT(packet.len > 0);
    if (!list_is_empty(&c->waiting) || !is_settled(fd_send(c->fd, packet, fds, fd_count)))
        wait_in_queue(c, packet, fds, fd_count);
}

void channel_drain(struct channel *c)
{
    take_packets(c, DRAIN_MAX);
}

void channel_close(struct channel *c)
{
    if (!channel_is_open(c))
        return;
    loop_watch_stop(&c->watch);
    loop_later_cancel(&c->again);
    list_foreach(&c->waiting, struct waiting, node, w)
        free_waiting(c, w);
    // What the peer may have sent and nobody has read is closed with it.
    closer_close(&c->fd, 1);
    c->loop = NULL;
}
