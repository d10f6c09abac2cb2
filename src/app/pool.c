// SPDX-License-Identifier: Apache-2.0
// pool -- see pool.h. Here: the table of pools, the endpoint's calls, the inboxes and what the
// keeper reports. Decisions in time are in pool_look.c, the states of a worker in pool_worker.c.
#include "app/pool.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "app/pool_busy.h"
#include "app/pool_look.h"
#include "app/pool_restart.h"
#include "app/pool_room.h"
#include "app/pool_state.h"
#include "app/pool_worker.h"
#include "base/assert.h"
#include "base/mem.h"
#include "os/closer.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/random.h"
#include "wire/ipc.h"

// A worker's memory is measured after a time between these: less while it grows, more while not.
#define MEASURE_MIN_US 10000
#define MEASURE_MAX_US 1000000

static struct pool *pool_of(struct endpoint *ep)
{
    struct pool *p = CONTAINER_OF(ep, struct pool, endpoint);
    ASSERT(p->magic == POOL_MAGIC);
    return p;
}

static struct pool_worker *worker_of(struct slot *slot)
{
    struct pool_worker *w = CONTAINER_OF(slot, struct pool_worker, slot);
    ASSERT(w->magic == POOL_WORKER_MAGIC);
    return w;
}

// The worker used last is warm; better still one of the last few that this thread watches already.
static struct pool_worker *pick_idle(struct pool *p, const struct thread *t)
{
    struct pool_worker *best = NULL;
    unsigned seen = 0;
    list_foreach(&p->idle, struct pool_worker, idle, w) {
        if (!best)
            best = w;
        if (atomic_load_explicit(&w->slot.watch.loop, memory_order_relaxed) == t->loop)
            return w;
        if (++seen == POOL_TOP_COUNT)
            break;
    }
    return best;
}

// Tells whether a request that comes now can only be refused, and why.
static bool is_hopeless(const struct pool *p, const struct exchange *ex, uint64_t now_us,
                        enum endpoint_failure *out_failure)
{
    uint32_t coming = pool_state_usable(p) + p->counts[POOL_WORKER_STARTING];
    if (p->generation == 0)
        return false; // its settings are about to come
    *out_failure = ENDPOINT_QUEUE_FULL;
    if (p->queue.count >= p->set.queue_max && !pool_queue_excess(&p->queue, ex))
        return true;
    *out_failure = ENDPOINT_STOPPED;
    if ((!p->in_force || pool_state.orphaned) && coming == 0)
        return true;
    *out_failure = ENDPOINT_START_FAILED;
    return coming == 0 && p->failures >= POOL_FAILURES_MAX && now_us < p->retry_us;
}

// In a full queue the newest request of whoever has the most of them gives way.
static void enqueue(struct pool *p, struct ticket *t, uint64_t now_us)
{
    if (p->queue.count >= p->set.queue_max) {
        struct ticket *excess = pool_queue_excess(&p->queue, t->exchange);
        ASSERT(excess || p->generation == 0);
        if (excess)
            pool_state_fail(p, excess, ENDPOINT_QUEUE_FULL);
    }
    t->state = POOL_TICKET_QUEUED;
    t->queued_us = now_us;
    pool_queue_push(&p->queue, t);
    pool_look_queued(p, now_us);
}

// NULL when none is idle.
static struct pool_worker *take_idle(struct pool *p, struct thread *t)
{
    struct pool_worker *w = NULL;
    while (pool_busy_has_room(p) && (w = pick_idle(p, t)) != NULL) {
        ASSERT_DEBUG(p->queue.count == 0);
        pool_worker_take(w);
        if (pool_worker_own(w, t))
            return w;
    }
    return NULL;
}

// Lock held.
static void note_request(struct pool_worker *w, const struct ticket *t)
{
    pool_request_note(&w->request, t->exchange);
    w->has_request = true;
}

static struct slot *acquire(struct endpoint *ep, struct ticket *t)
{
    struct pool *p = pool_of(ep);
    struct thread *thread = t->exchange->thread;
    ASSERT(thread == pool_state_self());
    struct slot *slot = NULL;
    t->endpoint = ep;
    pool_state_lock();
    struct pool_worker *w = take_idle(p, thread);
    uint64_t now_us = pool_state_now_us();
    if (w) {
        slot = &w->slot;
        note_request(w, t);
    } else if (is_hopeless(p, t->exchange, now_us, &t->failure)) {
        pool_state_deliver(t, POOL_TICKET_FAILED);
    } else {
        enqueue(p, t, now_us);
    }
    pool_state_unlock();
    return slot;
}

