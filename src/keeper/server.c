// SPDX-License-Identifier: Apache-2.0
// server -- see server.h.
//
//     DOWN --start_with--> STARTING --server_commit--> SERVING --server_commit--> SERVING
//      ^                      |                           |
//      '------ on_ended ------'---------------------------'
//
// The listening sockets stay open in the keeper all the time: clients wait in their queues.
#include "keeper/server.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "keeper/apps.h"
#include "keeper/reload.h"
#include "keeper/state.h"
#include "keeper/stop.h"
#include "keeper/worker.h"
#include "log/log.h"
#include "os/fd.h"
#include "os/proc.h"

#define PREPARE_MS     30000 // longest time from the first generation to PREPARED
#define CLOSED_MS      1000  // from the end of the channel to that of the process
#define QUICK_DEATH_MS 1000  // a life shorter than this is no life

// Waits before the next start, after that many quick deaths; the last one for ever.
static const uint64_t BACKOFF_MS[] = {0, 50, 200, 1000};

static struct keeper *keeper_of(struct server *s)
{
    return CONTAINER_OF(s, struct keeper, server);
}

static void dismiss(struct keeper *k)
{
    k->server.is_dismissed = true;
    server_kill(k);
}

static void send_named(struct keeper *k, enum ipc_type type, uint32_t gen, struct str name, int fd)
{
    server_send(k, &(struct ipc_msg){.type = type, .gen = gen, .name = name}, &fd, 1);
}

// The plan that says who a server is.
static const struct plan *identity(const struct keeper *k, const struct generation *g)
{
    return k->server.founder ? &k->server.founder->plan : &g->plan;
}

static void send_generation(struct keeper *k, struct generation *g)
{
    for (size_t i = 0; i < g->plan.listener_count; i++)
        send_named(k, IPC_LISTENER, g->number, g->plan.listeners[i].address, g->listeners[i]->fd);
    send_named(k, IPC_LISTENER, g->number, STR("control"), k->runtime.control_fd);
    for (size_t i = 0; i < g->plan.log_count; i++)
        send_named(k, IPC_LOG, g->number, g->plan.logs[i].name, g->logs[i]->fd);
    for (size_t i = 0; i < g->plan.app_count; i++)
        send_named(k, IPC_BOARD, g->number, g->plan.apps[i].name, g->boards[i]->fd);
    struct ipc_msg prepare = {
        .type = IPC_PREPARE, .gen = g->number, .index = identity(k, g)->threads};
    server_send(k, &prepare, &g->config_fd, 1);
    generation_unref(k->server.offered);
    k->server.offered = generation_ref(g);
}

static void on_prepared(struct keeper *k, uint32_t gen)
{
    struct server *s = &k->server;
    if (!s->offered || s->offered->number != gen)
        return; // abandoned meanwhile
    if (s->offered != k->current) {
        reload_prepared(k, gen);
        return;
    }
    server_commit(k);
    log_info("", "server.started", "the server process %d serves", s->child.pid);
}

static void on_refused(struct keeper *k, uint32_t gen, struct str text)
{
    struct server *s = &k->server;
    if (!s->offered || s->offered->number != gen)
        return;
    if (s->offered != k->current) {
        struct err err = {0};
        err_set(&err, "%.*s", STR_ARG(text));
        reload_fail(k, &err);
        err_done(&err);
        return;
    }
    log_error("", "server.died",
              "the server process %d refuses the configuration in force; another one is started: "
              "%.*s",
              s->child.pid, STR_ARG(text));
    dismiss(k);
}

static void answer(struct keeper *k, uint32_t id)
{
    server_send(k, &(struct ipc_msg){.type = IPC_ANSWER, .id = id}, NULL, 0);
}

