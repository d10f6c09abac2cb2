// SPDX-License-Identifier: Apache-2.0
// api_json -- see api_json.h.
#include "admin/api_json.h"

#include <inttypes.h>

#include "app/pool_report.h"
#include "base/assert.h"
#include "core/metrics.h"
#include "core/snapshot.h"
#include "core/spool_file.h"
#include "os/clock.h"

static json_t *text(struct str s)
{
    if (!s.ptr)
        return json_string("");
    // Bytes that are no UTF-8 would make no string at all.
    json_t *string = json_stringn(s.ptr, s.len);
    if (string)
        return string;
    struct buf clean = {0};
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        buf_fmt(&clean, c < 0x80 ? "%c" : "\\x%02x", c);
    }
    string = json_stringn(buf_view(&clean).ptr, buf_len(&clean));
    buf_done(&clean);
    return string;
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static int64_t *sum(const struct api_host *host, int64_t *sums)
{
    if (host->count)
        host->count(host->arg);
    for (unsigned i = 0; i < host->thread_count; i++)
        metrics_sum(&host->threads[i].metrics, sums);
    return sums;
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): a row of the table is one more.
#define METRICS_COUNT_FIELD(name, help) +1

enum { METRIC_COUNT = 0 METRICS(METRICS_COUNT_FIELD) };

#undef METRICS_COUNT_FIELD

static json_t *metrics_object(const struct api_host *host)
{
    int64_t sums[METRIC_COUNT] = {0};
    unsigned count;
    const struct metrics_row *rows = metrics_rows(&count);
    ASSERT(count == METRIC_COUNT);
    sum(host, sums);
    json_t *object = json_object();
    for (unsigned i = 0; i < count; i++)
        json_object_set_new(object, rows[i].name, json_integer(sums[i]));
    return object;
}

json_t *api_json_status(const struct api_host *host, struct arena *a)
{
    json_t *root = json_object();
    json_object_set_new(root, "instance", text(host->instance));
    json_object_set_new(root, "version", json_string(GODWIT_VERSION));
    json_object_set_new(root, "pid", json_integer(host->keeper_pid));
    json_object_set_new(root, "server_pid", json_integer(host->server_pid));
    json_object_set_new(root, "server_uptime_s",
                        number((clock_mono_us() - host->began_us) / 1000000));
    json_object_set_new(root, "socket", text(host->socket));
    json_object_set_new(root, "threads", number(host->thread_count));
    struct snapshot *s = snapshot_current();
    if (s) {
        json_object_set_new(root, "generation", number(s->generation));
        json_object_set_new(root, "sites", number(s->site_count));
        snapshot_unref(s);
    }
    json_object_set_new(root, "snapshots", number(snapshot_alive()));
    size_t count;
    struct str *names = host->listeners(host->arg, a, &count);
    json_t *listeners = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(listeners, text(names[i]));
    json_object_set_new(root, "listeners", listeners);
    json_object_set_new(root, "spool_bytes", number((uint64_t)spool_file_total()));
    json_object_set_new(root, "metrics", metrics_object(host));
    return root;
}

static json_t *limits_of(const struct pool_settings *set)
{
    json_t *limits = json_object();
    json_object_set_new(limits, "workers_min", number(set->workers_min));
    json_object_set_new(limits, "workers_max", number(set->workers_max));
    json_object_set_new(limits, "busy_max",
                        !set->busy_max                   ? json_string("auto")
                        : set->busy_max == POOL_BUSY_ANY ? json_string("all")
                                                         : number(set->busy_max));
    json_object_set_new(limits, "queue", number(set->queue_max));
    json_object_set_new(limits, "queue_time_ms", number(set->queue_us / 1000));
    json_object_set_new(limits, "request_time_ms", number(set->request_us / 1000));
    json_object_set_new(limits, "idle_ms", number(set->idle_us / 1000));
    json_object_set_new(limits, "requests", number(set->requests_max));
    json_object_set_new(limits, "memory", number(set->memory_max_bytes));
    return limits;
}