static void cancel(struct endpoint *ep, struct ticket *t)
{
    struct pool *p = pool_of(ep);
    pool_state_lock();
    int state = t->state;
    if (state == POOL_TICKET_QUEUED)
        pool_queue_remove(&p->queue, t);
    else if (state != POOL_TICKET_NONE)
        list_remove(&t->node);
    if (state == POOL_TICKET_GRANTED) {
        pool_worker_offer(worker_of(t->slot));
        pool_busy_use_idle(p);
    }
    t->state = POOL_TICKET_NONE;
    pool_state_unlock();
}

static void give_back(struct pool_worker *w, enum slot_outcome outcome)
{
    struct pool *p = w->pool;
    uint64_t now_us = pool_state_now_us();
    p->used_us = now_us;
    atomic_store_explicit(&w->owner, NULL, memory_order_release);
    switch (outcome) {
    case SLOT_REUSE:
        if (w->slot.hangup || w->exited)
            pool_worker_part(w, POOL_WORKER_DETACHED, now_us + p->set.detached_us);
        else
            pool_worker_offer(w);
        break;
    case SLOT_DETACHED:
        pool_worker_detach(w, false, now_us + p->set.detached_us);
        break;
    case SLOT_AWAY:
        pool_worker_detach(w, true, now_us + p->set.detached_us);
        break;
    case SLOT_BROKEN:
        pool_worker_part(w, POOL_WORKER_RETIRING, now_us + p->set.request_us);
        break;
    case SLOT_CLOSED:
        pool_worker_closed(w);
        break;
    case SLOT_LEFT:
        w->runs_on = true;
        pool_worker_part(w, POOL_WORKER_RETIRING, now_us + w->slot.left_us);
        break;
    case SLOT_STUCK:
        if (p->traces && !w->exited)
            pool_state_order(POOL_ORDER_TRACE, p->endpoint.name, w->slot.worker_id);
        pool_worker_part(w, POOL_WORKER_RETIRING, now_us + (p->traces ? POOL_TRACE_US : 0));
        break;
    }
}

static uint64_t anon_kib_of(pid_t pid)
{
    return pool_state.link.anon_kib ? pool_state.link.anon_kib(pid) : proc_anon_kib(pid);
}

static void plan_measure(struct pool_worker *w, uint64_t own_kib)
{
    bool grows = own_kib > w->measured_kib + w->measured_kib / 8;
    uint64_t after_us = grows ? w->measure_after_us / 4 : w->measure_after_us * 2;
    if (after_us < MEASURE_MIN_US)
        after_us = MEASURE_MIN_US;
    w->measure_after_us = after_us < MEASURE_MAX_US ? after_us : MEASURE_MAX_US;
    w->measured_kib = own_kib;
}

// The worker's anonymous memory if a limit wants to know and it was not measured lately, else 0.
// The slot is still ours, and the lock is not held while a file is read.
static uint64_t measure(struct pool_worker *w)
{
    if (!atomic_load_explicit(&pool_state.measures, memory_order_relaxed))
        return 0;
    uint64_t now_us = pool_state_now_us();
    if (w->measured_us && now_us < w->measured_us + w->measure_after_us)
        return 0;
    w->measured_us = now_us;
    uint64_t anon_kib = anon_kib_of(w->slot.worker_pid);
    plan_measure(w, anon_kib > w->fork_kib ? anon_kib - w->fork_kib : 0);
    return anon_kib;
}

static void release(struct endpoint *ep, struct slot *slot, enum slot_outcome outcome)
{
    struct pool *p = pool_of(ep);
    struct pool_worker *w = worker_of(slot);
    ASSERT(slot->endpoint == ep && !slot->user && w->state == POOL_WORKER_BUSY);
    bool answered = outcome == SLOT_REUSE || outcome == SLOT_DETACHED || outcome == SLOT_AWAY;
    uint64_t anon_kib = answered ? measure(w) : 0;
    pool_state_lock();
    if (answered) {
        slot->served++;
        p->served++;
        pool_worker_judge(w, anon_kib);
    }
    give_back(w, outcome);
    pool_busy_use_idle(p);
    pool_state_unlock();
}

