// SPDX-License-Identifier: Apache-2.0
// output -- see output.h.
#include "keeper/output.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "os/fd.h"

#define READS_PER_TURN_MAX 32 // then others get their turn
#define DRAIN_READS_MAX    64 // four times what a pipe holds

static void tell(struct output *o, struct str lines)
{
    if (str_ends(lines, STR("\n")))
        lines.len--;
    if (lines.len > 0)
        o->on_lines(o, lines);
}

// Adds a piece of at most OUTPUT_KEPT_BYTES.
static void add(struct output *o, struct str piece)
{
    char joined[2 * OUTPUT_KEPT_BYTES];
    memcpy(joined, o->kept, o->len);
    memcpy(joined + o->len, piece.ptr, piece.len);
    size_t len = o->len + piece.len;
    struct str untold = str_n(joined + o->len - o->untold, o->untold + piece.len);
    size_t newline = str_rfind(untold, '\n');
    size_t whole = newline < untold.len ? newline + 1 : 0;
    if (untold.len - whole >= OUTPUT_KEPT_BYTES)
        whole = untold.len;

    size_t dropped = len > OUTPUT_KEPT_BYTES ? len - OUTPUT_KEPT_BYTES : 0;
    o->len = len - dropped;
    o->untold = untold.len - whole;
    memcpy(o->kept, joined + dropped, o->len);
    if (whole > 0)
        tell(o, str_slice(untold, 0, whole));
}

static void tell_rest(struct output *o)
{
    struct str rest = str_n(o->kept + o->len - o->untold, o->untold);
    o->untold = 0;
    tell(o, rest);
}

// True when there may be more.
static bool take(struct output *o, int reads_max)
{
    char room[OUTPUT_KEPT_BYTES];
    for (int i = 0; i < reads_max && o->loop; i++) {
        ssize_t got = fd_read(o->fd, room, sizeof room);
        if (got == -EAGAIN)
            return false;
        if (got <= 0)
            output_close(o);
        else
            add(o, str_n(room, (size_t)got));
    }
    return o->loop != NULL;
}

static void on_ready(struct loop_watch *watch, unsigned ready)
{
    (void)ready;
    struct output *o = CONTAINER_OF(watch, struct output, watch);
    if (take(o, READS_PER_TURN_MAX))
        loop_later(o->loop, &o->again);
}

static void on_again(struct loop_task *task)
{
    struct output *o = CONTAINER_OF(task, struct output, again);
    if (take(o, READS_PER_TURN_MAX))
        loop_later(o->loop, &o->again);
}

int output_open(struct output *o, struct loop *loop, int fd)
{
    ASSERT(o->on_lines && !o->loop);
    o->watch = (struct loop_watch){.on_ready = on_ready};
    o->again = (struct loop_task){.run = on_again};
    o->len = o->untold = 0;
    int rc = fd_set_nonblock(fd, true);
    if (rc == 0)
        rc = loop_watch_start(loop, &o->watch, fd, POLL_READ);
    if (rc < 0) {
        fd_close(&fd);
        return rc;
    }
    o->fd = fd;
    o->loop = loop;
    return 0;
}

void output_drain(struct output *o)
{
    take(o, DRAIN_READS_MAX);
}

struct str output_tail(const struct output *o)
{
    return str_n(o->kept, o->len);
}

int output_release(struct output *o)
{
    if (!o->loop)
        return FD_NONE;
    // Stopped by name: the pipe lives on in other hands, the kernel would go on telling.
    loop_watch_stop(&o->watch);
    loop_later_cancel(&o->again);
    o->loop = NULL;
    tell_rest(o);
    return o->fd;
}

void output_close(struct output *o)
{
    int fd = output_release(o);
    fd_close(&fd);
}
