// SPDX-License-Identifier: Apache-2.0
// pool_busy -- see pool_busy.h.
//
// A worker that has a request computes, stands in line for a processor, or waits for something
// else. If of the time that it does not stand in line a share s is spent computing, C processors
// are kept busy by C / s workers: by C when pages only compute, by 200 C when they wait for 20 ms
// after each 0.1 ms. That is if they take turns ideally; as they wait at random, the time in which
// they wait counts twice. One more takes the place of one that is between two requests. Who stands
// in line does not count, so the result does not depend on how many are busy now.
//
// There is a limit only while the measured workers and the server use up the processors. If others
// do, fewer workers would get a smaller share; if nobody does, there is no need.
//
// What was measured is believed more slowly than that workers wait: the limit is the larger one of
// what the last measurement and the average of the last ones say. Without news it is forgotten.
#include "app/pool_busy.h"

#include "app/pool_worker.h"
#include "os/clock.h"

#define SAMPLES_MAX    32      // workers looked at, at most: they are much alike
#define WINDOW_MAX_US  400000  // between two looks at a worker, to be compared
#define RUN_LEAST_US   30000   // computed by all of them, before that says something
#define RUN_NOTHING_US 1000    // in a measurement: they wait, or are stopped
#define OURS_LEAST     850     // thousandths of all processors that are used by us, for a limit
#define OURS_LEAST_ON  700     // and for one that stays
#define LONG_US        1000000 // a request that runs longer may do so for ever: it is not counted
#define FORGET_US      350000

struct sample {
    struct pool_worker *worker;
    uint32_t id;
    pid_t pid;
    uint32_t place; // on the scoreboard
    struct pool_busy_facts facts;
    bool is_known;
};

uint32_t pool_busy_max(const struct pool *p)
{
    if (p->set.busy_max)
        return p->set.busy_max;
    if (!p->busy.max || !p->in_force)
        return POOL_BUSY_ANY;
    return p->busy.max + p->busy.long_count;
}

bool pool_busy_has_room(const struct pool *p)
{
    return p->counts[POOL_WORKER_BUSY] < pool_busy_max(p);
}

void pool_busy_use_idle(struct pool *p)
{
    struct list_node *node;
    while (p->queue.count > 0 && pool_busy_has_room(p) && (node = list_first(&p->idle)) != NULL) {
        struct pool_worker *w = CONTAINER_OF(node, struct pool_worker, idle);
        struct ticket *t = pool_queue_pop(&p->queue);
        pool_worker_take(w);
        t->slot = &w->slot;
        pool_state_deliver(t, POOL_TICKET_GRANTED);
    }
}

static bool is_measured(const struct pool *p)
{
    return !p->set.busy_max && p->in_force && !pool_state.orphaned;
}

uint64_t pool_busy_queued(struct pool *p, uint64_t now_us)
{
    p->busy.waited = true;
    return is_measured(p) ? now_us + POOL_BUSY_LOOK_US : POOL_NEVER;
}

uint64_t pool_busy_look(struct pool *p, uint64_t now_us)
{
    struct pool_busy *b = &p->busy;
    if (b->max && now_us >= b->measured_us + FORGET_US) {
        b->max = 0;
        pool_busy_use_idle(p);
    }
    if (!is_measured(p) || (!b->waited && !b->max && !p->queue.count))
        return POOL_NEVER;
    // Looks go on for a while when nobody waits: where requests wait now and again, not each of
    // them calls for a look.
    if (now_us < b->looked_us + POOL_BUSY_LOOK_US)
        return b->looked_us + POOL_BUSY_LOOK_US;
    b->looked_us = now_us;
    b->waited = false;
    b->is_due = p->queue.count > 0;
    return now_us + POOL_BUSY_LOOK_US;
}

// Lock held.
static size_t choose(struct pool *p, uint64_t now_us, struct sample samples[static SAMPLES_MAX])
{
    size_t count = 0;
    p->busy.long_count = 0;
    list_foreach(&p->workers, struct pool_worker, node, w) {
        if (w->state != POOL_WORKER_BUSY || w->exited)
            continue;
        p->busy.long_count += w->since_us + LONG_US <= now_us;
        if (count < SAMPLES_MAX)
            samples[count++] =
                (struct sample){w, w->slot.worker_id, w->slot.worker_pid, w->place, {0}, false};
    }
    return count;
}

// A worker that keeps no scoreboard may have had a request all the time.
static uint64_t had_request_us(const struct scoreboard_record *board, const struct sample *s,
                               uint64_t now_us)
{
    struct scoreboard_record record;
    if (!board || !scoreboard_get(board, s->place, &record) || record.worker_id != s->id
        || record.pid != (uint32_t)s->pid)
        return now_us;
    bool is_busy = record.state == SCOREBOARD_READING || record.state == SCOREBOARD_RUNNING;
    uint64_t since_us = record.since_us < now_us ? record.since_us : now_us;
    return record.busy_us + (is_busy ? now_us - since_us : 0);
}

