// SPDX-License-Identifier: Apache-2.0
// loop -- see loop.h. A turn makes one system call: epoll_wait.
#include "event/loop.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"

#define BATCH_MAX 256

struct loop {
    int queue;
    bool stop;
    bool has_mail;
    uint64_t now_us;
    int64_t wall_us;

    // Events of this turn: those from batch_at on are still to be told.
    struct poll_event batch[BATCH_MAX];
    int batch_at, batch_count;

    struct list later;
    struct wheel wheel;

    // The mailbox. Who finds it empty wakes the loop; who comes after relies on that.
    pthread_mutex_t mail_lock;
    struct list mail;
    int wake_fd;
    struct loop_watch wake;
};

// The loop that takes a turn in this thread: only its thread may touch its batch.
static _Thread_local struct loop *turning;

static void read_clocks(struct loop *l)
{
    l->now_us = clock_mono_us();
    l->wall_us = clock_wall_us();
}

static void on_wake(struct loop_watch *w, unsigned ready)
{
    (void)ready;
    // The counter is never read: edge-triggered, each write is an event of its own.
    CONTAINER_OF(w, struct loop, wake)->has_mail = true;
}

// Milliseconds to wait in the kernel, rounded up so as not to wake before a timer is due.
static int wait_time_ms(struct loop *l, int wait_ms)
{
    if (!list_is_empty(&l->later))
        return 0;
    uint64_t next_us = wheel_next_us(&l->wheel);
    if (next_us == WHEEL_NEVER)
        return wait_ms;
    // Read again: callbacks may have taken long since the turn began.
    uint64_t now_us = clock_mono_us();
    if (next_us <= now_us)
        return 0;
    uint64_t ms = (next_us - now_us + 999) / 1000;
    int timer_ms = ms > INT_MAX ? INT_MAX : (int)ms;
    return wait_ms < 0 || timer_ms < wait_ms ? timer_ms : wait_ms;
}

static void call_watches(struct loop *l)
{
    while (l->batch_at < l->batch_count) {
        struct poll_event *ev = &l->batch[l->batch_at++];
        struct loop_watch *w = ev->tag;
        // NULL: stopped since. Of another loop: moved since.
        if (w && atomic_load_explicit(&w->loop, memory_order_acquire) == l)
            w->on_ready(w, ev->ready);
    }
}

static void call_timers(struct loop *l)
{
    struct list due;
    list_init(&due);
    wheel_expire(&l->wheel, l->now_us, &due);
    struct list_node *node;
    while ((node = list_pop_front(&due)) != NULL) {
        struct loop_timer *t = CONTAINER_OF(node, struct loop_timer, wheel.node);
        t->on_expired(t);
    }
}

// Runs what the list holds now, not what these add.
static void run_tasks(struct list *tasks)
{
    struct list due;
    struct list_node *node;
    list_init(&due);
    while ((node = list_pop_front(tasks)) != NULL)
        list_push_back(&due, node);
    while ((node = list_pop_front(&due)) != NULL) {
        struct loop_task *task = CONTAINER_OF(node, struct loop_task, node);
        task->run(task);
    }
}

static void take_mail(struct loop *l)
{
    struct list taken;
    struct list_node *node;
    list_init(&taken);
    l->has_mail = false;
    pthread_mutex_lock(&l->mail_lock);
    while ((node = list_pop_front(&l->mail)) != NULL)
        list_push_back(&taken, node);
    pthread_mutex_unlock(&l->mail_lock);
    run_tasks(&taken);
}

// Ends the watch without a word to the kernel.
static void forget(struct loop *l, struct loop_watch *w)
{
    atomic_store_explicit(&w->loop, NULL, memory_order_release);
    if (l != turning)
        return;
    for (int i = l->batch_at; i < l->batch_count; i++)
        if (l->batch[i].tag == w)
            l->batch[i].tag = NULL;
}

