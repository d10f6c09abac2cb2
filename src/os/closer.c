// SPDX-License-Identifier: Apache-2.0
// closer -- see closer.h.
//
// A thread for each batch, not one for all: a user can make a close last for ever, and would hold
// those of the others.
#include "os/closer.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "os/fd.h"

struct batch {
    size_t count;
    int fds[];
};

static void *run(void *arg)
{
    struct batch *b = arg;
    // Sockets of TCP need not wait for a peer that is nobody's here. Not possible: does not matter.
    struct linger linger = {0};
    for (size_t i = 0; i < b->count; i++)
        (void)setsockopt(b->fds[i], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    for (size_t i = 0; i < b->count; i++)
        fd_close(&b->fds[i]);
    mem_free(b);
    return NULL;
}

// Signals are blocked there: they are for others.
static int start(struct batch *b)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int rc = pthread_attr_init(&attr);
    if (rc)
        return -rc;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &attr, run, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return -rc;
}

void closer_close(int *fds, size_t count)
{
    struct batch *b = mem_alloc(sizeof *b + count * sizeof *fds);
    b->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (fds[i] != FD_NONE)
            b->fds[b->count++] = fds[i];
        fds[i] = FD_NONE;
    }
    if (b->count == 0 || start(b) < 0)
        mem_free(b);
}

void closer_close_stream(int *fd)
{
    int unread = 0;
    if (*fd == FD_NONE)
        return;
    // From here on nothing more comes in. A peer's descriptors come with bytes of the stream.
    bool is_empty = shutdown(*fd, SHUT_RDWR) == 0 && ioctl(*fd, FIONREAD, &unread) == 0 && !unread;
    if (is_empty)
        fd_close(fd);
    else
        closer_close(fd, 1);
}