static void read_facts(const struct pool *p, struct sample *s)
{
    struct proc_times times;
    bool (*times_of)(pid_t, struct proc_times *) = pool_state.link.times;
    s->is_known = times_of ? times_of(s->pid, &times) : proc_times(s->pid, &times);
    if (!s->is_known)
        return;
    s->facts.at_us = pool_state_now_us();
    s->facts.ran_us = times.ran_us;
    s->facts.lined_up_us = times.lined_up_us;
    s->facts.had_request_us = had_request_us(p->board, s, s->facts.at_us);
}

static uint64_t more(uint64_t after, uint64_t before)
{
    return after > before ? after - before : 0;
}

static void add(struct pool_busy_sums *sums, const struct pool_busy_facts *now,
                const struct pool_busy_facts *before)
{
    uint64_t window_us = now->at_us - before->at_us;
    if (!before->at_us || window_us > WINDOW_MAX_US)
        return;
    uint64_t ran_us = more(now->ran_us, before->ran_us);
    uint64_t busy_us = more(now->had_request_us, before->had_request_us);
    busy_us = busy_us < window_us ? busy_us : window_us;
    sums->ran_us += ran_us;
    sums->waited_us += more(busy_us, ran_us + more(now->lined_up_us, before->lined_up_us));
    sums->wall_us += window_us;
}

// So many keep the processors busy.
static uint32_t enough(const struct pool_busy_sums *sums)
{
    if (sums->ran_us < RUN_NOTHING_US)
        return 0;
    uint64_t busy_us = sums->ran_us + 2 * sums->waited_us;
    uint64_t count = (busy_us * pool_state.cpu_count + sums->ran_us - 1) / sums->ran_us + 1;
    return count < SCOREBOARD_RECORDS_MAX ? (uint32_t)count : 0;
}

// Tells whether it is us who leave no processor idle. Lock held.
static bool is_ours(struct pool *p, const struct pool_busy_sums *last, uint64_t now_us)
{
    struct pool_busy *b = &p->busy;
    uint64_t computed_us = clock_cpu_us();
    uint64_t server_us = more(computed_us, b->server_us);
    uint64_t window_us = more(now_us, b->server_at_us);
    b->server_us = computed_us;
    b->server_at_us = now_us;
    if (!last->wall_us || !window_us)
        return false;
    // In thousandths of a processor.
    uint64_t workers = last->ran_us * p->counts[POOL_WORKER_BUSY] * 1000 / last->wall_us;
    uint64_t least = b->max ? OURS_LEAST_ON : OURS_LEAST;
    return workers + server_us * 1000 / window_us >= least * pool_state.cpu_count;
}

// Lock held.
static void conclude(struct pool *p, const struct pool_busy_sums *last, uint64_t now_us)
{
    struct pool_busy *b = &p->busy;
    bool ours = is_ours(p, last, now_us);
    if (now_us >= b->measured_us + FORGET_US) {
        b->max = 0;
        b->average = (struct pool_busy_sums){0};
    }
    if (!last->wall_us)
        return;
    b->measured_us = now_us;
    b->average.ran_us = b->average.ran_us * 3 / 4 + last->ran_us;
    b->average.waited_us = b->average.waited_us * 3 / 4 + last->waited_us;
    uint32_t by_average = b->average.ran_us < RUN_LEAST_US ? 0 : enough(&b->average);
    uint32_t by_last = enough(last);
    b->max = !ours || !by_average || !by_last ? 0 : by_average > by_last ? by_average : by_last;
}

static void measure(struct pool *p)
{
    struct sample samples[SAMPLES_MAX];
    struct pool_busy_sums sums = {0};
    pool_state_lock();
    p->busy.is_due = false;
    size_t count = choose(p, pool_state_now_us(), samples);
    pool_state_unlock();
    for (size_t i = 0; i < count; i++)
        read_facts(p, &samples[i]);
    pool_state_lock();
    for (size_t i = 0; i < count; i++) {
        struct pool_worker *w = samples[i].worker;
        if (!samples[i].is_known || w->pool != p || w->slot.worker_id != samples[i].id)
            continue;
        add(&sums, &samples[i].facts, &w->facts);
        w->facts = samples[i].facts;
    }
    conclude(p, &sums, pool_state_now_us());
    pool_busy_use_idle(p);
    pool_state_unlock();
}

static struct pool *due(void)
{
    struct pool *found = NULL;
    pool_state_lock();
    list_foreach(&pool_state.all, struct pool, node, p)
        if (!found && p->busy.is_due)
            found = p;
    pool_state_unlock();
    return found;
}

void pool_busy_measure(void)
{
    struct pool *p;
    while ((p = due()) != NULL) // only this thread frees pools
        measure(p);
}
