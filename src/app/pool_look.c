// SPDX-License-Identifier: Apache-2.0
// pool_look -- see pool_look.h. A look visits all pools under the lock, then sends what it decided.
#include "app/pool_look.h"

#include <signal.h>
#include <stdio.h>

#include "app/pool_busy.h"
#include "app/pool_restart.h"
#include "app/pool_room.h"
#include "app/pool_state.h"
#include "app/pool_worker.h"
#include "base/assert.h"
#include "base/mem.h"
#include "log/log.h"

#define PACE_MAX_US 1000000 // a start is decided after this wait at the latest

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t coming(const struct pool *p)
{
    return pool_state_usable(p) + p->counts[POOL_WORKER_STARTING];
}

// When the queue justifies a start. While some worker serves, requests must have waited for as long
// as a start takes: a short burst is served by those that are there. They need not be the same
// ones: a queue that moves on steadily may still be too long.
static uint64_t start_time_of(const struct pool *p, const struct ticket *head)
{
    if (coming(p) == 0)
        return 0;
    uint64_t since_us = p->pressed_us ? earlier(head->queued_us, p->pressed_us) : head->queued_us;
    return since_us + earlier(p->start_us, PACE_MAX_US);
}

static bool has_room(const struct pool *p)
{
    return pool_state_alive(p) < p->set.workers_max
           && p->counts[POOL_WORKER_STARTING] < POOL_STARTS_AT_ONCE;
}

static uint32_t more_of_use(const struct pool *p)
{
    uint32_t max = pool_busy_max(p);
    return max > coming(p) ? max - coming(p) : 0;
}

void pool_look_queued(struct pool *p, uint64_t now_us)
{
    if (!p->pressed_us)
        p->pressed_us = now_us;
    if (p->queue.count == 1) {
        p->held_by = NULL; // of a queue before this one
        pool_state_due(now_us + p->set.queue_us);
    }
    pool_state_due(pool_busy_queued(p, now_us));
    const struct ticket *head = pool_queue_oldest(&p->queue);
    if (head && has_room(p) && more_of_use(p) && p->queue.count > p->counts[POOL_WORKER_STARTING])
        pool_state_due(start_time_of(p, head));
}

static uint64_t expire_waits(struct pool *p, uint64_t now_us)
{
    struct ticket *t;
    while ((t = pool_queue_oldest(&p->queue)) && t->queued_us + p->set.queue_us <= now_us)
        pool_state_fail(p, t, ENDPOINT_QUEUE_TIMEOUT);
    return t ? t->queued_us + p->set.queue_us : POOL_NEVER;
}

// One whose client has gone: as with a 504, it says first where it is. Tells when it is killed.
static uint64_t end_time_of(struct pool *p, struct pool_worker *w, uint64_t now_us)
{
    w->runs_on = false;
    metrics_add(&pool_state.control->metrics, request_timeouts, 1);
    pool_state_timeout(w);
    if (!p->traces)
        return now_us;
    pool_state_order(POOL_ORDER_TRACE, p->endpoint.name, w->slot.worker_id);
    return now_us + POOL_TRACE_US;
}

// One that closed its connection where it may not, and has had the time to end. Tells when it is
// killed.
static uint64_t end_closed(struct pool_worker *w, uint64_t now_us)
{
    w->closing = POOL_WORKER_ENDING;
    pool_state_term(w);
    return now_us + POOL_TERM_US;
}

static uint64_t kill_overdue(struct pool *p, uint64_t now_us)
{
    uint64_t next_us = POOL_NEVER;
    list_foreach(&p->workers, struct pool_worker, node, w) {
        if (w->kill_us <= now_us && w->runs_on)
            w->kill_us = end_time_of(p, w, now_us);
        if (w->kill_us <= now_us && w->closing == POOL_WORKER_CLOSED)
            w->kill_us = end_closed(w, now_us);
        if (w->kill_us <= now_us) {
            if (w->closing != POOL_WORKER_NOT_CLOSED)
                pool_state_closed(p, w->slot.worker_pid, w->closing == POOL_WORKER_TERMED);
            w->kill_us = POOL_NEVER;
            w->killed = true;
            pool_state_order(POOL_ORDER_KILL, p->endpoint.name, w->slot.worker_id);
        }
        next_us = earlier(next_us, w->kill_us);
    }
    return next_us;
}