struct loop *loop_new(int *out_error)
{
    struct loop *l = mem_new(struct loop);
    read_clocks(l);
    wheel_init(&l->wheel, l->now_us);
    list_init(&l->later);
    list_init(&l->mail);
    l->wake.on_ready = on_wake;
    pthread_mutex_init(&l->mail_lock, NULL);
    l->wake_fd = FD_NONE;
    l->queue = poll_open();
    int rc = l->queue < 0 ? l->queue : 0;
    if (rc == 0) {
        l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        rc = l->wake_fd < 0 ? -errno : loop_watch_start(l, &l->wake, l->wake_fd, POLL_READ);
    }
    if (rc < 0) {
        loop_free(l);
        *out_error = rc;
        return NULL;
    }
    return l;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    ASSERT(wheel_next_us(&l->wheel) == WHEEL_NEVER && list_is_empty(&l->later)
           && list_is_empty(&l->mail));
    fd_close(&l->wake_fd);
    fd_close(&l->queue);
    pthread_mutex_destroy(&l->mail_lock);
    mem_free(l);
}

void loop_turn(struct loop *l, int wait_ms)
{
    ASSERT(!turning);
    int count = poll_wait(l->queue, l->batch, BATCH_MAX, wait_time_ms(l, wait_ms));
    ASSERT(count >= 0);
    read_clocks(l);
    turning = l;
    l->batch_at = 0;
    l->batch_count = count;
    call_watches(l);
    call_timers(l);
    if (l->has_mail)
        take_mail(l);
    run_tasks(&l->later);
    turning = NULL;
}

void loop_run(struct loop *l)
{
    l->stop = false;
    while (!l->stop)
        loop_turn(l, -1);
}

void loop_stop(struct loop *l)
{
    l->stop = true;
}

uint64_t loop_now_us(const struct loop *l)
{
    return l->now_us;
}

int64_t loop_wall_us(const struct loop *l)
{
    return l->wall_us;
}

int loop_watch_start(struct loop *l, struct loop_watch *w, int fd, unsigned interest)
{
    loop_watch_stop(w);
    // Set before the kernel knows of it: in another thread the first event may come at once.
    w->fd = fd;
    atomic_store_explicit(&w->loop, l, memory_order_release);
    int rc = poll_add(l->queue, fd, interest, w);
    if (rc < 0)
        atomic_store_explicit(&w->loop, NULL, memory_order_release);
    return rc;
}

void loop_watch_stop(struct loop_watch *w)
{
    struct loop *l = atomic_load_explicit(&w->loop, memory_order_acquire);
    if (!l)
        return;
    poll_del(l->queue, w->fd);
    forget(l, w);
}

void loop_watch_close(struct loop_watch *w)
{
    struct loop *l = atomic_load_explicit(&w->loop, memory_order_acquire);
    if (!l)
        return;
    forget(l, w);
    fd_close(&w->fd);
}

void loop_timer_start(struct loop *l, struct loop_timer *t, uint64_t after_us)
{
    uint64_t left_us = UINT64_MAX - l->now_us;
    wheel_start(&l->wheel, &t->wheel, l->now_us + (after_us < left_us ? after_us : left_us));
}

void loop_timer_stop(struct loop_timer *t)
{
    wheel_stop(&t->wheel);
}

bool loop_timer_is_armed(const struct loop_timer *t)
{
    return list_has(&t->wheel.node);
}

void loop_later(struct loop *l, struct loop_task *task)
{
    if (!list_has(&task->node))
        list_push_back(&l->later, &task->node);
}

void loop_later_cancel(struct loop_task *task)
{
    list_remove(&task->node);
}

void loop_post(struct loop *l, struct loop_task *task)
{
    pthread_mutex_lock(&l->mail_lock);
    bool was_empty = list_is_empty(&l->mail);
    list_push_back(&l->mail, &task->node);
    pthread_mutex_unlock(&l->mail_lock);
    if (!was_empty)
        return;
    uint64_t one = 1;
    ssize_t sent = fd_write(l->wake_fd, str_n((const char *)&one, sizeof one));
    ASSERT(sent == (ssize_t)sizeof one);
}
