// SPDX-License-Identifier: Apache-2.0
// loader -- see loader.h.
#include "keeper/loader.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "keeper/reload.h"
#include "keeper/state.h"
#include "os/fd.h"
#include "os/proc.h"

#define LOADER_MS 60000 // longest time for reading and checking a configuration

static void on_msg(struct channel *c, const struct ipc_msg *msg, struct fd_received *packet)
{
    struct loader *l = CONTAINER_OF(c, struct loader, channel);
    if (msg->type == IPC_PLAN && packet->fd_count == 2 && l->plan_fd == FD_NONE) {
        l->plan_fd = packet->fds[0];
        l->config_fd = packet->fds[1];
        packet->fds[0] = packet->fds[1] = FD_NONE;
    } else if (msg->type == IPC_PLAN && packet->lost) {
        err_set(&l->errors, "the plan could not be taken over: too many open files "
                            "(RLIMIT_NOFILE)");
    } else if (msg->type == IPC_PLAN_FAILED) {
        err_set(&l->errors, "%.*s", STR_ARG(msg->text));
    } else {
        err_set(&l->errors, "the loader sent an unexpected message");
    }
}

static void on_closed(struct channel *c, const char *why)
{
    struct loader *l = CONTAINER_OF(c, struct loader, channel);
    // Its end is what counts; a channel that broke is an error even if it ends well.
    if (why)
        err_set(&l->errors, "the loader %s", why);
}

static void on_expired(struct loop_timer *timer)
{
    struct loader *l = CONTAINER_OF(timer, struct loader, timer);
    err_set(&l->errors, "the configuration was not read within %d s", LOADER_MS / 1000);
    child_signal(&l->child, SIGKILL);
}

static void on_ended(struct child *child, int status)
{
    struct loader *l = CONTAINER_OF(child, struct loader, child);
    struct keeper *k = CONTAINER_OF(l, struct keeper, loader);
    char text[64];
    channel_drain(&l->channel);
    channel_close(&l->channel);
    loop_timer_stop(&l->timer);
    if (l->plan_fd == FD_NONE && l->errors.count == 0)
        err_set(&l->errors, "the loader %s without a word", proc_exit_text(status, text));

    int plan_fd = l->plan_fd;
    int config_fd = l->config_fd;
    struct err errors = l->errors;
    l->errors = (struct err){0};
    l->plan_fd = l->config_fd = FD_NONE;
    if (errors.count == 0) {
        reload_loaded(k, plan_fd, config_fd);
    } else {
        fd_close(&config_fd);
        reload_fail(k, &errors);
    }
    fd_close(&plan_fd);
    err_done(&errors);
}

bool loader_start(struct keeper *k, struct err *err)
{
    struct loader *l = &k->loader;
    ASSERT(l->child.pid == 0);
    l->child.on_ended = on_ended;
    l->channel.on_msg = on_msg;
    l->channel.on_closed = on_closed;
    l->timer.on_expired = on_expired;
    l->plan_fd = l->config_fd = FD_NONE;
    int peer;
    int rc = channel_open(&l->channel, k->loop, &peer);
    if (rc < 0)
        return err_set(err, "cannot open a channel to the loader: %s", strerror(-rc));
    pid_t pid = proc_start(&(struct proc_start){
        .path = k->options->program,
        .argv = k->options->loader_argv,
        .envp = (const char *const *)environ,
        .stdin_fd = FD_NONE,
        .stdout_fd = FD_NONE,
        .stderr_fd = FD_NONE,
        .fds = &peer,
        .fd_count = 1,
        .death_signal = SIGKILL,
        .own_group = true,
    });
    fd_close(&peer);
    if (pid < 0) {
        channel_close(&l->channel);
        return err_set(err, "cannot start the loader: %s", strerror(-pid));
    }
    child_add(&k->children, &l->child, pid);
    loop_timer_start(k->loop, &l->timer, (uint64_t)LOADER_MS * 1000);
    return true;
}

void loader_kill(struct keeper *k)
{
    child_signal(&k->loader.child, SIGKILL);
}
