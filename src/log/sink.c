// SPDX-License-Identifier: Apache-2.0
// sink -- see sink.h.
//
// One lock guards all sinks and is never held over a system call on their descriptors. A line costs
// its copy: the writer thread sleeps a while after the first one, so that many go in one write, and
// is woken early only when a ring fills or somebody waits.
#include "log/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "base/list.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/quiet_thread.h"

#define GATHER_US   20000                 // how long a line may wait for company
#define HURRY_BYTES (SINK_RING_BYTES / 4) // beyond it the writer does not wait
#define FLUSH_US    2000000

// A descriptor to go over to when all up to `at_bytes` is written.
struct swap {
    struct list_node node;
    int fd;
    uint64_t at_bytes;
};

struct sink {
    int fd;
    bool is_file;    // never blocks for a reader
    bool is_writing; // the writer uses fd and the ring's front without the lock
    size_t start, used;
    uint64_t queued_bytes, written_bytes; // since the beginning
    uint64_t dropped;
    int error;       // why the last line was dropped: -errno of a write, 0 when the ring was full
    bool is_failing; // the last write failed
    struct list swaps;
    struct list_node dirty; // in writer.dirty while there is work
    char ring[SINK_RING_BYTES];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work; // for the writer
    pthread_cond_t done; // for those who flush and free
    struct list dirty;
    bool is_started, is_idle, hurry;
} writer = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
    .dirty = {{&writer.dirty.head, &writer.dirty.head}},
};

static void set_fd(struct sink *s, int fd)
{
    struct stat st;
    s->fd = fd;
    s->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

// Waits on `cond` at most until `deadline_us`; false when that has come. Lock held.
static bool wait_until(pthread_cond_t *cond, uint64_t deadline_us)
{
    struct timespec ts = {.tv_sec = (time_t)(deadline_us / 1000000),
                          .tv_nsec = (long)(deadline_us % 1000000) * 1000};
    return pthread_cond_clockwait(cond, &writer.lock, CLOCK_MONOTONIC, &ts) != ETIMEDOUT;
}

// The queued bytes up to `max`, in at most two pieces. Lock held.
static size_t front_of(const struct sink *s, size_t max, struct iovec out[2])
{
    size_t len = s->used < max ? s->used : max;
    size_t first = SINK_RING_BYTES - s->start < len ? SINK_RING_BYTES - s->start : len;
    char *ring = (char *)(uintptr_t)s->ring; // iov_base has no const
    out[0] = (struct iovec){ring + s->start, first};
    out[1] = (struct iovec){ring, len - first};
    return len;
}

static uint64_t count_lines(const struct iovec pieces[2])
{
    uint64_t lines = 0;
    for (int i = 0; i < 2; i++) {
        const char *text = pieces[i].iov_base;
        for (size_t at = 0; at < pieces[i].iov_len; at++)
            lines += text[at] == '\n';
    }
    return lines;
}

// Writes without blocking, whatever the descriptor's mode: a pipe or terminal that polls ready
// takes PIPE_BUF bytes. 0: no room now.
static ssize_t write_some(int fd, bool is_file, const struct iovec pieces[2])
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (!is_file && poll(&ready, 1, 0) <= 0)
        return 0;
    ssize_t sent = writev(fd, pieces, 2);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return sent < 0 ? -errno : sent;
}

static void take(struct sink *s, size_t len)
{
    s->used -= len;
    // An empty ring starts over, so that a quiet sink touches only its first pages.
    s->start = s->used == 0 ? 0 : (s->start + len) % SINK_RING_BYTES;
    s->written_bytes += len;
    pthread_cond_broadcast(&writer.done);
}

// Lock held, given up for the close.
static void swap_now(struct sink *s, struct swap *swap)
{
    int old = s->fd;
    list_remove(&swap->node);
    set_fd(s, swap->fd);
    pthread_mutex_unlock(&writer.lock);
    fd_close(&old);
    mem_free(swap);
    pthread_mutex_lock(&writer.lock);
}

// Writes what the sink holds now, as far as the descriptor takes it. Lock held, given up meanwhile.
static void drain(struct sink *s)
{
    uint64_t end_bytes = s->queued_bytes;
    s->is_writing = true;
    while (s->written_bytes < end_bytes || !list_is_empty(&s->swaps)) {
        struct list_node *node = list_first(&s->swaps);
        struct swap *swap = node ? CONTAINER_OF(node, struct swap, node) : NULL;
        if (swap && swap->at_bytes == s->written_bytes) {
            swap_now(s, swap);
            continue;
        }
        size_t max = swap ? (size_t)(swap->at_bytes - s->written_bytes) : s->used;
        if (!s->is_file && max > PIPE_BUF)
            max = PIPE_BUF;
        struct iovec pieces[2];
        size_t len = front_of(s, max, pieces);
        int fd = s->fd;
        bool is_file = s->is_file;
        pthread_mutex_unlock(&writer.lock);
        ssize_t sent = write_some(fd, is_file, pieces);
        pthread_mutex_lock(&writer.lock);
        if (sent == 0)
            break;
        s->is_failing = sent < 0;
        if (sent < 0) {
            s->dropped += count_lines(pieces);
            s->error = (int)sent;
        }
        take(s, sent < 0 ? len : (size_t)sent);
    }
    s->is_writing = false;
    pthread_cond_broadcast(&writer.done);
}