// Those that have a process: a pid of 0 would be dangerous in the hands of scripts.
static json_t *workers_of(const struct pool_report *r)
{
    json_t *workers = json_array();
    for (size_t i = 0; i < r->worker_count; i++) {
        const struct pool_report_worker *w = &r->workers[i];
        if (w->pid <= 0)
            continue;
        json_t *one = json_object();
        json_object_set_new(one, "id", number(w->id));
        json_object_set_new(one, "pid", json_integer(w->pid));
        json_object_set_new(one, "state", json_string(w->state));
        json_object_set_new(one, "since_ms", number(w->since_ms));
        json_object_set_new(one, "requests", number(w->requests));
        json_object_set_new(one, "memory_kib", number(w->own_kib));
        json_object_set_new(one, "worn", json_boolean(w->worn));
        json_object_set_new(one, "outdated", json_boolean(w->outdated));
        json_object_set_new(one, "url", text(w->url));
        json_array_append_new(workers, one);
    }
    return workers;
}

static json_t *failure_of(const struct pool_report *r)
{
    if (!r->failure.len)
        return json_null();
    json_t *failure = json_object();
    json_object_set_new(failure, "text", text(r->failure));
    json_object_set_new(failure, "age_ms", number(r->failure_age_ms));
    json_object_set_new(failure, "in_a_row", number(r->failures_in_row));
    json_object_set_new(failure, "next_try_ms", number(r->retry_in_ms));
    return failure;
}

static json_t *app_of(const struct pool_report *r)
{
    json_t *app = json_object();
    json_object_set_new(app, "name", text(r->name));
    json_object_set_new(app, "in_force", json_boolean(r->in_force));
    json_object_set_new(app, "generation", number(r->generation));
    json_object_set_new(app, "restarting", json_boolean(r->restarting));
    json_object_set_new(app, "requests", number(r->served));
    json_object_set_new(app, "spool_bytes", number(r->spool_bytes));
    json_object_set_new(app, "start_ms", number(r->start_ms));
    // What the runtime says of itself stands beside our own facts: its version, its ini files.
    json_t *info = json_loadb(r->info.ptr ? r->info.ptr : "", r->info.len, 0, NULL);
    if (json_is_object(info))
        json_object_update_missing(app, info);
    json_decref(info);
    json_object_set_new(app, "starting", number(r->starting));
    json_object_set_new(app, "held_by", r->held_by.len ? text(r->held_by) : json_null());
    json_object_set_new(app, "busy_max",
                        r->busy_max == POOL_BUSY_ANY ? json_null() : number(r->busy_max));
    json_object_set_new(app, "limits", limits_of(&r->set));
    json_t *queue = json_object();
    json_object_set_new(queue, "waiting", number(r->queued));
    json_object_set_new(queue, "oldest_ms", number(r->oldest_wait_ms));
    json_object_set_new(app, "queue", queue);
    json_object_set_new(app, "last_failure", failure_of(r));
    json_object_set_new(app, "workers", workers_of(r));
    return app;
}

json_t *api_json_apps(struct arena *a)
{
    size_t count;
    const struct pool_report *reports = pool_report(a, &count);
    json_t *apps = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(apps, app_of(&reports[i]));
    json_t *root = json_object();
    json_object_set_new(root, "apps", apps);
    return root;
}

void api_json_metrics(const struct api_host *host, struct buf *out)
{
    int64_t sums[METRIC_COUNT] = {0};
    unsigned count;
    const struct metrics_row *rows = metrics_rows(&count);
    sum(host, sums);
    for (unsigned i = 0; i < count; i++)
        buf_fmt(out, "# HELP godwit_%s %s\ngodwit_%s %" PRId64 "\n", rows[i].name, rows[i].help,
                rows[i].name, sums[i]);
}
