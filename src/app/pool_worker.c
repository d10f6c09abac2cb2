// SPDX-License-Identifier: Apache-2.0
// pool_worker -- see pool_worker.h; the states are drawn in pool_state.h.
#include "app/pool_worker.h"

#include <errno.h>
#include <sys/socket.h>

#include "app/pool_busy.h"
#include "app/pool_room.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/wr.h"
#include "os/closer.h"
#include "os/fd.h"
#include "os/random.h"
#include "wire/lsapi.h"

static void set_state(struct pool_worker *w, enum pool_worker_state state)
{
    struct pool *p = w->pool;
    ASSERT(p->counts[w->state] > 0);
    p->counts[w->state]--;
    p->counts[state]++;
    w->state = state;
    w->since_us = pool_state_now_us();
    if (state == POOL_WORKER_IDLE)
        w->has_request = false;
}

static void leave_idle(struct pool_worker *w)
{
    list_remove(&w->idle);
}

// Looks at a connection without a request on which something has happened. End of file, a farewell
// or noise: the connection is of no use; whether the process lives is for its exit to tell.
static void look_at_idle(struct pool_worker *w)
{
    char byte;
    ssize_t count = recv(w->slot.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    pool_worker_part(w, POOL_WORKER_DETACHED, pool_state_now_us() + w->pool->set.detached_us);
}

static bool is_received(struct str bytes)
{
    char room[LSAPI_HEAD_BYTES];
    struct wr w = {.ptr = room, .size = sizeof room};
    lsapi_put_packet(&w, LSAPI_REQ_RECEIVED, 0);
    return str_eq(bytes, wr_view(&w));
}

// One that went on working says REQ_RECEIVED when it is done, and nothing else, or closes.
static void look_at_detached(struct pool_worker *w)
{
    char packet[2 * LSAPI_HEAD_BYTES];
    ssize_t count = recv(w->slot.fd, packet, sizeof packet, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (w->killed) {
        pool_worker_part(w, POOL_WORKER_DETACHED, w->kill_us);
        return;
    }
    if (count <= 0) {
        if (w->comes_back)
            pool_worker_closed(w);
        else
            pool_worker_part(w, POOL_WORKER_DETACHED, w->kill_us);
        return;
    }
    if (!is_received(str_n(packet, (size_t)count))) {
        pool_state_tell(w->pool, "worker %d is let go: it says what it may not between requests",
                        (int)w->slot.worker_pid);
        pool_worker_part(w, POOL_WORKER_RETIRING, pool_state_now_us() + w->pool->set.stop_us);
        return;
    }
    w->kill_us = POOL_NEVER;
    pool_worker_offer(w);
}

static void on_watch(struct loop_watch *watch, unsigned ready)
{
    struct slot *slot = CONTAINER_OF(watch, struct slot, watch);
    struct pool_worker *w = CONTAINER_OF(slot, struct pool_worker, slot);
    struct thread *owner = atomic_load_explicit(&w->owner, memory_order_acquire);
    if (owner && owner == pool_state_self()) {
        if (slot->on_ready)
            slot->on_ready(slot, ready);
        return;
    }
    // Idle; or taken by another thread since this event was fetched: then it sees its own.
    pool_state_lock();
    ASSERT(w->magic == POOL_WORKER_MAGIC);
    if (w->state == POOL_WORKER_IDLE || w->state == POOL_WORKER_RESTING)
        look_at_idle(w);
    else if (w->state == POOL_WORKER_DETACHED && w->slot.fd != FD_NONE)
        look_at_detached(w);
    pool_state_unlock();
}

struct pool_worker *pool_worker_start(struct pool *p)
{
    struct list_node *node = list_pop_front(&pool_state.free_workers);
    struct pool_worker *w =
        node ? CONTAINER_OF(node, struct pool_worker, node) : mem_new(struct pool_worker);
    // Field by field: a loop may look at the watch at any time.
    w->magic = POOL_WORKER_MAGIC;
    w->pool = p;
    w->state = POOL_WORKER_STARTING;
    w->generation = p->generation;
    w->request.id[0] = '\0';
    w->has_request = w->exited = w->killed = w->runs_on = w->comes_back = w->departs = false;
    w->closing = POOL_WORKER_NOT_CLOSED;
    w->since_us = pool_state_now_us();
    w->kill_us = POOL_NEVER;
    w->requests_max = p->set.requests_max;
    uint64_t tenth = w->requests_max / 10;
    if (tenth) // not all at the same moment
        w->requests_max += random_u64() % (2 * tenth + 1) - tenth;
    w->requests_end = w->requests_max + tenth;
    w->worn = w->replaces = w->leaves = false;
    w->fork_kib = w->own_kib = 0;
    w->measured_us = w->measure_after_us = w->measured_kib = 0;
    w->place = 0;
    w->facts = (struct pool_busy_facts){0};
    w->slot.fd = FD_NONE;
    w->slot.watch.on_ready = on_watch;
    w->slot.endpoint = &p->endpoint;
    w->slot.worker_id = pool_state.next_id++;
    w->slot.worker_pid = 0;
    w->slot.served = 0;
    w->slot.user = NULL;
    w->slot.on_ready = NULL;
    list_push_back(&p->workers, &w->node);
    p->counts[POOL_WORKER_STARTING]++;
    p->may_have_spawner = true;
    pool_state_order(POOL_ORDER_START, p->endpoint.name, w->slot.worker_id);
    metrics_add(&pool_state.control->metrics, workers_started, 1);
    // Until it is measured it counts like the last one that was: a limit of memory that several new
    // ones pass unseen is none.
    pool_room_count(w, p->typical_kib);
    return w;
}

struct pool_worker *pool_worker_find(struct pool *p, uint32_t id)
{
    list_foreach(&p->workers, struct pool_worker, node, w)
        if (w->slot.worker_id == id)
            return w;
    return NULL;
}

static void close_slot(struct pool_worker *w)
{
    ASSERT(!w->slot.user);
    atomic_store_explicit(&w->owner, NULL, memory_order_release);
    loop_watch_stop(&w->slot.watch);
    closer_close_stream(&w->slot.fd);
}

static void forget_wear(struct pool_worker *w)
{
    w->pool->worn -= w->worn ? 1 : 0;
    w->pool->leaving -= w->leaves ? 1 : 0;
    w->worn = w->leaves = false;
}

void pool_worker_part(struct pool_worker *w, enum pool_worker_state state, uint64_t kill_us)
{
    ASSERT(state == POOL_WORKER_DETACHED || state == POOL_WORKER_RETIRING);
    leave_idle(w);
    close_slot(w);
    forget_wear(w);
    if (w->exited) {
        pool_worker_free(w);
        return;
    }
    set_state(w, state);
    w->kill_us = kill_us;
    // Who waits may need another one now.
    pool_state_due(w->pool->queue.count ? 0 : kill_us);
}

void pool_worker_closed(struct pool_worker *w)
{
    w->closing = POOL_WORKER_CLOSED;
    pool_worker_part(w, POOL_WORKER_RETIRING, pool_state_now_us() + POOL_CLOSED_US);
}

// Tells whether the worker is to leave rather than serve on.
static bool is_done(const struct pool_worker *w)
{
    const struct pool *p = w->pool;
    if (w->generation != p->generation && p->proved == p->generation)
        return true;
    if (!p->in_force && p->queue.count == 0)
        return true;
    return w->leaves || w->departs;
}

void pool_worker_detach(struct pool_worker *w, bool comes_back, uint64_t kill_us)
{
    ASSERT(w->state == POOL_WORKER_BUSY && !w->slot.user);
    w->comes_back = comes_back;
    w->departs = w->worn || is_done(w);
    if (w->exited || (!comes_back && (w->slot.hangup || w->departs))) {
        pool_worker_part(w, POOL_WORKER_DETACHED, kill_us);
        return;
    }
    forget_wear(w);
    set_state(w, POOL_WORKER_DETACHED);
    w->kill_us = kill_us;
    pool_state_due(w->pool->queue.count ? 0 : kill_us);
    look_at_detached(w); // what came before is no event any more
}

static void wear(struct pool_worker *w)
{
    w->worn = true;
    w->pool->worn++;
    metrics_add(&pool_state_self()->metrics, workers_recycled, 1);
    pool_state_due(0);
}

void pool_worker_judge(struct pool_worker *w, uint64_t anon_kib)
{
    struct pool *p = w->pool;
    if (anon_kib) {
        p->typical_kib = anon_kib > w->fork_kib ? anon_kib - w->fork_kib : 0;
        pool_room_count(w, p->typical_kib);
    }
    if (w->worn)
        return;
    uint64_t max_kib = p->set.memory_max_bytes / 1024;
    if (max_kib && anon_kib && w->own_kib > max_kib) {
        pool_state_tell(p,
                        "worker %d is replaced: it has %llu KiB of its own, more than memory (%llu "
                        "KiB), after %llu requests",
                        (int)w->slot.worker_pid, (unsigned long long)w->own_kib,
                        (unsigned long long)max_kib, (unsigned long long)w->slot.served);
        wear(w);
    } else if (w->requests_max && w->slot.served >= w->requests_max) {
        wear(w);
    }
}

void pool_worker_replace(struct pool *p)
{
    struct pool_worker *busy = NULL;
    list_foreach(&p->workers, struct pool_worker, node, w) {
        if (!w->worn || w->leaves)
            continue;
        if (w->state == POOL_WORKER_RESTING
            || (w->state == POOL_WORKER_IDLE && !p->counts[POOL_WORKER_RESTING])) {
            pool_worker_part(w, POOL_WORKER_RETIRING, pool_state_now_us() + p->set.stop_us);
            return;
        }
        if (w->state == POOL_WORKER_BUSY && !busy)
            busy = w;
    }
    if (!busy)
        return;
    busy->leaves = true;
    p->leaving++;
}

// Those that are just about to make room.
static uint32_t exiting(const struct pool *p)
{
    uint64_t now_us = pool_state_now_us();
    uint32_t count = 0;
    list_foreach(&p->workers, struct pool_worker, node, w)
        count += w->state == POOL_WORKER_RETIRING && now_us < w->since_us + POOL_EXIT_US;
    return count;
}

bool pool_worker_can_be_replaced(const struct pool *p)
{
    if (!p->in_force || pool_state.orphaned || p->failures || p->proved != p->generation)
        return false;
    return p->counts[POOL_WORKER_STARTING] || pool_state_alive(p) <= p->set.workers_max
           || pool_state_alive(p) - exiting(p) <= p->set.workers_max;
}

// It has had all the requests that it may have. The last one stays, in case that none can be
// started.
static void hold_back(struct pool_worker *w)
{
    struct pool *p = w->pool;
    uint32_t others = p->counts[POOL_WORKER_RESTING] + pool_state_usable(p);
    others -= w->state == POOL_WORKER_BUSY ? 1 : 0;
    if (others)
        pool_worker_part(w, POOL_WORKER_RETIRING, pool_state_now_us() + p->set.stop_us);
    else
        set_state(w, POOL_WORKER_RESTING);
    pool_state_due(0);
}

void pool_worker_offer(struct pool_worker *w)
{
    struct pool *p = w->pool;
    ASSERT(w->state == POOL_WORKER_STARTING || w->state == POOL_WORKER_BUSY
           || w->state == POOL_WORKER_DETACHED || w->state == POOL_WORKER_RESTING);
    if (is_done(w) || p->gives_up) {
        p->gives_up -= p->gives_up ? 1 : 0;
        pool_worker_part(w, POOL_WORKER_RETIRING, pool_state_now_us() + p->set.stop_us);
        pool_state_due(0);
        return;
    }
    bool is_spent = w->requests_end && w->slot.served >= w->requests_end;
    if (is_spent && w->state != POOL_WORKER_RESTING && pool_worker_can_be_replaced(p)) {
        hold_back(w);
        return;
    }
    // One that comes from its request is counted as busy itself.
    bool may = w->state == POOL_WORKER_BUSY ? p->counts[POOL_WORKER_BUSY] <= pool_busy_max(p)
                                            : pool_busy_has_room(p);
    struct ticket *t = may ? pool_queue_pop(&p->queue) : NULL;
    if (!t || w->state != POOL_WORKER_BUSY)
        p->pressed_us = 0;
    if (t) {
        pool_worker_take(w);
        t->slot = &w->slot;
        pool_state_deliver(t, POOL_TICKET_GRANTED);
        return;
    }
    set_state(w, POOL_WORKER_IDLE);
    list_push_front(&p->idle, &w->idle);
    pool_state_due(pool_room_is_exceeded() ? w->since_us : w->since_us + p->set.idle_us);
}

void pool_worker_take(struct pool_worker *w)
{
    leave_idle(w);
    set_state(w, POOL_WORKER_BUSY);
    w->slot.readable = w->slot.hangup = w->comes_back = false;
    w->slot.user = NULL;
    w->slot.on_ready = NULL;
}

bool pool_worker_own(struct pool_worker *w, struct thread *t)
{
    ASSERT(w->state == POOL_WORKER_BUSY);
    atomic_store_explicit(&w->owner, t, memory_order_release);
    if (atomic_load_explicit(&w->slot.watch.loop, memory_order_relaxed) == t->loop)
        return true;
    int rc = loop_watch_start(t->loop, &w->slot.watch, w->slot.fd, POLL_READ | POLL_WRITE);
    if (rc == 0)
        return true;
    // Without readiness the request would hang.
    pool_worker_part(w, POOL_WORKER_RETIRING, pool_state_now_us() + w->pool->set.stop_us);
    pool_state_tell(w->pool, "worker %d cannot be watched and is let go: %s",
                    (int)w->slot.worker_pid, strerrordesc_np(-rc));
    return false;
}

void pool_worker_free(struct pool_worker *w)
{
    leave_idle(w);
    if (w->slot.fd != FD_NONE)
        close_slot(w);
    forget_wear(w);
    pool_room_count(w, 0);
    struct pool *p = w->pool;
    ASSERT(p->counts[w->state] > 0);
    p->counts[w->state]--;
    list_remove(&w->node);
    w->state = POOL_WORKER_STARTING; // not IDLE: on_watch may come late
    w->pool = NULL;
    list_push_back(&pool_state.free_workers, &w->node);
    pool_state_due(0);
}