static void on_msg(struct channel *c, const struct ipc_msg *msg, struct fd_received *packet)
{
    struct keeper *k = keeper_of(CONTAINER_OF(c, struct server, channel));
    (void)packet;
    // The types that the server may send; all others are refused below.
    if (msg->type == IPC_PREPARED) {
        on_prepared(k, msg->gen);
    } else if (msg->type == IPC_REFUSED) {
        on_refused(k, msg->gen, msg->text);
    } else if (msg->type == IPC_COMMITTED) {
        reload_committed(k, msg->gen);
    } else if (msg->type == IPC_START) {
        apps_start_worker(k, msg->name, msg->id);
    } else if (msg->type == IPC_KILL) {
        worker_kill(k, msg->id, msg->status);
    } else if (msg->type == IPC_APP_IDLE) {
        apps_idle(k, msg->name);
    } else if (msg->type == IPC_APP_RENEW) {
        apps_renew(k, msg->name);
    } else if (msg->type == IPC_APP_SETTLE) {
        apps_settle(k, msg->name, msg->status == 0);
    } else if (msg->type == IPC_RELOAD) {
        reload_request(k, msg->id);
    } else if (msg->type == IPC_STOP) {
        answer(k, msg->id);
        if (msg->status == 1)
            stop_begin_hasty(k);
        else
            stop_begin(k, false);
    } else if (msg->type == IPC_REOPEN_LOGS) {
        reload_reopen_logs(k);
        answer(k, msg->id);
    } else {
        log_warn("", "keeper.refused", "the server sent message %d, which it may not send",
                 (int)msg->type);
    }
}

static void on_closed(struct channel *c, const char *why)
{
    struct server *s = CONTAINER_OF(c, struct server, channel);
    struct keeper *k = keeper_of(s);
    if (why) {
        log_error("", "keeper.refused", "the server process %d %s; it is killed", s->child.pid,
                  why);
        dismiss(k);
    } else if (!stop_is_begun(k)) {
        loop_timer_start(k->loop, &s->timer, (uint64_t)CLOSED_MS * 1000);
    }
}

// Starts another one, later the quicker the last ones died; from the loop, so that starts that fail
// do not pile up.
static void schedule(struct keeper *k, bool was_quick)
{
    struct server *s = &k->server;
    s->quick_deaths = was_quick ? s->quick_deaths + 1 : 0;
    size_t step = s->quick_deaths < ARRAY_LEN(BACKOFF_MS) ? s->quick_deaths : ARRAY_LEN(BACKOFF_MS);
    uint64_t wait_ms = step == 0 ? 0 : BACKOFF_MS[step - 1];
    loop_timer_start(k->loop, &s->timer, wait_ms * 1000);
}

// What follows the end of the process, or a start that failed.
static void down(struct keeper *k, const char *how, bool was_quick)
{
    struct server *s = &k->server;
    bool had_candidate = s->offered && s->offered != k->current;
    generation_unref(s->offered);
    s->offered = NULL;
    s->state = SERVER_DOWN;
    reload_forget_askers(k);
    if (stop_is_begun(k)) {
        stop_server_ended(k);
        return;
    }
    if (had_candidate && reload_is_preparing(k)) {
        struct err err = {0};
        err_set(&err, "the server process %s while it prepared the configuration", how);
        reload_fail(k, &err);
        err_done(&err);
    }
    if (k->current)
        reload_committed(k, k->current->number);
    // A failed first start ends the instance; what ended for a candidate makes place at once.
    if (stop_is_begun(k))
        stop_server_ended(k);
    else if (k->current || reload_is_preparing(k))
        schedule(k, was_quick && !reload_is_preparing(k));
}

static void on_ended(struct child *child, int status)
{
    struct server *s = CONTAINER_OF(child, struct server, child);
    struct keeper *k = keeper_of(s);
    char how[64];
    proc_exit_text(status, how);
    channel_drain(&s->channel); // a REFUSED may stand in it
    channel_close(&s->channel);
    loop_timer_stop(&s->timer);
    apps_orphan_workers(k);
    bool had_candidate = s->offered && s->offered != k->current;
    if (!stop_is_begun(k) && !s->is_dismissed && (s->state == SERVER_SERVING || !had_candidate))
        log_error("", "server.died", "the server process %s; another one is started", how);
    uint64_t lived_us = loop_now_us(k->loop) - s->started_us;
    down(k, how, lived_us < (uint64_t)QUICK_DEATH_MS * 1000);
}