static bool is_surplus(const struct pool *p, const struct pool_worker *w, uint64_t now_us)
{
    if (!p->in_force || (w->generation != p->generation && p->proved == p->generation))
        return true;
    // Those that start are not counted: they have not proved yet that they can serve.
    if (pool_state_usable(p) > p->set.workers_max)
        return true;
    return pool_state_usable(p) > p->set.workers_min && w->since_us + p->set.idle_us <= now_us;
}

static uint64_t retire_idle(struct pool *p, uint64_t now_us)
{
    uint64_t next_us = POOL_NEVER;
    struct list_node *node = p->idle.head.prev; // longest idle
    while (node != &p->idle.head) {
        struct pool_worker *w = CONTAINER_OF(node, struct pool_worker, idle);
        node = node->prev;
        if (is_surplus(p, w, now_us)) {
            pool_worker_part(w, POOL_WORKER_RETIRING, now_us + p->set.stop_us);
            next_us = earlier(next_us, now_us + p->set.stop_us);
        } else if (pool_state_usable(p) > p->set.workers_min) {
            next_us = earlier(next_us, w->since_us + p->set.idle_us);
        }
    }
    return next_us;
}

// A changed app proves with one worker that it starts, before the old ones go. Without old ones the
// next request tells, unless somebody waits for the outcome of a restart.
static bool needs_proof(const struct pool *p)
{
    if (p->proved == p->generation)
        return false;
    if (pool_state_usable(p) == 0 && p->restart != POOL_RESTART_PROVING)
        return false;
    list_foreach(&p->workers, struct pool_worker, node, w)
        if (w->generation == p->generation && w->state == POOL_WORKER_STARTING)
            return false;
    return true;
}

// How many starts the queue and the minimum justify now; *next_us: when to ask again.
static uint32_t wanted_starts(struct pool *p, uint64_t now_us, uint64_t *next_us)
{
    uint32_t starting = p->counts[POOL_WORKER_STARTING];
    uint32_t wanted = 0;
    if (coming(p) < p->set.workers_min)
        wanted = p->set.workers_min - coming(p);
    // More than may be busy at once would be of no use.
    uint32_t room = more_of_use(p);
    uint32_t queued = p->queue.count > starting ? p->queue.count - starting : 0;
    queued = queued < room ? queued : room;
    const struct ticket *head = pool_queue_oldest(&p->queue);
    if (head && queued) {
        uint64_t at_us = start_time_of(p, head);
        if (at_us > now_us) {
            *next_us = earlier(*next_us, at_us);
        } else {
            wanted = queued > wanted ? queued : wanted;
            p->pressed_us =
                now_us; // whether there is room or not: it is asked again that much later
        }
    }
    // After a failure one try at a time.
    if (p->failures && wanted)
        wanted = starting ? 0 : 1;
    return wanted;
}

// How many there may be above the maximum, for worn ones that serve on meanwhile. More than one
// only where no limit of all apps is in the way.
static uint32_t spare_of(const struct pool *p)
{
    uint32_t spare = p->set.workers_max / POOL_SPARE_PART;
    if (!spare || pool_state.limits.workers_max || pool_state.limits.memory_max_bytes)
        return 1;
    return spare < POOL_STARTS_AT_ONCE ? spare : POOL_STARTS_AT_ONCE;
}

// A worn worker goes when the one that was started for it is ready. Tells whether one more may be
// started.
static bool needs_replacement(const struct pool *p)
{
    uint32_t spare = spare_of(p);
    if (!p->worn || p->proved != p->generation || pool_state_alive(p) >= p->set.workers_max + spare
        || p->counts[POOL_WORKER_STARTING] > POOL_STARTS_AT_ONCE)
        return false;
    uint32_t on_the_way = p->leaving;
    list_foreach(&p->workers, struct pool_worker, node, w)
        on_the_way += w->replaces && w->state == POOL_WORKER_STARTING;
    return on_the_way < spare && on_the_way < p->worn;
}

// One that rests serves again when nobody else will. Tells when to look again.
static uint64_t end_rest(struct pool *p, uint64_t now_us)
{
    if (!p->counts[POOL_WORKER_RESTING])
        return POOL_NEVER;
    if (pool_worker_can_be_replaced(p))
        return now_us + POOL_EXIT_US;
    list_foreach(&p->workers, struct pool_worker, node, w)
        if (w->state == POOL_WORKER_RESTING)
            pool_worker_offer(w);
    return POOL_NEVER;
}

