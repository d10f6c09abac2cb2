// SPDX-License-Identifier: Apache-2.0
// apps -- see apps.h.
#include "keeper/apps.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "keeper/spawner.h"
#include "keeper/state.h"
#include "keeper/worker.h"
#include "log/log.h"

static struct app *find(const struct keeper *k, struct str name)
{
    list_foreach(&k->apps.table, struct app, node, app)
        if (str_eq(app->plan->name, name))
            return app;
    return NULL;
}

static void free_app(struct app *app)
{
    list_remove(&app->node);
    loop_timer_stop(&app->timer);
    loop_later_cancel(&app->check);
    boards_unref(app->board);
    generation_unref(app->generation);
    mem_free(app->info);
    mem_free(app);
}

static void on_check(struct loop_task *task)
{
    struct app *app = CONTAINER_OF(task, struct app, check);
    if (app->is_retired && list_is_empty(&app->spawners) && list_is_empty(&app->workers))
        free_app(app);
}

// Running requests must have finished by now.
static void on_expired(struct loop_timer *timer)
{
    struct app *app = CONTAINER_OF(timer, struct app, timer);
    list_foreach(&app->workers, struct worker, node, w)
        worker_end(w);
}

static struct app *new_app(struct keeper *k, struct generation *g, size_t at)
{
    struct app *app = mem_new(struct app);
    app->k = k;
    app->generation = generation_ref(g);
    app->plan = &g->plan.apps[at];
    app->board = boards_ref(g->boards[at]);
    list_init(&app->spawners);
    list_init(&app->workers);
    app->timer.on_expired = on_expired;
    app->check.run = on_check;
    return app;
}

static void leave_both(struct app *app)
{
    if (app->spawner)
        spawner_leave(app->spawner);
    if (app->old)
        spawner_leave(app->old);
}

static void retire(struct keeper *k, struct app *app, bool is_removed)
{
    list_remove(&app->node);
    list_push_back(&k->apps.retired, &app->node);
    app->is_retired = true;
    leave_both(app);
    if (is_removed)
        loop_timer_start(k->loop, &app->timer, app->generation->plan.drain_ms * 1000);
    loop_later(k->loop, &app->check);
}

static void refuse(struct keeper *k, struct str name, uint32_t id, const char *why)
{
    struct ipc_msg msg = {.type = IPC_WORKER_FAILED,
                          .name = name,
                          .id = id,
                          .stage = IPC_STAGE_EXEC,
                          .text = str_c(why)};
    server_send(k, &msg, NULL, 0);
}

static bool has_waiting(const struct app *app)
{
    list_foreach(&app->workers, struct worker, node, w)
        if (w->state == WORKER_WAITING)
            return true;
    return false;
}

// Calls `fn` for each app, of the table and retired.
static void for_each(struct keeper *k, void (*fn)(struct app *app, void *arg), void *arg)
{
    list_foreach(&k->apps.table, struct app, node, app)
        fn(app, arg);
    list_foreach(&k->apps.retired, struct app, node, app)
        fn(app, arg);
}

static void orphan_workers(struct app *app, void *arg)
{
    (void)arg;
    if (app->old)
        spawner_leave(app->old); // nobody is left who would settle it
    list_foreach(&app->workers, struct worker, node, w)
        worker_orphan(w);
}

static void end_all(struct app *app, void *arg)
{
    (void)arg;
    list_foreach(&app->spawners, struct spawner, node, s)
        spawner_leave(s);
    list_foreach(&app->workers, struct worker, node, w)
        worker_end(w);
}

static void signal_all(struct app *app, void *arg)
{
    const int *signal = arg;
    list_foreach(&app->spawners, struct spawner, node, s)
        child_signal(&s->child, *signal);
    list_foreach(&app->workers, struct worker, node, w) {
        w->is_killed = true;
        child_signal(&w->child, *signal);
    }
}

static void hear_spawners(struct app *app, void *arg)
{
    (void)arg;
    list_foreach(&app->spawners, struct spawner, node, s)
        channel_drain(&s->channel);
}

static void find_longest(struct app *app, void *arg)
{
    uint64_t *longest_ms = arg;
    bool has_processes = !list_is_empty(&app->spawners) || !list_is_empty(&app->workers);
    if (has_processes && app->plan->stop_ms > *longest_ms)
        *longest_ms = app->plan->stop_ms;
}

