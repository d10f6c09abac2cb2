// SPDX-License-Identifier: Apache-2.0
// pool_report -- see pool_report.h.
#include "app/pool_report.h"

#include "app/pool_busy.h"
#include "app/pool_state.h"
#include "base/assert.h"
#include "os/fd.h"
#include "os/proc.h"

static const char *const STATES[POOL_WORKER_STATES] = {
    [POOL_WORKER_STARTING] = "starting", [POOL_WORKER_IDLE] = "idle",
    [POOL_WORKER_BUSY] = "running",      [POOL_WORKER_DETACHED] = "detached",
    [POOL_WORKER_RETIRING] = "retiring", [POOL_WORKER_RESTING] = "resting",
};

static uint64_t since_ms(uint64_t now_us, uint64_t then_us)
{
    return now_us > then_us ? (now_us - then_us) / 1000 : 0;
}

static void copy_worker(const struct pool_worker *w, uint64_t now_us,
                        struct pool_report_worker *out)
{
    *out = (struct pool_report_worker){
        .id = w->slot.worker_id,
        .pid = w->slot.worker_pid,
        .state = STATES[w->state],
        .since_ms = since_ms(now_us, w->since_us),
        .outdated = w->generation != w->pool->generation,
        .worn = w->worn,
        .requests = w->slot.served,
    };
}

// In how many milliseconds a start that has failed, or a restart, is tried again; 0: it is not.
static uint64_t retry_in_ms(const struct pool *p, uint64_t now_us)
{
    uint64_t retry_ms = since_ms(p->retry_us, now_us);
    uint64_t restart_ms = since_ms(p->restart_us, now_us);
    return retry_ms && (!restart_ms || retry_ms < restart_ms) ? retry_ms : restart_ms;
}

static void copy_pool(const struct pool *p, uint64_t now_us, struct arena *a,
                      struct pool_report *out)
{
    const struct ticket *oldest = pool_queue_oldest(&p->queue);
    *out = (struct pool_report){
        .name = arena_dup(a, p->endpoint.name),
        .in_force = p->in_force,
        .set = p->set,
        .busy_max = pool_busy_max(p),
        .queued = p->queue.count,
        .starting = p->counts[POOL_WORKER_STARTING],
        .generation = p->generation,
        .served = p->served,
        .restarting = p->restart != POOL_RESTART_NONE || p->restart_us,
        .worn = p->worn,
        .held_by = str_c(p->held_by ? p->held_by : ""),
        .spool_bytes = (uint64_t)atomic_load_explicit(&p->spool.used_bytes, memory_order_relaxed),
        .start_ms = p->start_us / 1000,
        .failures_in_row = p->failures,
        .retry_in_ms = retry_in_ms(p, now_us),
        .info = p->info ? arena_dup(a, str_c(p->info)) : STR(""),
    };
    if (oldest)
        out->oldest_wait_ms = since_ms(now_us, oldest->queued_us);
    if (p->failed_us) {
        out->failure = arena_dup(a, str_n(p->failure, p->failure_len));
        out->failure_age_ms = since_ms(now_us, p->failed_us);
    }
    out->workers = arena_array(a, struct pool_report_worker, pool_state_alive(p));
    list_foreach(&p->workers, struct pool_worker, node, w)
        copy_worker(w, now_us, &out->workers[out->worker_count++]);
}

// What the worker itself says: its URL, and how much of its memory is its own.
static void add_facts(struct pool_report *r, const struct scoreboard_record *board, struct arena *a)
{
    for (size_t i = 0; i < r->worker_count; i++) {
        struct pool_report_worker *w = &r->workers[i];
        if (w->pid > 0)
            w->own_kib = proc_anon_kib(w->pid);
    }
    if (!board)
        return;
    uint32_t places = 2 * (uint32_t)r->worker_count + POOL_BOARD_SPARE;
    for (uint32_t place = 0; place < places && place < SCOREBOARD_RECORDS_MAX; place++) {
        struct scoreboard_record record;
        if (!scoreboard_get(board, place, &record) || record.state == SCOREBOARD_FREE)
            continue;
        for (size_t i = 0; i < r->worker_count; i++) {
            struct pool_report_worker *w = &r->workers[i];
            if (w->id != record.worker_id || w->pid != (int32_t)record.pid)
                continue;
            w->own_kib -=
                w->own_kib < record.anon_kib_at_fork ? w->own_kib : record.anon_kib_at_fork;
            if (record.state != SCOREBOARD_IDLE)
                w->url = arena_dup(a, str_n(record.url, record.url_len));
            if (record.state == SCOREBOARD_READING && w->state == STATES[POOL_WORKER_BUSY])
                w->state = scoreboard_state_text(SCOREBOARD_READING);
        }
    }
}

