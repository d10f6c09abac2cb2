// SPDX-License-Identifier: Apache-2.0
// spawner -- see spawner.h.
//
//     LOADING --HELLO--> UP --spawner_leave, spawner_kill--> LEAVING
//        '----------------'-------------------------------------'---on_ended--> ENDED
//     ENDED --on_check--> freed, when no worker that it forked is still booting
//
// Everybody on the channel runs as the app's user, so all are trusted alike: with workers of their
// own app, and nothing else.
#include "keeper/spawner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "keeper/state.h"
#include "keeper/worker.h"
#include "log/log.h"
#include "os/fd.h"
#include "os/proc.h"

#define SCOPE_BYTES    80
#define INFO_BYTES_MAX ((size_t)16 * 1024)

static const char *const ENV[] = {"GODWIT_CHANNEL=3", "GODWIT_BOARD=4"};

static struct str name_of(const struct spawner *s)
{
    return s->app->plan->name;
}

static const char *scope_of(const struct spawner *s, char room[static SCOPE_BYTES])
{
    snprintf(room, SCOPE_BYTES, "app %.*s", STR_ARG(str_slice(name_of(s), 0, SCOPE_BYTES - 8)));
    return room;
}

static void detach(struct spawner *s)
{
    if (s->app->spawner == s)
        s->app->spawner = NULL;
    if (s->app->old == s)
        s->app->old = NULL;
}

static void send_leave(struct spawner *s)
{
    struct keeper *k = s->app->k;
    s->state = SPAWNER_LEAVING;
    channel_send(&s->channel, &(struct ipc_msg){.type = IPC_LEAVE}, NULL, 0);
    loop_timer_start(k->loop, &s->timer, s->app->plan->stop_ms * 1000);
}

// NULL or what is wrong with it, as the functions below.
static const char *on_hello(struct spawner *s, struct str info)
{
    struct app *app = s->app;
    char scope[SCOPE_BYTES];
    if (s->state == SPAWNER_LEAVING || s->state == SPAWNER_ENDED)
        return NULL; // it said so before it was asked to end
    if (s->state != SPAWNER_LOADING)
        return "has said hello twice";
    s->state = SPAWNER_UP;
    loop_timer_stop(&s->timer);
    if (app->plan->program && *app->plan->program) {
        log_info(scope_of(s, scope), "app.loaded", "%s is loaded, by process %d",
                 app->plan->program, s->child.pid);
    }
    info = str_slice(info, 0, INFO_BYTES_MAX);
    mem_free(app->info);
    app->info = mem_alloc(info.len + 1);
    memcpy(app->info, info.ptr, info.len);
    if (!app->is_retired) {
        server_send(app->k,
                    &(struct ipc_msg){.type = IPC_APP_INFO, .name = name_of(s), .text = info}, NULL,
                    0);
    }
    list_foreach(&app->workers, struct worker, node, w)
        if (w->spawner == s && w->state == WORKER_WAITING)
            worker_fork(w);
    if (s->leave_wanted)
        send_leave(s);
    return NULL;
}

static const char *obey(struct spawner *s, const struct ipc_msg *msg, struct fd_received *packet)
{
    if (packet->fd_count > (msg->type == IPC_READY ? 1 : 0))
        return "has sent a descriptor that it may not send (is it built with an older library?)";
    if (msg->type == IPC_HELLO)
        return on_hello(s, msg->text);
    if (msg->type == IPC_FORKED)
        return worker_forked(s, msg->id, msg->pid);
    if (msg->type == IPC_READY)
        return worker_ready(s, msg->id, msg->pid, packet);
    if (msg->type != IPC_FAILED)
        return "has sent a message that it may not send";
    worker_failed(s, msg, packet->pid);
    return NULL;
}

// Told once, for nothing more is heard: all who hold the channel are of one user.
static void break_off(struct spawner *s, const char *why)
{
    char scope[SCOPE_BYTES];
    log_warn(scope_of(s, scope), "app.protocol", "the spawner %d or one of its workers %s",
             s->child.pid, why);
    channel_close(&s->channel);
    spawner_kill(s);
    worker_lose_channel(s, why);
}

static void on_msg(struct channel *c, const struct ipc_msg *msg, struct fd_received *packet)
{
    struct spawner *s = CONTAINER_OF(c, struct spawner, channel);
    const char *why = obey(s, msg, packet);
    if (why)
        break_off(s, why);
}

static void on_closed(struct channel *c, const char *why)
{
    struct spawner *s = CONTAINER_OF(c, struct spawner, channel);
    if (s->state == SPAWNER_ENDED)
        return;
    s->is_lost = !why && s->state == SPAWNER_UP;
    // Without a channel it is of no use; most probably it is about to end.
    if (why)
        break_off(s, why);
    else
        spawner_leave(s);
}

static void on_lines(struct output *o, struct str lines)
{
    struct spawner *s = CONTAINER_OF(o, struct spawner, output);
    server_log(s->app->k, name_of(s), s->child.pid, lines);
}

static void fail_waiting(struct spawner *s, int status)
{
    struct buf text = {0};
    buf_fmt(&text, "the spawner has not reported within %llu ms\n",
            (unsigned long long)s->app->plan->start_ms);
    (void)!buf_put(&text, output_tail(&s->output));
    list_foreach(&s->app->workers, struct worker, node, w)
        if (w->spawner == s && w->state == WORKER_WAITING)
            worker_fail(w, IPC_STAGE_PRELOAD, status, buf_view(&text));
    buf_done(&text);
}