// Says what a failed ticket's exchange is to tell the operator. Lock held.
static size_t failure_text(const struct pool *p, enum endpoint_failure failure, char *room,
                           size_t size)
{
    const char *name = p->endpoint.name.ptr;
    int len = 0;
    switch (failure) {
    case ENDPOINT_QUEUE_FULL:
        len = snprintf(room, size, "The queue of app \"%s\" is full: %u requests wait (queue %u).",
                       name, p->queue.count, p->set.queue_max);
        break;
    case ENDPOINT_QUEUE_TIMEOUT:
        len = snprintf(room, size,
                       "The request waited for a worker of app \"%s\" for %llu ms (queue_time): "
                       "%u of %u workers (workers) are busy, %u other requests wait.%s%s%s",
                       name, (unsigned long long)(p->set.queue_us / 1000),
                       p->counts[POOL_WORKER_BUSY], p->set.workers_max, p->queue.count,
                       p->held_by ? " More are forbidden by " : "", p->held_by ? p->held_by : "",
                       p->held_by ? ", the limit of all apps." : "");
        break;
    case ENDPOINT_START_FAILED:
        len = snprintf(room, size,
                       "No worker of app \"%s\" could be started, %u tries have failed: %.*s", name,
                       p->failures, (int)p->failure_len, p->failure);
        break;
    case ENDPOINT_STOPPED:
        len = snprintf(room, size,
                       pool_state.orphaned
                           ? "The server has lost its keeper and ends; app \"%s\" has no "
                             "worker left."
                           : "App \"%s\" is not in the configuration any more.",
                       name);
        break;
    }
    ASSERT(len >= 0);
    return (size_t)len < size ? (size_t)len : size - 1;
}

static bool refuses(struct endpoint *ep, struct exchange *ex, enum endpoint_failure *out_failure,
                    struct str *out_text)
{
    struct pool *p = pool_of(ep);
    char text[POOL_FAILURE_BYTES + 256];
    size_t len = 0;
    pool_state_lock();
    bool has_slot = !list_is_empty(&p->idle) && pool_busy_has_room(p);
    bool refused = !has_slot && is_hopeless(p, ex, pool_state_now_us(), out_failure);
    if (refused)
        len = failure_text(p, *out_failure, text, sizeof text);
    pool_state_unlock();
    if (refused)
        *out_text = arena_dup(&ex->arena, str_n(text, len));
    return refused;
}

static bool is_wanted(struct endpoint *ep)
{
    pool_state_lock();
    const struct pool *p = pool_of(ep);
    bool wanted = p->queue.count > 0 || pool_room_is_wanted(p);
    pool_state_unlock();
    return wanted;
}

static const struct endpoint_ops OPS = {
    .refuses = refuses,
    .is_wanted = is_wanted,
    .acquire = acquire,
    .cancel = cancel,
    .release = release,
};

// What a ticket that has left the inbox has come to.
enum delivery { DELIVERY_SLOT, DELIVERY_FAILURE, DELIVERY_QUEUED };

// A worker that was granted but can't be watched leaves its ticket to wait for another one. Lock
// held.
static enum delivery open_ticket(struct ticket *t, struct thread *thread)
{
    bool is_granted = t->state == POOL_TICKET_GRANTED;
    t->state = POOL_TICKET_NONE;
    if (!is_granted)
        return DELIVERY_FAILURE;
    struct pool *p = pool_of(t->endpoint);
    uint64_t now_us = pool_state_now_us();
    if (pool_worker_own(worker_of(t->slot), thread)) {
        note_request(worker_of(t->slot), t);
        return DELIVERY_SLOT;
    }
    if (is_hopeless(p, t->exchange, now_us, &t->failure))
        return DELIVERY_FAILURE;
    enqueue(p, t, now_us);
    pool_busy_use_idle(p);
    return DELIVERY_QUEUED;
}