const struct pool_report *pool_report(struct arena *a, size_t *out_count)
{
    pool_state_lock();
    uint64_t now_us = pool_state_now_us();
    size_t count = 0;
    list_foreach(&pool_state.all, struct pool, node, p)
        count += p->in_force || pool_state_alive(p);
    struct pool_report *reports = arena_array(a, struct pool_report, count);
    const struct scoreboard_record **boards =
        arena_array(a, const struct scoreboard_record *, count);
    size_t at = 0;
    list_foreach(&pool_state.all, struct pool, node, p) {
        if (!p->in_force && !pool_state_alive(p))
            continue;
        copy_pool(p, now_us, a, &reports[at]);
        boards[at++] = p->board;
    }
    pool_state_unlock();
    for (size_t i = 0; i < count; i++)
        add_facts(&reports[i], boards[i], a);
    *out_count = count;
    return reports;
}

static void check_worker(const struct pool *p, const struct pool_worker *w)
{
    ASSERT(w->magic == POOL_WORKER_MAGIC && w->pool == p);
    bool connected = w->state == POOL_WORKER_IDLE || w->state == POOL_WORKER_BUSY
                     || w->state == POOL_WORKER_RESTING;
    if (w->state != POOL_WORKER_DETACHED)
        ASSERT(connected == (w->slot.fd != FD_NONE));
    ASSERT(list_has(&w->idle) == (w->state == POOL_WORKER_IDLE));
    ASSERT(!w->exited || w->state == POOL_WORKER_BUSY);
    if (w->state != POOL_WORKER_BUSY)
        ASSERT(!w->slot.user && !atomic_load(&w->owner));
    if (w->state == POOL_WORKER_DETACHED || w->state == POOL_WORKER_RETIRING)
        ASSERT(w->killed || w->kill_us != POOL_NEVER);
}

static void check_pool(const struct pool *p)
{
    ASSERT(p->magic == POOL_MAGIC);
    uint32_t counts[POOL_WORKER_STATES] = {0};
    uint32_t idle = 0;
    uint32_t queued = 0;
    uint32_t worn = 0;
    uint32_t leaving = 0;
    list_foreach(&p->workers, struct pool_worker, node, w) {
        check_worker(p, w);
        counts[w->state]++;
        worn += w->worn;
        leaving += w->leaves;
    }
    ASSERT(worn == p->worn && leaving == p->leaving);
    list_foreach(&p->idle, struct pool_worker, idle, w)
        idle += w->state == POOL_WORKER_IDLE;
    pool_queue_check(&p->queue);
    list_foreach(&p->queue.waits, struct ticket, wait, t)
        queued += t->state == POOL_TICKET_QUEUED;
    for (size_t i = 0; i < POOL_WORKER_STATES; i++)
        ASSERT(counts[i] == p->counts[i]);
    ASSERT(idle == p->counts[POOL_WORKER_IDLE] && queued == p->queue.count);
    ASSERT(!idle || !queued || !pool_busy_has_room(p));
    ASSERT(p->counts[POOL_WORKER_STARTING] <= POOL_STARTS_AT_ONCE + 2);
    ASSERT(p->counts[POOL_WORKER_RESTING] <= 1);
}

void pool_report_check(void)
{
    pool_state_lock();
    list_foreach(&pool_state.all, struct pool, node, p)
        check_pool(p);
    pool_state_unlock();
}
