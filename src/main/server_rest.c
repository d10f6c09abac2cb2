// SPDX-License-Identifier: Apache-2.0
// server_rest -- see server_rest.h.
//
// The heap keeps what was freed between pieces that are still used: after a peak, ten times of what
// a server at rest needs. Looking for it takes some milliseconds, which nobody notices when it is
// quiet.
#include "main/server_rest.h"

#include "base/mem.h"
#include "core/exchange.h"

#define LOOK_US        2000000
#define QUIET_REQUESTS 20 // at most, between two looks

static struct {
    struct server_threads *threads;
    struct loop_timer timer;
    int64_t requests; // at the last look
    bool rests;       // nothing has come since memory was given back
} rest;

static int64_t count_requests(void)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < rest.threads->count; i++)
        sum += atomic_load_explicit(&rest.threads->items[i].metrics.requests, memory_order_relaxed);
    return sum;
}

static void rest_thread(struct thread *t, void *arg)
{
    (void)arg;
    exchange_rest(t);
    thread_rest(t);
}

static void on_rested(void *arg)
{
    (void)arg;
    mem_trim();
}

static void on_look(struct loop_timer *timer)
{
    int64_t requests = count_requests();
    int64_t came = requests - rest.requests;
    rest.requests = requests;
    loop_timer_start(rest.threads->items[0].loop, timer, LOOK_US);
    if (came > QUIET_REQUESTS) {
        rest.rests = false;
    } else if (!rest.rests) {
        rest.rests = true;
        server_threads_each(rest.threads, rest_thread, NULL);
        server_threads_after(rest.threads, on_rested, NULL);
    }
}

void server_rest_open(struct server_threads *threads)
{
    rest.threads = threads;
    rest.timer.on_expired = on_look;
    loop_timer_start(threads->items[0].loop, &rest.timer, LOOK_US);
}

void server_rest_close(void)
{
    loop_timer_stop(&rest.timer);
}