static void start_with(struct keeper *k, struct generation *g)
{
    struct server *s = &k->server;
    const struct plan *who = identity(k, g);
    ASSERT(s->state == SERVER_DOWN && s->child.pid == 0);
    int peer;
    int rc = channel_open(&s->channel, k->loop, &peer);
    if (rc == 0) {
        rc = proc_start(&(struct proc_start){
            .path = k->options->program,
            .argv = k->options->server_argv,
            .envp = (const char *const *)environ,
            .user = k->is_root && who->has_user ? &who->user : NULL,
            .stdin_fd = FD_NONE,
            .stdout_fd = FD_NONE,
            .stderr_fd = FD_NONE,
            .fds = &peer,
            .fd_count = 1,
            .own_group = true,
        });
        fd_close(&peer);
    }
    if (rc < 0) {
        channel_close(&s->channel);
        log_error("", "server.died", "the server process cannot be started: %s", strerror(-rc));
        generation_unref(s->offered);
        s->offered = generation_ref(g);
        down(k, "could not be started", true);
        return;
    }
    child_add(&k->children, &s->child, rc);
    s->state = SERVER_STARTING;
    s->is_dismissed = false;
    s->started_us = loop_now_us(k->loop);
    loop_timer_start(k->loop, &s->timer, (uint64_t)PREPARE_MS * 1000);
    send_generation(k, g);
}

static void on_expired(struct loop_timer *timer)
{
    struct server *s = CONTAINER_OF(timer, struct server, timer);
    struct keeper *k = keeper_of(s);
    if (s->state == SERVER_DOWN) {
        start_with(k, reload_is_preparing(k) ? k->reload.candidate : k->current);
        return;
    }
    log_error("", "server.died", "the server process %d does not answer; it is killed",
              s->child.pid);
    dismiss(k);
}

void server_init(struct server *s)
{
    *s = (struct server){
        .child.on_ended = on_ended,
        .channel.on_msg = on_msg,
        .channel.on_closed = on_closed,
        .timer.on_expired = on_expired,
    };
}

void server_offer(struct keeper *k, struct generation *g)
{
    switch (k->server.state) {
    case SERVER_DOWN:
        loop_timer_stop(&k->server.timer);
        start_with(k, g);
        return;
    case SERVER_STARTING:
        // It may never get up with the old configuration. Its end starts one with the new.
        dismiss(k);
        return;
    case SERVER_SERVING:
        send_generation(k, g);
        return;
    }
}

void server_commit(struct keeper *k)
{
    struct server *s = &k->server;
    ASSERT(s->offered && s->state != SERVER_DOWN);
    if (!s->founder)
        s->founder = generation_ref(s->offered);
    server_send(k, &(struct ipc_msg){.type = IPC_COMMIT, .gen = s->offered->number}, NULL, 0);
    generation_unref(s->offered);
    s->offered = NULL;
    if (s->state == SERVER_STARTING)
        loop_timer_stop(&s->timer);
    s->state = SERVER_SERVING;
    apps_send_infos(k);
}

const char *server_restart_needed(const struct keeper *k, const struct generation *g)
{
    const struct plan *now = identity(k, g);
    const struct plan *wanted = &g->plan;
    bool other_user = now->has_user != wanted->has_user
                      || (now->has_user && !proc_user_same(&now->user, &wanted->user));
    bool other_threads = now->threads != wanted->threads;
    if (other_user && other_threads)
        return "user and threads";
    return other_user ? "user" : other_threads ? "threads" : NULL;
}

void server_abandon(struct keeper *k)
{
    struct server *s = &k->server;
    if (!s->offered || s->offered == k->current)
        return;
    if (s->state == SERVER_SERVING)
        server_send(k, &(struct ipc_msg){.type = IPC_ABANDON, .gen = s->offered->number}, NULL, 0);
    else
        dismiss(k);
    generation_unref(s->offered);
    s->offered = NULL;
}

void server_send(struct keeper *k, const struct ipc_msg *msg, const int *fds, size_t fd_count)
{
    channel_send(&k->server.channel, msg, fds, fd_count);
}

void server_log(struct keeper *k, struct str app, pid_t pid, struct str lines)
{
    if (channel_is_slow(&k->server.channel))
        return;
    struct ipc_msg msg = {.type = IPC_APP_LOG, .name = app, .pid = pid, .text = lines};
    server_send(k, &msg, NULL, 0);
}

bool server_drain(struct keeper *k)
{
    struct server *s = &k->server;
    loop_timer_stop(&s->timer);
    server_send(k, &(struct ipc_msg){.type = IPC_DRAIN}, NULL, 0);
    return s->child.pid != 0;
}

void server_kill(struct keeper *k)
{
    child_signal(&k->server.child, SIGKILL);
}

void server_forget(struct keeper *k)
{
    loop_timer_stop(&k->server.timer);
}