static uint64_t start_workers(struct pool *p, uint64_t now_us)
{
    bool may_start = p->in_force && !pool_state.orphaned && pool_restart_step(p);
    uint64_t next_us = end_rest(p, now_us);
    if (!may_start)
        return next_us;
    bool proof = needs_proof(p);
    uint32_t wanted = wanted_starts(p, now_us, &next_us);
    if (!proof && !wanted && !p->worn)
        return next_us;
    if (p->retry_us > now_us)
        return earlier(next_us, p->retry_us);
    if (proof && pool_state_alive(p) <= p->set.workers_max
        && p->counts[POOL_WORKER_STARTING] <= POOL_STARTS_AT_ONCE) {
        (void)pool_worker_start(p);
        wanted -= wanted ? 1 : 0;
    }
    while (needs_replacement(p))
        pool_worker_start(p)->replaces = true;
    for (; wanted && has_room(p) && pool_room_for(p, now_us); wanted--)
        (void)pool_worker_start(p);
    return next_us;
}

static void refuse_hopeless(struct pool *p)
{
    bool stopped = !p->in_force || pool_state.orphaned;
    if (coming(p) > 0 || (!stopped && p->failures < POOL_FAILURES_MAX))
        return;
    struct ticket *t;
    while ((t = pool_queue_oldest(&p->queue)))
        pool_state_fail(p, t, stopped ? ENDPOINT_STOPPED : ENDPOINT_START_FAILED);
}

static uint64_t let_spawner_go(struct pool *p, uint64_t now_us)
{
    if (!p->may_have_spawner || !p->in_force || !list_is_empty(&p->workers) || p->queue.count > 0)
        return POOL_NEVER;
    uint64_t at_us = p->used_us + p->set.idle_us;
    if (at_us > now_us)
        return at_us;
    p->may_have_spawner = false;
    pool_state_order(POOL_ORDER_APP_IDLE, p->endpoint.name, 0);
    return POOL_NEVER;
}

// Does what is due for one pool; returns when to look again. The pool may be freed.
static uint64_t look_at(struct pool *p, uint64_t now_us)
{
    if (p->generation == 0) {
        if (p->refs == 0 && p->queue.count == 0)
            pool_state_free(p);
        return POOL_NEVER;
    }
    uint64_t next_us = expire_waits(p, now_us);
    next_us = earlier(next_us, kill_overdue(p, now_us));
    next_us = earlier(next_us, retire_idle(p, now_us));
    next_us = earlier(next_us, start_workers(p, now_us));
    refuse_hopeless(p);
    next_us = earlier(next_us, pool_busy_look(p, now_us));
    next_us = earlier(next_us, p->restart_us ? p->restart_us : POOL_NEVER);
    next_us = earlier(next_us, let_spawner_go(p, now_us));
    if (!p->in_force && p->refs == 0 && list_is_empty(&p->workers) && p->queue.count == 0)
        pool_state_free(p);
    return next_us;
}

// What comes of a restart that has failed.
static const char *restart_goes_on(enum pool_restarted how)
{
    switch (how) {
    case POOL_RESTARTED_STAY:
        return "the old ones stay, and it is tried again within 10 s";
    case POOL_RESTARTED_OLD_CODE:
        return "there are no old ones, requests start them as before, and it is tried again within "
               "10 s";
    case POOL_RESTARTED_LATER:
        return "there are no old ones, and the next request tries again";
    case POOL_RESTARTED_WELL:
    case POOL_RESTARTED_REMOVED:
        break;
    }
    ASSERT(!"reached");
    return "";
}

STATIC_ASSERT(POOL_BACKOFF_MAX_US == 10000000); // as the texts say

static void tell_restarted(const struct pool_order *order, const char *scope)
{
    const struct pool_link *link = &pool_state.link;
    if (order->restarted == POOL_RESTARTED_WELL)
        log_info(scope, "app.restarted", "a new worker is ready; the old ones leave");
    else if (order->restarted == POOL_RESTARTED_REMOVED)
        log_warn(scope, "app.restart_failed", "%.*s", STR_ARG(order->text));
    else
        log_error(scope, "app.restart_failed", "a new worker could not be started, %s: %.*s",
                  restart_goes_on(order->restarted), STR_ARG(order->text));
    if (link->restarted)
        link->restarted(link->arg, order->app, order->restarted == POOL_RESTARTED_WELL,
                        order->text);
}