// Takes one ticket out; false when none is left.
static bool deliver_one(struct pool_inbox *inbox)
{
    char text[POOL_FAILURE_BYTES + 256];
    size_t text_len = 0;
    pool_state_lock();
    struct list_node *node = list_pop_front(&inbox->tickets);
    if (!node) {
        inbox->posted = false;
        pool_state_unlock();
        return false;
    }
    struct ticket *t = CONTAINER_OF(node, struct ticket, node);
    enum delivery delivery = open_ticket(t, inbox->thread);
    if (delivery == DELIVERY_FAILURE)
        text_len = failure_text(pool_of(t->endpoint), t->failure, text, sizeof text);
    pool_state_unlock();
    switch (delivery) {
    case DELIVERY_SLOT:
        t->on_slot(t, t->slot);
        break;
    case DELIVERY_FAILURE:
        t->on_failed(t, t->failure, str_n(text, text_len));
        break;
    case DELIVERY_QUEUED:
        break;
    }
    return true;
}

static void on_inbox(struct loop_task *task)
{
    struct pool_inbox *inbox = CONTAINER_OF(task, struct pool_inbox, task);
    while (deliver_one(inbox))
        ;
}

void pool_open(const struct pool_link *link, struct thread *control, unsigned thread_count)
{
    ASSERT(!pool_state.control);
    pool_state.link = *link;
    pool_state.control = control;
    pool_state.cpu_count = proc_cpu_count();
    list_init(&pool_state.all);
    list_init(&pool_state.free_workers);
    list_init(&pool_state.orders);
    pool_state.inboxes = mem_array(thread_count, sizeof *pool_state.inboxes);
    pool_state.inbox_count = thread_count;
    for (unsigned i = 0; i < thread_count; i++) {
        list_init(&pool_state.inboxes[i].tickets);
        pool_state.inboxes[i].task.run = on_inbox;
    }
    // The keeper may still have workers of a server before this one.
    pool_state.next_id = (uint32_t)random_u64();
    pool_state.look_us = POOL_NEVER;
    pool_look_open();
}

void pool_thread_start(struct thread *t)
{
    pool_state_lock();
    ASSERT(t->index < pool_state.inbox_count && !pool_state.inboxes[t->index].thread);
    pool_state.inboxes[t->index].thread = t;
    pool_state_unlock();
    pool_state_set_self(t);
}

static void free_nodes(struct list *l, size_t offset)
{
    struct list_node *node;
    while ((node = list_pop_front(l)) != NULL)
        mem_free((char *)node - offset);
}

void pool_close(void)
{
    loop_timer_stop(&pool_state.look_timer);
    loop_later_cancel(&pool_state.look_task);
    list_foreach(&pool_state.all, struct pool, node, p) {
        list_foreach(&p->workers, struct pool_worker, node, w)
            pool_worker_free(w);
        pool_state_free(p);
    }
    loop_later_cancel(&pool_state.look_task);
    for (unsigned i = 0; i < pool_state.inbox_count; i++)
        loop_later_cancel(&pool_state.inboxes[i].task);
    free_nodes(&pool_state.free_workers, offsetof(struct pool_worker, node));
    free_nodes(&pool_state.orders, offsetof(struct pool_order, node));
    map_done(&pool_state.by_name);
    mem_free(pool_state.inboxes);
    pool_state.inboxes = NULL;
    pool_state.inbox_count = 0;
    pool_state.control = NULL;
    pool_state.look_posted = false;
    pool_state.orphaned = false;
}

struct pool *pool_ref(struct str name)
{
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, name);
    if (!p) {
        p = mem_alloc(sizeof *p + name.len + 1);
        char *copy = (char *)(p + 1);
        memcpy(copy, name.ptr, name.len);
        p->magic = POOL_MAGIC;
        p->endpoint = (struct endpoint){.name = {copy, name.len}, .ops = &OPS};
        pool_queue_init(&p->queue);
        list_init(&p->idle);
        list_init(&p->workers);
        list_push_back(&pool_state.all, &p->node);
        map_put(&pool_state.by_name, p->endpoint.name, p);
    }
    p->refs++;
    pool_state_unlock();
    return p;
}

void pool_unref(struct pool *p)
{
    pool_state_lock();
    ASSERT(p->magic == POOL_MAGIC && p->refs > 0);
    if (--p->refs == 0 && !p->in_force)
        pool_state_due(0);
    pool_state_unlock();
}

