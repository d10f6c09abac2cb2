// SPDX-License-Identifier: Apache-2.0
// server_threads -- see server_threads.h.
#include "main/server_threads.h"

#include <pthread.h>
#include <stdatomic.h>

#include "app/pool.h"
#include "base/assert.h"
#include "base/mem.h"
#include "event/jobs.h"

#define JOB_THREADS 4 // for what can block; they are started when there is something to do

STATIC_ASSERT(sizeof(pthread_t) == sizeof(unsigned long));

// One call on its way to a thread; freed there.
struct call {
    struct loop_task task;
    struct thread *thread;
    server_threads_fn *fn;
    void *arg;
};

static void *run(void *arg)
{
    struct thread *t = arg;
    pool_thread_start(t);
    loop_run(t->loop);
    return NULL;
}

int server_threads_open(struct server_threads *s, struct loop *loop, unsigned count)
{
    int rc = 0;
    s->jobs = jobs_new(JOB_THREADS);
    s->items = mem_array(count, sizeof *s->items);
    s->ids = mem_array(count, sizeof *s->ids);
    thread_init(&s->items[0], 0, loop, s->jobs);
    for (unsigned i = 1; i < count; i++) {
        loop = loop_new(&rc);
        if (!loop)
            return rc;
        thread_init(&s->items[i], i, loop, s->jobs);
    }
    s->count = count;
    return 0;
}

int server_threads_run(struct server_threads *s)
{
    s->is_running = true;
    for (unsigned i = 1; i < s->count; i++) {
        int rc = pthread_create(&s->ids[i], NULL, run, &s->items[i]);
        if (rc != 0) {
            s->count = i;
            return -rc;
        }
    }
    return 0;
}

static void on_call(struct loop_task *task)
{
    struct call *call = CONTAINER_OF(task, struct call, task);
    call->fn(call->thread, call->arg);
    mem_free(call);
}

// Nobody reads the mail of a thread that has not been started.
static unsigned running(const struct server_threads *s)
{
    return s->is_running || s->count == 0 ? s->count : 1;
}

void server_threads_each(struct server_threads *s, server_threads_fn *fn, void *arg)
{
    unsigned count = running(s);
    if (count > 0)
        fn(&s->items[0], arg);
    for (unsigned i = 1; i < count; i++) {
        struct call *call = mem_new(struct call);
        *call = (struct call){{.run = on_call}, &s->items[i], fn, arg};
        loop_post(s->items[i].loop, &call->task);
    }
}

// One wait for all threads; freed when it is over.
struct rendezvous {
    struct loop_task task;
    struct loop *control;
    atomic_uint missing;
    void (*fn)(void *arg);
    void *arg;
};

static void on_all_there(struct loop_task *task)
{
    struct rendezvous *r = CONTAINER_OF(task, struct rendezvous, task);
    r->fn(r->arg);
    mem_free(r);
}

static void arrive(struct thread *t, void *arg)
{
    struct rendezvous *r = arg;
    if (atomic_fetch_sub(&r->missing, 1) != 1)
        return;
    if (t->loop == r->control)
        on_all_there(&r->task);
    else
        loop_post(r->control, &r->task);
}

void server_threads_after(struct server_threads *s, void (*fn)(void *arg), void *arg)
{
    if (s->count == 0) {
        fn(arg);
        return;
    }
    struct rendezvous *r = mem_new(struct rendezvous);
    *r = (struct rendezvous){{.run = on_all_there}, s->items[0].loop, running(s), fn, arg};
    server_threads_each(s, arrive, r);
}

static void stop(struct thread *t, void *arg)
{
    (void)arg;
    loop_stop(t->loop);
}

static void note(void *arg)
{
    *(bool *)arg = true;
}

// Waits until each thread has done what was posted to it.
static void settle(struct server_threads *s)
{
    bool is_settled = false;
    server_threads_after(s, note, &is_settled);
    while (!is_settled)
        loop_turn(s->items[0].loop, -1);
}

void server_threads_close(struct server_threads *s)
{
    if (!s->is_running)
        return;
    settle(s); // what was posted before, such as the end of all connections
    settle(s); // what was on its way from one thread to another then
    server_threads_each(s, stop, NULL);
    for (unsigned i = 1; i < s->count; i++)
        pthread_join(s->ids[i], NULL);
}
