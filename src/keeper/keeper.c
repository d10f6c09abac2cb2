// SPDX-License-Identifier: Apache-2.0
// keeper -- see keeper.h. Sets everything up, turns signals into calls, takes everything down.
#include "keeper/keeper.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "keeper/error_log.h"
#include "keeper/state.h"
#include "log/log.h"
#include "os/family.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/sig.h"

static const int SIGNALS[] = {SIGCHLD, SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1};

// A worker may end before the word of its spawner is read that makes it one.
static void on_unknown(struct child_table *children)
{
    apps_hear(CONTAINER_OF(children, struct keeper, children));
}

static void on_signal(struct keeper *k, int signal)
{
    switch (signal) {
    case SIGCHLD:
        child_reap(&k->children);
        stop_child_ended(k);
        return;
    case SIGHUP:
        // From the kernel when the terminal is closed; from everybody else it means to reload.
        if (k->has_terminal && !isatty(STDIN_FILENO))
            stop_begin(k, false);
        else
            reload_request(k, 0);
        return;
    case SIGUSR1:
        reload_reopen_logs(k);
        return;
    default: // SIGTERM, SIGINT, SIGQUIT: the second one means now
        stop_begin(k, stop_is_begun(k));
        return;
    }
}

static void on_signals(struct loop_watch *watch, unsigned ready)
{
    struct keeper *k = CONTAINER_OF(watch, struct keeper, signals);
    (void)ready;
    int signal;
    while ((signal = sig_next(k->signal_fd)) != 0)
        on_signal(k, signal);
}

static bool open_loop(struct keeper *k, struct err *err)
{
    int rc;
    k->loop = loop_new(&rc);
    if (!k->loop)
        return err_set(err, "cannot make an event loop: %s", strerror(-rc));
    k->signal_fd = sig_open(SIGNALS, ARRAY_LEN(SIGNALS));
    rc = k->signal_fd;
    k->signals.on_ready = on_signals;
    if (rc >= 0)
        rc = loop_watch_start(k->loop, &k->signals, k->signal_fd, POLL_READ);
    return rc >= 0 || err_set(err, "cannot receive signals: %s", strerror(-rc));
}

static bool open_all(struct keeper *k, struct err *err)
{
    struct rlimit files;
    sig_ignore_pipe();
    notify_open(&k->notify);
    k->files_max = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0;
    proc_raise_files_limit();
    int rc = proc_be_subreaper();
    if (rc < 0)
        return err_set(err, "cannot become the reaper of orphans: %s", strerror(-rc));
    return listeners_inherit(&k->listeners, err) && open_loop(k, err)
           && runtime_dir_open(&k->runtime, k->options->runtime_dir, k->options->instance, err);
}

static void close_all(struct keeper *k)
{
    error_log_leave(k);
    if (k->current)
        generation_close(k->current);
    generation_unref(k->current);
    generation_unref(k->server.founder);
    listeners_done(&k->listeners);
    runtime_dir_close(&k->runtime);
    notify_close(&k->notify);
    loop_watch_stop(&k->signals);
    fd_close(&k->signal_fd);
    // What could not be killed still has its place in the tables and in the loop.
    if (child_count(&k->children) == 0 && !family_has_children()) {
        apps_done(k);
        map_done(&k->children.by_pid);
        loop_free(k->loop);
    }
}

int keeper_run(const struct keeper_options *options)
{
    struct keeper k = {.options = options,
                       .is_root = geteuid() == 0,
                       .has_terminal = isatty(STDIN_FILENO) == 1,
                       .signal_fd = FD_NONE,
                       .children.on_unknown = on_unknown,
                       .notify.fd = FD_NONE};
    struct err err = {0};
    listeners_init(&k.listeners);
    logs_init(&k.logs);
    boards_init(&k.boards);
    apps_init(&k.apps);
    reload_init(&k.reload);
    server_init(&k.server);
    stop_init(&k.stop);
    if (open_all(&k, &err)) {
        reload_request(&k, 0);
        if (k.stop.phase != STOP_DONE)
            loop_run(k.loop);
        if (k.exit_status == 0)
            log_info("", "keeper.stopped", "instance \"%s\" has ended", options->instance);
    } else {
        log_error("", "keeper.failed", "%s", err_text(&err));
        k.exit_status = 1;
    }
    err_done(&err);
    close_all(&k);
    return k.exit_status;
}