struct endpoint *pool_endpoint(struct pool *p)
{
    return &p->endpoint;
}

struct restart_file *pool_restart_file(struct pool *p)
{
    return &p->restart_file;
}

struct spool_quota *pool_spool(struct pool *p)
{
    return &p->spool;
}

static void set_in_force(struct pool *p, const struct pool_settings *set)
{
    bool changed = p->generation == 0 || p->set.digest != set->digest;
    p->set = *set;
    p->set.name = p->endpoint.name;
    p->in_force = true;
    if (changed) {
        p->generation = ++p->generations;
        p->restart_us = 0;
        p->failures = 0;
        p->retry_us = 0;
    }
}

void pool_commit(const struct pool_settings *settings, size_t count,
                 const struct pool_limits *limits)
{
    bool measures = limits->memory_max_bytes > 0;
    pool_state_lock();
    pool_state.limits = *limits;
    list_foreach(&pool_state.all, struct pool, node, p)
        p->in_force = false;
    for (size_t i = 0; i < count; i++) {
        struct pool *p = map_find(&pool_state.by_name, settings[i].name);
        ASSERT(p && p->refs > 0);
        set_in_force(p, &settings[i]);
        measures = measures || settings[i].memory_max_bytes;
    }
    list_foreach(&pool_state.all, struct pool, node, p) {
        pool_busy_use_idle(p); // more of them may be busy now
        if (!p->in_force)
            pool_restart_removed(p);
    }
    atomic_store_explicit(&pool_state.measures, measures, memory_order_relaxed);
    pool_state_due(0);
    pool_state_unlock();
}

// The worker, lock held; NULL, lock not held, when there is none.
static struct pool_worker *lock_worker(struct str app, uint32_t id)
{
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, app);
    struct pool_worker *w = p ? pool_worker_find(p, id) : NULL;
    if (!w)
        pool_state_unlock();
    return w;
}

// Finds the worker's place on the scoreboard, and what it shares with its spawner, as it says
// there. Places are given lowest first; one that has none yet shares nothing.
static void find_place(struct pool_worker *w)
{
    const struct pool *p = w->pool;
    uint32_t places = 2 * pool_state_alive(p) + POOL_BOARD_SPARE;
    struct scoreboard_record record;
    for (uint32_t i = 0; p->board && i < places && i < SCOREBOARD_RECORDS_MAX; i++) {
        if (!scoreboard_get(p->board, i, &record) || record.worker_id != w->slot.worker_id
            || record.pid != (uint32_t)w->slot.worker_pid)
            continue;
        w->place = i;
        w->fork_kib = record.anon_kib_at_fork;
        return;
    }
}

// Notes a start that came to nothing; the next one waits longer each time. Control thread, lock
// held.
static void count_failure(struct pool *p, const struct pool_worker *w, struct str text)
{
    size_t cut = text.len > POOL_FAILURE_BYTES ? text.len - POOL_FAILURE_BYTES : 0;
    struct str kept = str_skip(text, cut); // the last words tell most
    memcpy(p->failure, kept.ptr, kept.len);
    p->failure_len = kept.len;
    p->failed_us = pool_state_now_us();
    uint64_t wait_us = POOL_BACKOFF_MIN_US << (p->failures < 7 ? p->failures : 7);
    if (wait_us > POOL_BACKOFF_MAX_US)
        wait_us = POOL_BACKOFF_MAX_US;
    p->failures++;
    metrics_add(&pool_state.control->metrics, workers_failed, 1);
    p->retry_us = p->failed_us + wait_us;
    if (w->generation == p->generation)
        pool_restart_failed(p);
}

// Watches the connection of a worker that says that it is ready. False: it is let go, and counts as
// one that could not be started. Lock held.
static bool watch_new(struct pool_worker *w, int32_t pid, int fd)
{
    w->slot.fd = fd;
    w->slot.worker_pid = pid;
    struct loop *loop = pool_state.control->loop;
    int rc = fd_set_nonblock(fd, true);
    if (rc == 0)
        rc = loop_watch_start(loop, &w->slot.watch, fd, POLL_READ | POLL_WRITE);
    if (rc == 0)
        return true;
    char text[128];
    int len =
        snprintf(text, sizeof text, "its connection cannot be used: %s", strerrordesc_np(-rc));
    ASSERT(len > 0);
    struct pool *p = w->pool;
    count_failure(p, w, str_n(text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1));
    pool_worker_part(w, POOL_WORKER_RETIRING, pool_state_now_us() + p->set.stop_us);
    pool_state_due(0);
    return false;
}

