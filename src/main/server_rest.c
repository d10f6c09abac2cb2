// SPDX-License-Identifier: Apache-2.0
// server_rest -- see server_rest.h.
//
// The heap keeps what was freed between pieces that are still used: after a peak, ten times of what
// a server at rest needs. Looking for it takes some milliseconds, which nobody notices when it is
// quiet.
#include "main/server_rest.h"

#include "base/mem.h"
#include "core/thread.h"

#define LOOK_US    2000000
#define QUIET      40  // comings and goings at most, between two looks
#define WORTH_LOOK 200 // as many have passed since memory was given back: it is worth while again

static struct {
    struct server_threads *threads;
    struct loop_timer timer;
    int64_t passed; // at the last look
    int64_t rested; // when memory was given back
} rest;

// Counts what begins and what ends: requests, connections. Five thousand connections that are
// closed long after their last request leave as much behind as the requests did.
static int64_t count_passed(void)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < rest.threads->count; i++) {
        struct metrics *m = &rest.threads->items[i].metrics;
        sum += 2 * atomic_load_explicit(&m->requests, memory_order_relaxed)
               - atomic_load_explicit(&m->requests_active, memory_order_relaxed)
               + 2 * atomic_load_explicit(&m->connections_accepted, memory_order_relaxed)
               - atomic_load_explicit(&m->connections_open, memory_order_relaxed);
    }
    return sum;
}

static void rest_thread(struct thread *t, void *arg)
{
    (void)arg;
    thread_rest(t);
}

static void on_rested(void *arg)
{
    (void)arg;
    mem_trim();
}

static void on_look(struct loop_timer *timer)
{
    int64_t passed = count_passed();
    bool is_quiet = passed - rest.passed <= QUIET;
    rest.passed = passed;
    loop_timer_start(rest.threads->items[0].loop, timer, LOOK_US);
    if (is_quiet && passed - rest.rested >= WORTH_LOOK) {
        rest.rested = passed;
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
