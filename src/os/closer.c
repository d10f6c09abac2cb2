// SPDX-License-Identifier: Apache-2.0
// closer -- see closer.h.
//
// A thread for each batch, not one for all: a user can make a close last for ever, and would hold
// those of the others. Where none can be had the batch waits for the next call.
//
// The threads neither allocate nor free: the first to do so in a thread costs it an arena. What
// they are done with is freed by the next call.
#include "os/closer.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/quiet_thread.h"

// What run needs many times over. Thread-local memory of the libraries is in it, too: where that is
// larger (sanitizers), and the system says so, the stack gets the usual size.
#define STACK_BYTES ((size_t)256 * 1024)

struct batch {
    struct list_node node; // waiting or done
    size_t count;
    int fds[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the lists
static struct list waiting = {{&waiting.head, &waiting.head}};
static struct list done = {{&done.head, &done.head}};

static void *run(void *arg)
{
    struct batch *b = arg;
    // Sockets of TCP need not wait for a peer that is nobody's here. Not possible: does not matter.
    struct linger linger = {0};
    for (size_t i = 0; i < b->count; i++)
        (void)setsockopt(b->fds[i], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    for (size_t i = 0; i < b->count; i++)
        fd_close(&b->fds[i]);
    pthread_mutex_lock(&lock);
    list_push_back(&done, &b->node);
    pthread_mutex_unlock(&lock);
    return NULL;
}

// False: there is no thread to be had.
static bool start(struct batch *b)
{
    pthread_t thread;
    if (quiet_thread_start(&thread, STACK_BYTES, run, b) < 0)
        return false;
    pthread_detach(thread);
    return true;
}

static void free_done(void)
{
    struct list_node *node;
    while ((node = list_pop_front(&done)) != NULL)
        mem_free(CONTAINER_OF(node, struct batch, node));
}

void closer_close(int *fds, size_t count)
{
    struct batch *b = mem_alloc(sizeof *b + count * sizeof *fds);
    b->node = (struct list_node){0};
    b->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (fds[i] != FD_NONE)
            b->fds[b->count++] = fds[i];
        fds[i] = FD_NONE;
    }
    pthread_mutex_lock(&lock);
    free_done();
    list_push_back(b->count ? &waiting : &done, &b->node);
    struct list_node *node;
    while ((node = list_pop_front(&waiting)) != NULL) {
        if (start(CONTAINER_OF(node, struct batch, node)))
            continue;
        list_push_front(&waiting, node);
        break;
    }
    pthread_mutex_unlock(&lock);
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
