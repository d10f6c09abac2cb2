// SPDX-License-Identifier: Apache-2.0
// pool_state -- see pool_state.h: the lock, orders to the keeper, and how tickets reach their
// thread.
#include "app/pool_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/clock.h"

struct pools pool_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct thread *self;

void pool_state_lock(void)
{
    pthread_mutex_lock(&pool_state.lock);
}

void pool_state_unlock(void)
{
    pthread_mutex_unlock(&pool_state.lock);
}

struct thread *pool_state_self(void)
{
    return self;
}

void pool_state_set_self(struct thread *t)
{
    self = t;
}

uint64_t pool_state_now_us(void)
{
    return pool_state.link.now_us ? pool_state.link.now_us() : clock_mono_us();
}

// The lock of the loop's mailbox is taken under ours; nothing is taken under that one.
static void run_on(struct thread *t, struct loop_task *task)
{
    if (t == self)
        loop_later(t->loop, task);
    else
        loop_post(t->loop, task);
}

void pool_state_due(uint64_t at_us)
{
    if (at_us >= pool_state.look_us || pool_state.look_posted || pool_state.looking)
        return;
    pool_state.look_posted = true;
    run_on(pool_state.control, &pool_state.look_task);
}

static struct pool_order *order_new(enum pool_order_type type, struct str app, uint32_t worker_id)
{
    struct pool_order *order = mem_alloc(sizeof *order + app.len);
    char *name = (char *)(order + 1);
    memcpy(name, app.ptr, app.len);
    *order = (struct pool_order){.type = type, .worker_id = worker_id, .app = {name, app.len}};
    list_push_back(&pool_state.orders, &order->node);
    pool_state_due(0);
    return order;
}

void pool_state_order(enum pool_order_type type, struct str app, uint32_t worker_id)
{
    (void)order_new(type, app, worker_id);
}

void pool_state_term(const struct pool_worker *w)
{
    struct pool_order *order =
        order_new(POOL_ORDER_TERM, w->pool->endpoint.name, w->slot.worker_id);
    order->pid = w->slot.worker_pid;
    order->answered = w->comes_back;
}

static struct pool_order *order_text(enum pool_order_type type, struct str app, struct str text)
{
    struct pool_order *order = mem_alloc(sizeof *order + app.len + text.len);
    char *room = (char *)(order + 1);
    memcpy(room, app.ptr, app.len);
    if (text.len)
        memcpy(room + app.len, text.ptr, text.len);
    *order = (struct pool_order){
        .type = type,
        .app = {room, app.len},
        .text = {room + app.len, text.len},
    };
    list_push_back(&pool_state.orders, &order->node);
    pool_state_due(0);
    return order;
}

void pool_state_tell(const struct pool *p, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ASSERT(len >= 0);
    size_t text_len = (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    (void)order_text(POOL_ORDER_TELL, p->endpoint.name, str_n(text, text_len));
}

void pool_state_timeout(const struct pool_worker *w)
{
    const struct pool *p = w->pool;
    char request[POOL_REQUEST_TEXT_BYTES];
    char text[sizeof request + 256];
    int len = snprintf(text, sizeof text,
                       "Worker %d, whose client is gone, has used up request_time (%llu ms) and "
                       "is killed. It had request %s.",
                       (int)w->slot.worker_pid, (unsigned long long)(p->set.request_us / 1000),
                       pool_request_text(&w->request, request));
    ASSERT(len >= 0 && (size_t)len < sizeof text);
    (void)order_text(POOL_ORDER_TIMEOUT, p->endpoint.name, str_n(text, (size_t)len));
}

void pool_state_closed(const struct pool *p, int32_t pid, bool termed)
{
    char text[128];
    int len = snprintf(text, sizeof text,
                       "worker %d, which closed its connection, %s within %d ms and is killed",
                       (int)pid, termed ? "did not end by SIGTERM" : "began to end, is not gone",
                       POOL_TERM_US / 1000);
    ASSERT(len >= 0 && (size_t)len < sizeof text);
    (void)order_text(POOL_ORDER_CLOSED, p->endpoint.name, str_n(text, (size_t)len));
}

void pool_state_restarted(const struct pool *p, enum pool_restarted how, struct str text)
{
    order_text(POOL_ORDER_RESTARTED, p->endpoint.name, text)->restarted = how;
}

void pool_state_deliver(struct ticket *t, int state)
{
    struct thread *thread = t->exchange->thread;
    ASSERT(thread->index < pool_state.inbox_count);
    struct pool_inbox *inbox = &pool_state.inboxes[thread->index];
    ASSERT(inbox->thread == thread);
    t->state = state;
    list_push_back(&inbox->tickets, &t->node);
    if (inbox->posted)
        return;
    inbox->posted = true;
    run_on(thread, &inbox->task);
}

void pool_state_fail(struct pool *p, struct ticket *t, enum endpoint_failure failure)
{
    ASSERT(t->state == POOL_TICKET_QUEUED);
    pool_queue_remove(&p->queue, t);
    t->failure = failure;
    pool_state_deliver(t, POOL_TICKET_FAILED);
}

uint32_t pool_state_alive(const struct pool *p)
{
    uint32_t alive = 0;
    for (size_t i = 0; i < POOL_WORKER_STATES; i++)
        alive += p->counts[i];
    return alive;
}

uint32_t pool_state_usable(const struct pool *p)
{
    return p->counts[POOL_WORKER_IDLE] + p->counts[POOL_WORKER_BUSY] - p->leaving;
}

void pool_state_free(struct pool *p)
{
    ASSERT(list_is_empty(&p->workers));
    pool_queue_done(&p->queue);
    map_remove(&pool_state.by_name, p->endpoint.name);
    list_remove(&p->node);
    p->magic = 0;
    mem_free(p->info);
    mem_free(p);
}