static void note_termed(const struct pool_order *order, bool killed)
{
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, order->app);
    struct pool_worker *w = p ? pool_worker_find(p, order->worker_id) : NULL;
    if (w) {
        w->closing = POOL_WORKER_TERMED;
        w->killed = killed;
        w->kill_us = killed ? POOL_NEVER : w->kill_us;
    }
    pool_state_unlock();
}

// Its end may be on its way from the keeper. One that ignores SIGTERM would only hold its place for
// longer.
static void term_closed(const struct pool_order *order, const char *scope)
{
    const struct pool_link *link = &pool_state.link;
    enum proc_life life = link->life ? link->life(order->pid) : proc_life(order->pid);
    if (life == PROC_ENDS)
        return;
    bool is_deaf =
        link->ignores ? link->ignores(order->pid, SIGTERM) : proc_ignores(order->pid, SIGTERM);
    log_warn(scope, "worker.closed", "worker %d has closed its connection %s and has not ended: %s",
             (int)order->pid,
             order->answered ? "while it went on after its answer" : "over a request",
             is_deaf ? "it ignores SIGTERM and is killed" : "SIGTERM is sent");
    note_termed(order, is_deaf);
    link->signal(link->arg, order->worker_id, is_deaf ? SIGKILL : SIGTERM);
}

static void carry_out(const struct pool_order *order)
{
    const struct pool_link *link = &pool_state.link;
    char scope[128];
    (void)snprintf(scope, sizeof scope, "app %.*s", STR_ARG(order->app));
    switch (order->type) {
    case POOL_ORDER_START:
        link->start(link->arg, order->app, order->worker_id);
        break;
    case POOL_ORDER_KILL:
        link->signal(link->arg, order->worker_id, SIGKILL);
        break;
    case POOL_ORDER_TERM:
        term_closed(order, scope);
        break;
    case POOL_ORDER_TRACE:
        link->signal(link->arg, order->worker_id, SIGUSR2);
        break;
    case POOL_ORDER_APP_IDLE:
        link->app_idle(link->arg, order->app);
        break;
    case POOL_ORDER_RENEW:
        if (link->renew)
            link->renew(link->arg, order->app);
        break;
    case POOL_ORDER_TELL:
        log_info(scope, "worker.recycled", "%.*s", STR_ARG(order->text));
        break;
    case POOL_ORDER_CLOSED:
        log_warn(scope, "worker.closed", "%.*s", STR_ARG(order->text));
        break;
    case POOL_ORDER_TIMEOUT:
        log_warn(scope, "backend.timeout", "%.*s", STR_ARG(order->text));
        break;
    case POOL_ORDER_RESTARTED:
        tell_restarted(order, scope);
        break;
    }
}

// The orders were given under the lock; they leave without it, in that order: only here.
static void send_orders(void)
{
    for (;;) {
        pool_state_lock();
        struct list_node *node = list_pop_front(&pool_state.orders);
        pool_state_unlock();
        if (!node)
            return;
        struct pool_order *order = CONTAINER_OF(node, struct pool_order, node);
        carry_out(order);
        mem_free(order);
    }
}

void pool_look(void)
{
    pool_state_lock();
    uint64_t now_us = pool_state_now_us();
    uint64_t next_us = POOL_NEVER;
    pool_state.looking = true;
    list_foreach(&pool_state.all, struct pool, node, p)
        p->gives_up = 0;
    list_foreach(&pool_state.all, struct pool, node, p)
        next_us = earlier(next_us, look_at(p, now_us));
    pool_room_keep(now_us);
    pool_state.looking = false;
    pool_state.look_us = next_us;
    struct loop *loop = pool_state.control->loop;
    if (next_us == POOL_NEVER)
        loop_timer_stop(&pool_state.look_timer);
    else
        loop_timer_start(loop, &pool_state.look_timer, next_us > now_us ? next_us - now_us : 0);
    pool_state_unlock();
    pool_busy_measure();
    send_orders();
}

static void on_task(struct loop_task *task)
{
    (void)task;
    pool_state_lock();
    pool_state.look_posted = false;
    pool_state_unlock();
    pool_look();
}

static void on_timer(struct loop_timer *timer)
{
    (void)timer;
    pool_look();
}

void pool_look_open(void)
{
    pool_state.look_task.run = on_task;
    pool_state.look_timer.on_expired = on_timer;
}