static void on_expired(struct loop_timer *timer)
{
    struct spawner *s = CONTAINER_OF(timer, struct spawner, timer);
    output_drain(&s->output);
    if (s->state == SPAWNER_LOADING)
        fail_waiting(s, SIGKILL); // the wait status that it is going to have
    spawner_kill(s);
}

static void on_ended(struct child *child, int status)
{
    struct spawner *s = CONTAINER_OF(child, struct spawner, child);
    char scope[SCOPE_BYTES];
    char how[64];
    // What it has said before its end counts.
    channel_drain(&s->channel);
    output_drain(&s->output);
    if (s->state == SPAWNER_UP || (s->is_lost && status != 0)) {
        log_warn(scope_of(s, scope), "app.failed",
                 "the spawner %s; another one is started when a worker is needed",
                 proc_exit_text(status, how));
    }
    s->state = SPAWNER_ENDED;
    loop_timer_stop(&s->timer);
    detach(s);
    worker_lose_spawner(s, status);
    output_close(&s->output);
    spawner_check(s);
}

static void on_check(struct loop_task *task)
{
    struct spawner *s = CONTAINER_OF(task, struct spawner, check);
    struct app *app = s->app;
    bool is_needed = s->state != SPAWNER_ENDED;
    list_foreach(&app->workers, struct worker, node, w)
        is_needed = is_needed || w->spawner == s;
    if (is_needed)
        return;
    channel_close(&s->channel);
    list_remove(&s->node);
    mem_free(s);
    loop_later(app->k->loop, &app->check);
}

static const char *const *make_env(const struct plan_app *plan)
{
    size_t count = 0;
    while (plan->envp[count])
        count++;
    const char **env = mem_array(count + ARRAY_LEN(ENV) + 1, sizeof *env);
    memcpy(env, plan->envp, count * sizeof *env);
    memcpy(env + count, ENV, sizeof ENV);
    return env;
}

// Pid or -errno.
static int start_process(struct spawner *s, int peer, int err_fd)
{
    const struct app *app = s->app;
    const struct plan_app *plan = app->plan;
    const char *const *env = make_env(plan);
    int fds[] = {peer, app->board->fd};
    pid_t pid = proc_start(&(struct proc_start){
        .path = plan->argv[0],
        .argv = plan->argv,
        .envp = env,
        .dir = plan->dir ? plan->dir : "/",
        .user = app->k->is_root && plan->has_user ? &plan->user : NULL,
        .stdin_fd = FD_NONE,
        .stdout_fd = err_fd,
        .stderr_fd = err_fd,
        .fds = fds,
        .fd_count = ARRAY_LEN(fds),
        .death_signal = SIGTERM,
        .files_max = app->k->files_max,
        .own_group = true,
    });
    mem_free((void *)(uintptr_t)env);
    return pid;
}

int spawner_start(struct app *app)
{
    struct keeper *k = app->k;
    struct spawner *s = mem_new(struct spawner);
    s->app = app;
    s->child.on_ended = on_ended;
    s->channel.on_msg = on_msg;
    s->channel.on_closed = on_closed;
    s->output.on_lines = on_lines;
    s->timer.on_expired = on_expired;
    s->check.run = on_check;
    int peer = FD_NONE;
    int err_pipe[2] = {FD_NONE, FD_NONE};
    int rc = channel_open(&s->channel, k->loop, &peer);
    if (rc == 0)
        rc = fd_pipe(err_pipe);
    if (rc == 0) {
        rc = output_open(&s->output, k->loop, err_pipe[0]);
        if (rc == 0)
            rc = start_process(s, peer, err_pipe[1]);
    }
    fd_close(&peer);
    fd_close(&err_pipe[1]);
    if (rc < 0) {
        output_close(&s->output);
        channel_close(&s->channel);
        mem_free(s);
        return rc;
    }
    child_add(&k->children, &s->child, rc);
    list_push_back(&app->spawners, &s->node);
    app->spawner = s;
    loop_timer_start(k->loop, &s->timer, app->plan->start_ms * 1000);
    return 0;
}

void spawner_leave(struct spawner *s)
{
    detach(s);
    if (s->state == SPAWNER_UP) {
        send_leave(s);
    } else if (s->state == SPAWNER_LOADING) {
        // LEAVE would be read only after the load; end it now, unless somebody waits for it.
        bool is_waited_for = false;
        list_foreach(&s->app->workers, struct worker, node, w)
            is_waited_for = is_waited_for || (w->spawner == s && w->state == WORKER_WAITING);
        s->leave_wanted = true;
        if (!is_waited_for) {
            child_signal(&s->child, SIGTERM);
            send_leave(s);
        }
    }
}

void spawner_kill(struct spawner *s)
{
    detach(s);
    if (s->state == SPAWNER_ENDED)
        return;
    s->state = SPAWNER_LEAVING;
    loop_timer_stop(&s->timer);
    child_signal(&s->child, SIGKILL);
}

void spawner_check(struct spawner *s)
{
    loop_later(s->app->k->loop, &s->check);
}