void pool_ready(struct str app, uint32_t id, int32_t pid, int fd)
{
    struct pool_worker *w = lock_worker(app, id);
    if (!w || w->state != POOL_WORKER_STARTING) {
        closer_close_stream(&fd);
        if (w)
            pool_state_unlock();
        return;
    }
    if (!watch_new(w, pid, fd)) {
        pool_state_unlock();
        return;
    }
    struct pool *p = w->pool;
    uint64_t took_us = pool_state_now_us() - w->since_us;
    p->start_us = p->start_us ? (3 * p->start_us + took_us) / 4 : took_us;
    p->failures = 0;
    p->retry_us = 0;
    p->used_us = pool_state_now_us();
    if (w->generation == p->generation) {
        p->proved = p->generation;
        pool_restart_proved(p);
    }
    find_place(w);
    bool replaces = w->replaces;
    pool_worker_offer(w);
    if (replaces || p->counts[POOL_WORKER_RESTING])
        pool_worker_replace(p);
    pool_state_due(0); // old ones may retire, others may be started
    pool_state_unlock();
}

void pool_failed(struct str app, uint32_t id, struct str text)
{
    struct pool_worker *w = lock_worker(app, id);
    if (!w)
        return;
    ASSERT(w->state == POOL_WORKER_STARTING);
    count_failure(w->pool, w, text);
    pool_worker_free(w);
    pool_state_unlock();
}

// Its last bytes may still stand in the socket, and are read; the end comes behind them even if a
// child of the worker has inherited the connection. Lock held.
static void end_conversation(struct pool_worker *w)
{
    w->exited = true;
    (void)shutdown(w->slot.fd, SHUT_RDWR); // fails when it is closed at the other end
}

enum pool_exit pool_exited(struct str app, uint32_t id, int status, struct pool_end *out)
{
    struct pool_worker *w = lock_worker(app, id);
    if (!w)
        return POOL_EXIT_UNKNOWN;
    enum pool_worker_state state = w->state;
    *out = (struct pool_end){
        .pid = w->slot.worker_pid,
        .answered = state == POOL_WORKER_DETACHED || w->comes_back,
    };
    if (w->has_request)
        out->request = w->request;
    bool parted = state == POOL_WORKER_RETIRING || state == POOL_WORKER_DETACHED;
    // Over a request no end is a good one; but how it takes our SIGTERM is its own affair.
    bool has_closed = w->closing == POOL_WORKER_CLOSED || w->closing == POOL_WORKER_ENDING;
    bool over_request = has_closed && !w->comes_back;
    bool good = parted && !over_request && (status == 0 || status == IPC_STATUS_UNKNOWN);
    bool wanted = w->killed || w->closing == POOL_WORKER_TERMED || good;
    if (state == POOL_WORKER_BUSY)
        end_conversation(w);
    else
        pool_worker_free(w);
    if (!wanted)
        metrics_add(&pool_state.control->metrics, workers_died, 1);
    pool_state_unlock();
    return wanted ? POOL_EXIT_WANTED : POOL_EXIT_UNEXPECTED;
}

void pool_orphan(void)
{
    pool_state_lock();
    pool_state.orphaned = true;
    list_foreach(&pool_state.all, struct pool, node, p)
        list_foreach(&p->workers, struct pool_worker, node, w)
            if (w->state == POOL_WORKER_STARTING)
                pool_worker_free(w);
    pool_state_due(0);
    pool_state_unlock();
}

void pool_board(struct str app, const struct scoreboard_record *board)
{
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, app);
    if (p)
        p->board = board;
    pool_state_unlock();
}

void pool_info(struct str app, struct str json)
{
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, app);
    if (p && json.len <= POOL_INFO_BYTES_MAX) {
        mem_free(p->info);
        p->info = mem_alloc(json.len + 1);
        memcpy(p->info, json.ptr, json.len);
        p->traces = strstr(p->info, "\"godwit-php\"") != NULL;
    }
    pool_state_unlock();
}
