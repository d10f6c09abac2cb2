// SPDX-License-Identifier: Apache-2.0
// jobs_test -- blocking work goes on beside the loop and comes back to it.
#include "event/jobs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define JOBS 500

struct sum {
    struct job job;
    int in, out;
    pthread_t worked_in;
    int done;
};

static struct loop *loop;
static int done_count;

static void add_one(struct job *job)
{
    struct sum *s = CONTAINER_OF(job, struct sum, job);
    s->out = s->in + 1;
    s->worked_in = pthread_self();
}

static void on_done(struct job *job)
{
    struct sum *s = CONTAINER_OF(job, struct sum, job);
    s->done++;
    done_count++;
}

static int set_up(void **state)
{
    (void)state;
    int error;
    done_count = 0;
    loop = loop_new(&error);
    return loop ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

static void each_job_is_done_once_elsewhere(void **state)
{
    (void)state;
    static struct sum sums[JOBS];
    struct jobs *j = jobs_new(3);
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < JOBS; i++) {
        sums[i] = (struct sum){.job = {.work = add_one, .on_done = on_done}, .in = i};
        jobs_submit(j, loop, &sums[i].job);
    }
    while (done_count < JOBS)
        loop_turn(loop, -1);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(sums[i].out, i + 1);
        assert_int_equal(sums[i].done, 1);
        assert_false(pthread_equal(sums[i].worked_in, pthread_self()));
    }
    jobs_free(j);
}

// Two jobs that wait for each other: both must have a thread, also when the first is already idle.
struct meeting {
    struct job job;
    pthread_barrier_t *barrier;
};

static void meet(struct job *job)
{
    pthread_barrier_wait(CONTAINER_OF(job, struct meeting, job)->barrier);
}

static void on_met(struct job *job)
{
    (void)job;
    done_count++;
}

static void jobs_run_side_by_side(void **state)
{
    (void)state;
    pthread_barrier_t barrier;
    struct jobs *j = jobs_new(2);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int round = 1; round <= 20; round++) {
        struct meeting a = {{.work = meet, .on_done = on_met}, &barrier};
        struct meeting b = {{.work = meet, .on_done = on_met}, &barrier};
        jobs_submit(j, loop, &a.job);
        jobs_submit(j, loop, &b.job);
        while (done_count < 2 * round)
            loop_turn(loop, -1);
    }
    jobs_free(j);
    pthread_barrier_destroy(&barrier);
}

static void what_is_queued_is_worked_off_at_the_end(void **state)
{
    (void)state;
    static struct sum sums[50];
    struct jobs *j = jobs_new(1);
    for (int i = 0; i < 50; i++) {
        sums[i] = (struct sum){.job = {.work = add_one, .on_done = on_done}, .in = i};
        jobs_submit(j, loop, &sums[i].job);
    }
    jobs_free(j);
    assert_int_equal(done_count, 0);
    loop_turn(loop, -1);
    assert_int_equal(done_count, 50);
    jobs_free(NULL);
    jobs_free(jobs_new(4)); // no thread was ever started
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_job_is_done_once_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(jobs_run_side_by_side, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_queued_is_worked_off_at_the_end, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