static bool has_work(const struct sink *s)
{
    return s->used > 0 || !list_is_empty(&s->swaps);
}

static void *run_writer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&writer.lock);
    for (;;) {
        writer.is_idle = true;
        while (list_is_empty(&writer.dirty))
            pthread_cond_wait(&writer.work, &writer.lock);
        writer.is_idle = false;
        uint64_t deadline_us = clock_mono_us() + GATHER_US;
        while (!writer.hurry && wait_until(&writer.work, deadline_us))
            ;
        writer.hurry = false;
        struct list_node mark = {NULL, NULL};
        list_push_back(&writer.dirty, &mark);
        struct list_node *node;
        while ((node = list_pop_front(&writer.dirty)) != NULL && node != &mark) {
            struct sink *s = CONTAINER_OF(node, struct sink, dirty);
            drain(s);
            if (has_work(s) && !list_has(&s->dirty))
                list_push_back(&writer.dirty, &s->dirty);
        }
    }
    return NULL;
}

// Starts the writer unless it runs; tried again with the next line when the system refuses. Lock
// held.
static void start_writer(void)
{
    if (writer.is_started)
        return;
    pthread_t thread;
    if (quiet_thread_start(&thread, 0, run_writer, NULL) < 0)
        return;
    pthread_detach(thread);
    writer.is_started = true;
}

// Lock held.
static void mark_dirty(struct sink *s, bool hurry)
{
    start_writer();
    if (!list_has(&s->dirty) && !s->is_writing)
        list_push_back(&writer.dirty, &s->dirty);
    bool wake = writer.is_idle || (hurry && !writer.hurry);
    writer.is_idle = false;
    writer.hurry |= hurry;
    if (wake)
        pthread_cond_signal(&writer.work);
}

static void put(struct sink *s, const char *bytes, size_t len)
{
    size_t end = (s->start + s->used) % SINK_RING_BYTES;
    size_t first = SINK_RING_BYTES - end < len ? SINK_RING_BYTES - end : len;
    memcpy(s->ring + end, bytes, first);
    if (len > first)
        memcpy(s->ring, bytes + first, len - first);
    s->used += len;
    s->queued_bytes += len;
}

struct sink *sink_new(int fd)
{
    struct sink *s = mem_new(struct sink);
    list_init(&s->swaps);
    set_fd(s, fd);
    pthread_mutex_lock(&writer.lock);
    start_writer();
    pthread_mutex_unlock(&writer.lock);
    return s;
}

bool sink_write(struct sink *s, struct str line)
{
    pthread_mutex_lock(&writer.lock);
    bool fits = line.len < SINK_RING_BYTES - s->used;
    if (fits) {
        put(s, line.ptr, line.len);
        put(s, "\n", 1);
        mark_dirty(s, s->used > HURRY_BYTES);
    } else {
        s->dropped++;
        if (!s->is_failing)
            s->error = 0;
    }
    pthread_mutex_unlock(&writer.lock);
    return fits;
}

void sink_swap(struct sink *s, int fd)
{
    struct swap *swap = mem_new(struct swap);
    swap->fd = fd;
    pthread_mutex_lock(&writer.lock);
    swap->at_bytes = s->queued_bytes;
    list_push_back(&s->swaps, &swap->node);
    mark_dirty(s, true);
    pthread_mutex_unlock(&writer.lock);
}

uint64_t sink_dropped(const struct sink *s)
{
    pthread_mutex_lock(&writer.lock);
    uint64_t dropped = s->dropped;
    pthread_mutex_unlock(&writer.lock);
    return dropped;
}

struct sink_losses sink_losses(const struct sink *s)
{
    pthread_mutex_lock(&writer.lock);
    struct sink_losses losses = {s->dropped, s->error, s->is_failing};
    pthread_mutex_unlock(&writer.lock);
    return losses;
}

void sink_flush(struct sink *s)
{
    uint64_t deadline_us = clock_mono_us() + FLUSH_US;
    pthread_mutex_lock(&writer.lock);
    uint64_t end_bytes = s->queued_bytes;
    if (has_work(s))
        mark_dirty(s, true);
    while (s->written_bytes < end_bytes && wait_until(&writer.done, deadline_us))
        ;
    pthread_mutex_unlock(&writer.lock);
}

void sink_free(struct sink *s)
{
    if (!s)
        return;
    sink_flush(s);
    pthread_mutex_lock(&writer.lock);
    while (s->is_writing)
        pthread_cond_wait(&writer.done, &writer.lock);
    list_remove(&s->dirty);
    pthread_mutex_unlock(&writer.lock);
    struct list_node *node;
    while ((node = list_pop_front(&s->swaps)) != NULL) {
        struct swap *swap = CONTAINER_OF(node, struct swap, node);
        fd_close(&swap->fd);
        mem_free(swap);
    }
    fd_close(&s->fd);
    mem_free(s);
}
