// SPDX-License-Identifier: Apache-2.0
// jobs -- see jobs.h.
#include "event/jobs.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/quiet_thread.h"

struct jobs {
    pthread_mutex_t lock;
    pthread_cond_t changed; // a job was queued, or the end has come
    struct list queue;
    pthread_t *threads;
    unsigned threads_max, started;
    unsigned queued, idle; // jobs and threads that wait for each other
    bool ending;
};

static void on_worked(struct loop_task *task)
{
    struct job *job = CONTAINER_OF(task, struct job, task);
    job->on_done(job);
}

static void work(struct job *job)
{
    job->work(job);
    loop_post(job->loop, &job->task);
}

static void *run_thread(void *arg)
{
    struct jobs *j = arg;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        struct list_node *node = list_pop_front(&j->queue);
        if (node) {
            j->queued--;
            pthread_mutex_unlock(&j->lock);
            work(CONTAINER_OF(node, struct job, node));
            pthread_mutex_lock(&j->lock);
            continue;
        }
        if (j->ending)
            break;
        j->idle++;
        pthread_cond_wait(&j->changed, &j->lock);
        j->idle--;
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

// Starts one more thread; a system that refuses leaves us with those that run. Lock held.
static void start_thread(struct jobs *j)
{
    if (quiet_thread_start(&j->threads[j->started], 0, run_thread, j) == 0)
        j->started++;
}

struct jobs *jobs_new(unsigned threads)
{
    ASSERT(threads > 0);
    struct jobs *j = mem_new(struct jobs);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    list_init(&j->queue);
    j->threads = mem_array(threads, sizeof *j->threads);
    j->threads_max = threads;
    return j;
}

void jobs_submit(struct jobs *j, struct loop *loop, struct job *job)
{
    job->loop = loop;
    job->task.run = on_worked;
    pthread_mutex_lock(&j->lock);
    list_push_back(&j->queue, &job->node);
    // A thread that was signalled counts as idle until it runs, hence more queued than idle.
    if (++j->queued > j->idle && j->started < j->threads_max)
        start_thread(j);
    bool have_threads = j->started > 0;
    if (have_threads) {
        pthread_cond_signal(&j->changed);
    } else {
        list_remove(&job->node);
        j->queued--;
    }
    pthread_mutex_unlock(&j->lock);
    // Not one thread can be had: slow is better than never.
    if (!have_threads)
        work(job);
}

void jobs_free(struct jobs *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    j->ending = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    for (unsigned i = 0; i < j->started; i++)
        pthread_join(j->threads[i], NULL);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    mem_free(j->threads);
    mem_free(j);
}