void apps_init(struct apps *apps)
{
    *apps = (struct apps){0};
    list_init(&apps->table);
    list_init(&apps->retired);
}

// The user may be that of the server, which is no setting of the app.
static bool is_same(const struct plan_app *a, const struct plan_app *b)
{
    return a->digest == b->digest && a->has_user == b->has_user
           && (!a->has_user || proc_user_same(&a->user, &b->user));
}

void apps_replace(struct keeper *k, struct generation *g)
{
    struct list table;
    list_init(&table);
    for (size_t i = 0; i < g->plan.app_count; i++) {
        struct plan_app *plan = &g->plan.apps[i];
        struct app *app = find(k, plan->name);
        if (app && is_same(app->plan, plan)) {
            struct generation *old = app->generation;
            app->generation = generation_ref(g);
            app->plan = plan;
            generation_unref(old);
            list_remove(&app->node);
        } else {
            if (app)
                retire(k, app, false);
            app = new_app(k, g, i);
        }
        list_push_back(&table, &app->node);
    }
    list_foreach(&k->apps.table, struct app, node, app)
        retire(k, app, true);
    list_foreach(&table, struct app, node, app) {
        list_remove(&app->node);
        list_push_back(&k->apps.table, &app->node);
    }
}

void apps_start_worker(struct keeper *k, struct str name, uint32_t id)
{
    char room[64];
    struct app *app = find(k, name);
    uint32_t index;
    if (map_find(&k->apps.workers, str_n((const char *)&id, sizeof id))) {
        log_error("", "keeper.refused", "the server asked for worker %u a second time", id);
    } else if (!app) {
        log_error("", "keeper.refused", "the server asked for a worker of the unknown app %s",
                  log_quote(name, room, sizeof room));
        refuse(k, name, id, "there is no such app");
    } else if (!boards_take(app->board, &index)) {
        refuse(k, name, id, "the app has as many workers as its scoreboard holds");
    } else {
        worker_start(app, id, index);
    }
}

void apps_idle(struct keeper *k, struct str name)
{
    struct app *app = find(k, name);
    if (app && !has_waiting(app))
        leave_both(app);
}

void apps_renew(struct keeper *k, struct str name)
{
    struct app *app = find(k, name);
    if (!app || !app->spawner)
        return;
    if (app->old)
        spawner_leave(app->spawner); // it has not proved anything
    else
        app->old = app->spawner;
    app->spawner = NULL;
}

void apps_settle(struct keeper *k, struct str name, bool is_good)
{
    struct app *app = find(k, name);
    if (!app)
        return;
    if (is_good) {
        if (app->old)
            spawner_leave(app->old);
        return;
    }
    if (app->spawner)
        spawner_leave(app->spawner);
    app->spawner = app->old;
    app->old = NULL;
}

void apps_orphan_workers(struct keeper *k)
{
    for_each(k, orphan_workers, NULL);
}

void apps_send_infos(struct keeper *k)
{
    list_foreach(&k->apps.table, struct app, node, app) {
        struct ipc_msg msg = {
            .type = IPC_APP_INFO, .name = app->plan->name, .text = str_c(app->info)};
        if (app->info)
            server_send(k, &msg, NULL, 0);
    }
}

void apps_leave(struct keeper *k)
{
    for_each(k, end_all, NULL);
}

void apps_hear(struct keeper *k)
{
    for_each(k, hear_spawners, NULL);
}

void apps_signal(struct keeper *k, int signal)
{
    for_each(k, signal_all, &signal);
}

uint64_t apps_stop_ms(const struct keeper *k)
{
    uint64_t longest_ms = 0;
    list_foreach(&k->apps.table, struct app, node, app)
        find_longest(app, &longest_ms);
    list_foreach(&k->apps.retired, struct app, node, app)
        find_longest(app, &longest_ms);
    return longest_ms;
}

uid_t apps_user(const struct app *app)
{
    return app->k->is_root && app->plan->has_user ? app->plan->user.uid : geteuid();
}

void apps_done(struct keeper *k)
{
    list_foreach(&k->apps.table, struct app, node, app)
        free_app(app);
    list_foreach(&k->apps.retired, struct app, node, app)
        free_app(app);
    map_done(&k->apps.workers);
}
