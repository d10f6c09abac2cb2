// SPDX-License-Identifier: Apache-2.0
// server_threads_test -- the threads end in order while connections go round between them: nothing
// is left in a mailbox, no descriptor is forgotten.
#include "main/server_threads.h"

#include <sys/socket.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "app/pool.h"
#include "base/mem.h"
#include "front/accept.h"
#include "front/front_limits.h"
#include "os/fd.h"

#define THREADS     4
#define CONNECTIONS 16 // that each thread takes in
#define ROUNDS      40

static int clients[THREADS][CONNECTIONS];

static void on_start(void *arg, struct str app, uint32_t id)
{
    (void)arg;
    (void)app;
    (void)id;
    fail();
}

static void open_threads(struct server_threads *s)
{
    int rc = 0;
    struct loop *loop = loop_new(&rc);
    struct pool_link link = {.start = on_start};
    assert_non_null(loop);
    *s = (struct server_threads){0};
    assert_int_equal(server_threads_open(s, loop, THREADS), 0);
    pool_open(&link, &s->items[0], THREADS);
    pool_thread_start(&s->items[0]);
}

// thread_done and loop_free assert that nothing is left.
static void free_threads(struct server_threads *s)
{
    pool_close();
    jobs_free(s->jobs);
    for (unsigned i = 0; i < THREADS; i++) {
        struct loop *loop = s->items[i].loop;
        thread_done(&s->items[i]);
        loop_free(loop);
    }
    mem_free(s->items);
    mem_free(s->ids);
}

static void bring(struct thread *t, void *arg)
{
    (void)arg;
    for (int i = 0; i < CONNECTIONS; i++) {
        int pair[2];
        struct sock_addr peer = {0};
        assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
        assert_int_equal(fd_set_nonblock(pair[0], true), 0);
        clients[t->index][i] = pair[1];
        front_serve(t, pair[0], &peer, false);
    }
}

static void cut(struct thread *t, void *arg)
{
    (void)arg;
    front_cut(t);
}

static void wander_and_end(void **state)
{
    (void)state;
    struct front_limits limits = {0};
    for (int i = 0; i < FRONT_LIMIT_COUNT; i++)
        limits.values[i] = 10000;
    limits.values[FRONT_CONNECTIONS_MAX] = 2; // each further one goes round
    front_limits_set(&limits);
    for (int round = 0; round < ROUNDS; round++) {
        struct server_threads s;
        open_threads(&s);
        assert_int_equal(server_threads_run(&s), 0);
        server_threads_each(&s, bring, NULL);
        server_threads_each(&s, cut, NULL);
        server_threads_close(&s);
        for (int i = 0; i < THREADS * CONNECTIONS; i++) {
            char byte;
            int *client = &clients[i / CONNECTIONS][i % CONNECTIONS];
            assert_int_equal(fd_read(*client, &byte, 1), 0);
            fd_close(client);
        }
        free_threads(&s);
    }
}

static void threads_that_never_ran_are_closed(void **state)
{
    (void)state;
    struct server_threads s;
    open_threads(&s);
    server_threads_close(&s);
    free_threads(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wander_and_end),
        cmocka_unit_test(threads_that_never_ran_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
