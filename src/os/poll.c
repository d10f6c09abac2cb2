// SPDX-License-Identifier: Apache-2.0
// poll -- see poll.h.
#include "os/poll.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#define EVENTS_MAX 256 // taken from the kernel at once

static uint32_t mask_of(unsigned interest)
{
    // EPOLLEXCLUSIVE forbids EPOLLRDHUP, and a listener has no use for it. Level-triggered, so that
    // a thread may leave connections in the queue to others.
    if (interest & POLL_SHARED)
        return EPOLLIN | EPOLLEXCLUSIVE;
    uint32_t mask = EPOLLET | EPOLLRDHUP;
    if (interest & POLL_READ)
        mask |= EPOLLIN;
    if (interest & POLL_WRITE)
        mask |= EPOLLOUT;
    return mask;
}

static unsigned ready_of(uint32_t mask)
{
    unsigned ready = 0;
    if (mask & EPOLLIN)
        ready |= POLL_READ;
    if (mask & EPOLLOUT)
        ready |= POLL_WRITE;
    if (mask & EPOLLRDHUP)
        ready |= POLL_READ | POLL_HANGUP;
    // An error shows in the next read or write, so both are worth trying.
    if (mask & (EPOLLHUP | EPOLLERR))
        ready |= POLL_READ | POLL_WRITE | POLL_HANGUP | POLL_BROKEN;
    return ready;
}

int poll_open(void)
{
    int queue = epoll_create1(EPOLL_CLOEXEC);
    return queue < 0 ? -errno : queue;
}

int poll_add(int queue, int fd, unsigned interest, void *tag)
{
    struct epoll_event ev = {.events = mask_of(interest), .data.ptr = tag};
    return epoll_ctl(queue, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int poll_del(int queue, int fd)
{
    return epoll_ctl(queue, EPOLL_CTL_DEL, fd, NULL) < 0 ? -errno : 0;
}

int poll_wait(int queue, struct poll_event *events, int count, int timeout_ms)
{
    struct epoll_event found[EVENTS_MAX];
    int n = epoll_wait(queue, found, count < EVENTS_MAX ? count : EVENTS_MAX, timeout_ms);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++)
        events[i] = (struct poll_event){found[i].data.ptr, ready_of(found[i].events)};
    return n;
}
