// SPDX-License-Identifier: Apache-2.0
// listener -- see listener.h.
#include "net/listener.h"

#include <errno.h>

// One connection a turn while they come one by one: asking for another would cost each of them a
// call that finds nothing. More while there are more, up to the limit.
static void on_ready(struct loop_watch *w, unsigned ready)
{
    struct listener *l = CONTAINER_OF(w, struct listener, watch);
    int batch = l->batch;
    (void)ready;
    l->batch = batch < LISTENER_BATCH_MAX ? batch * 2 : batch;
    for (int i = 0; i < batch && l->loop; i++) {
        struct sock_addr peer;
        int fd = sock_accept(l->fd, &peer);
        if (fd >= 0) {
            l->on_accept(l, fd, &peer);
            continue;
        }
        if (fd == -EAGAIN) {
            l->batch = 1;
            return;
        }
        // The socket stays readable: without a pause the loop would spin.
        loop_watch_stop(&l->watch);
        loop_timer_start(l->loop, &l->pause, LISTENER_PAUSE_US);
        l->on_error(l, -fd);
        return;
    }
}

static void on_pause_over(struct loop_timer *t)
{
    struct listener *l = CONTAINER_OF(t, struct listener, pause);
    if (loop_watch_start(l->loop, &l->watch, l->fd, POLL_SHARED) < 0)
        loop_timer_start(l->loop, &l->pause, LISTENER_PAUSE_US);
}

int listener_start(struct listener *l, struct loop *loop, int fd)
{
    l->loop = loop;
    l->fd = fd;
    l->batch = 1;
    l->watch.on_ready = on_ready;
    l->pause.on_expired = on_pause_over;
    int rc = loop_watch_start(loop, &l->watch, fd, POLL_SHARED);
    if (rc < 0)
        l->loop = NULL;
    return rc;
}

void listener_stop(struct listener *l)
{
    if (!l->loop)
        return;
    loop_watch_stop(&l->watch);
    loop_timer_stop(&l->pause);
    l->loop = NULL;
}
