// SPDX-License-Identifier: Apache-2.0
// server -- the role that serves: takes what the keeper sends (listeners, logs, scoreboards, a
// sealed configuration), runs the threads and the pools, and tells the keeper what it needs. Opens
// no listener, log or process itself.
//
//   NEW --PREPARE--> prepared --COMMIT--> SERVING --DRAIN, keeper gone--> DRAINING --all served, or
//                      PREPARE, COMMIT, ABANDON: <--'                       the time is over--> end
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin/api.h"
#include "app/app_conf.h"
#include "app/pool.h"
#include "base/assert.h"
#include "base/hash.h"
#include "core/server_conf.h"
#include "front/accept.h"
#include "keeper/channel.h"
#include "log/log.h"
#include "main/modules.h"
#include "main/roles.h"
#include "main/server_boards.h"
#include "main/server_files.h"
#include "main/server_listeners.h"
#include "main/server_logs.h"
#include "main/server_output.h"
#include "main/server_rest.h"
#include "main/server_threads.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/random.h"
#include "os/sig.h"
#include "os/sock.h"

#define ORPHAN_MS     4000  // for running requests when the keeper has died
#define DRAIN_LOOK_US 20000 // how often a drain looks whether all is done
#define FAILURE_BYTES (8 * 1024)

struct server {
    struct loop *loop;
    struct channel channel;
    struct server_threads threads;
    struct server_listeners listeners;
    struct server_logs logs;
    struct server_boards boards;
    struct snapshot *candidate; // PREPARED, not committed
    uint64_t began_us;
    bool is_incomplete; // something of the generation that is prepared was lost
    bool serving;
    bool draining;
    bool all_draining; // each thread has heard of it
    uint64_t drain_end_us;
    struct loop_timer drain_timer;
    char socket[SOCK_TEXT_MAX]; // path of the control socket
};

static struct server server;

static void tell(const struct ipc_msg *msg)
{
    channel_send(&server.channel, msg, NULL, 0);
}

static void link_start(void *arg, struct str app, uint32_t worker_id)
{
    (void)arg;
    tell(&(struct ipc_msg){.type = IPC_START, .name = app, .id = worker_id});
}

static void link_signal(void *arg, uint32_t worker_id, int signal)
{
    (void)arg;
    tell(&(struct ipc_msg){.type = IPC_KILL, .id = worker_id, .status = signal});
}

static void link_app_idle(void *arg, struct str app)
{
    (void)arg;
    tell(&(struct ipc_msg){.type = IPC_APP_IDLE, .name = app});
}

static void link_renew(void *arg, struct str app)
{
    (void)arg;
    tell(&(struct ipc_msg){.type = IPC_APP_RENEW, .name = app});
}

static void link_restarted(void *arg, struct str app, bool ok, struct str text)
{
    (void)arg;
    tell(&(struct ipc_msg){.type = IPC_APP_SETTLE, .name = app, .status = !ok});
    if (server_listeners_control(&server.listeners) != FD_NONE)
        api_restarted(app, ok, text);
}

static void on_ask(void *arg, enum api_command command, uint32_t id)
{
    (void)arg;
    switch (command) {
    case API_RELOAD:
        tell(&(struct ipc_msg){.type = IPC_RELOAD, .id = id});
        break;
    case API_STOP:
    case API_STOP_NOW:
        tell(&(struct ipc_msg){.type = IPC_STOP, .id = id, .status = command == API_STOP_NOW});
        break;
    case API_REOPEN_LOGS:
        tell(&(struct ipc_msg){.type = IPC_REOPEN_LOGS, .id = id});
        break;
    case API_RESTART:
        break;
    }
}

static void on_count(void *arg)
{
    (void)arg;
    server_logs_count(&server.logs);
}

static struct str *on_listeners(void *arg, struct arena *a, size_t *out_count)
{
    (void)arg;
    return server_listeners_names(&server.listeners, a, out_count);
}

// The first configuration says how many threads there are and how messages look.
static bool set_up(const struct snapshot *s, uint32_t threads, struct err *err)
{
    if (server.threads.count)
        return true;
    const struct server_conf *conf = server_conf(s);
    unsigned count = threads ? threads : proc_cpu_count();
    log_init((enum log_level)conf->log_level, (enum log_format)conf->log_format, 2);
    int rc = server_threads_open(&server.threads, server.loop, count);
    if (rc < 0)
        return err_set(err, "%u threads cannot be prepared: %s", count, strerror(-rc));
    struct pool_link link = {.start = link_start,
                             .signal = link_signal,
                             .app_idle = link_app_idle,
                             .renew = link_renew,
                             .restarted = link_restarted};
    pool_open(&link, &server.threads.items[0], count);
    pool_thread_start(&server.threads.items[0]);
    server_logs_watch(&server.logs, server.loop, &server.threads.items[0].metrics);
    return true;
}

static struct snapshot *build(uint32_t gen, uint32_t threads, int fd, struct err *err)
{
    struct buf bytes = {0};
    bool is_whole = false;
    struct snapshot *s = snapshot_new(gen);
    int rc = file_read_fd(fd, &bytes);
    struct tree_node *tree = rc == 0 ? tree_unpack(buf_view(&bytes), &s->arena, &is_whole) : NULL;
    buf_done(&bytes);
    bool ok = is_whole ? snapshot_build(s, tree, err) != NULL
                       : err_set(err, "the configuration could not be taken over from the loader");
    if (ok && set_up(s, threads, err) && snapshot_start(s, err))
        return s;
    snapshot_unref(s);
    return NULL;
}

static void drop_candidate(void)
{
    snapshot_unref(server.candidate);
    server.candidate = NULL;
}

static void on_prepare(uint32_t gen, uint32_t threads, int fd)
{
    struct err err = {0};
    drop_candidate();
    if (fd == FD_NONE || server.is_incomplete) {
        err_set(&err, "the server could not take listeners and logs over: too many open files "
                      "(RLIMIT_NOFILE)");
    } else {
        server.candidate = build(gen, threads, fd, &err);
    }
    server.is_incomplete = false;
    if (server.candidate)
        tell(&(struct ipc_msg){.type = IPC_PREPARED, .gen = gen});
    else
        tell(&(struct ipc_msg){.type = IPC_REFUSED, .gen = gen, .text = str_c(err_text(&err))});
    err_done(&err);
}

static void on_abandon(void)
{
    server.is_incomplete = false;
    drop_candidate();
    server_listeners_abandon(&server.listeners);
    server_logs_abandon(&server.logs);
    server_boards_abandon(&server.boards);
}

// /run/godwit/NAME/control.sock: the instance's name is that of its directory.
static struct str instance_of(struct str path)
{
    struct str dir = str_slice(path, 0, str_rfind(path, '/'));
    size_t slash = str_rfind(dir, '/');
    return slash < dir.len ? str_skip(dir, slash + 1) : dir;
}

static void open_api(void)
{
    struct sock_addr addr;
    char text[SOCK_TEXT_MAX] = "";
    int control = server_listeners_control(&server.listeners);
    if (control != FD_NONE && sock_name(control, &addr) == 0)
        (void)sock_addr_text(&addr, text);
    struct str path = str_c(text);
    if (str_starts(path, STR("unix:")))
        path = str_skip(path, STR("unix:").len);
    (void)snprintf(server.socket, sizeof server.socket, "%.*s", STR_ARG(path));
    struct api_host host = {
        .instance = instance_of(str_c(server.socket)),
        .socket = str_c(server.socket),
        .keeper_pid = getppid(),
        .server_pid = getpid(),
        .began_us = server.began_us,
        .threads = server.threads.items,
        .thread_count = server.threads.count,
        .count = on_count,
        .listeners = on_listeners,
        .ask = on_ask,
    };
    api_open(&host);
}

static void on_all_committed(void *arg)
{
    tell(&(struct ipc_msg){.type = IPC_COMMITTED, .gen = (uint32_t)(uintptr_t)arg});
}

static void on_commit(uint32_t gen)
{
    struct snapshot *s = server.candidate;
    if (!s || s->generation != gen || server.draining)
        return;
    server.candidate = NULL;
    server_logs_commit(&server.logs, s);
    app_conf_commit(s);
    server_boards_commit(&server.boards);
    snapshot_commit(s);
    server_files_share(s, server.threads.count);
    if (!server.serving) {
        server.serving = true;
        int rc = server_threads_run(&server.threads);
        if (rc < 0)
            log_error("", "server.threads_failed", "not all threads could be started: %s",
                      strerror(-rc));
    }
    bool is_first = server_listeners_control(&server.listeners) == FD_NONE;
    server_listeners_commit(&server.listeners, &server.threads);
    if (is_first) {
        server_rest_open(&server.threads);
        open_api(); // no connection is accepted before the next turn
    }
    server_threads_after(&server.threads, on_all_committed, (void *)(uintptr_t)gen);
}

static int64_t open_connections(void)
{
    int64_t open = 0;
    for (unsigned i = 0; i < server.threads.count; i++)
        open += atomic_load_explicit(&server.threads.items[i].metrics.connections_open,
                                     memory_order_relaxed);
    return open;
}

static void look_whether_drained(void)
{
    // A thread that still accepts may have taken a connection that is not counted yet.
    bool is_done = server.all_draining && open_connections() <= 0;
    if (is_done || loop_now_us(server.loop) >= server.drain_end_us)
        loop_stop(server.loop);
    else
        loop_timer_start(server.loop, &server.drain_timer, DRAIN_LOOK_US);
}

static void on_drain_timer(struct loop_timer *timer)
{
    (void)timer;
    look_whether_drained();
}

static void drain_thread(struct thread *t, void *arg)
{
    (void)arg;
    front_drain(t, false);
}

// Another server is about to come, and nobody waits for the end of this one.
static void drain_thread_gently(struct thread *t, void *arg)
{
    (void)arg;
    front_drain(t, true);
}

static void cut_thread(struct thread *t, void *arg)
{
    (void)arg;
    front_cut(t);
}

static void on_all_draining(void *arg)
{
    (void)arg;
    server.all_draining = true;
    look_whether_drained();
}

static void drain(uint64_t time_ms, server_threads_fn *begin)
{
    uint64_t end_us = loop_now_us(server.loop) + time_ms * 1000;
    if (server.draining && end_us >= server.drain_end_us)
        return;
    server.drain_end_us = end_us;
    if (!server.draining) {
        server.draining = true;
        server_listeners_abandon(&server.listeners);
        server_listeners_commit(&server.listeners, &server.threads); // to none
        server_threads_each(&server.threads, begin, NULL);
        server_threads_after(&server.threads, on_all_draining, NULL);
    }
    look_whether_drained();
}

static void on_drain(void)
{
    struct snapshot *s = snapshot_current();
    drain(s ? (uint64_t)server_conf(s)->drain_ms : 0, drain_thread);
    snapshot_unref(s);
}

static void on_channel_closed(struct channel *c, const char *why)
{
    (void)c;
    log_error("", "server.orphaned",
              "the keeper %s; running requests are finished, then this process ends",
              why ? why : "is gone");
    pool_orphan();
    drain(ORPHAN_MS, drain_thread_gently);
}

static int take_fd(struct fd_received *packet, size_t index)
{
    if (index >= packet->fd_count)
        return FD_NONE;
    int fd = packet->fds[index];
    packet->fds[index] = FD_NONE;
    return fd;
}

static void on_worker_ready(const struct ipc_msg *msg, struct fd_received *packet)
{
    int fd = take_fd(packet, 0);
    int output = take_fd(packet, 1);
    if (output != FD_NONE)
        server_output_open(server.loop, msg->name, msg->id, msg->pid, output);
    if (fd != FD_NONE)
        pool_ready(msg->name, msg->id, msg->pid, fd);
    else // lost for lack of descriptors: of no use to anybody, its end tells the pool
        link_signal(NULL, msg->id, SIGKILL);
}

// "while booting: exited with 1: ...", from what the keeper knows.
static void on_worker_failed(const struct ipc_msg *msg)
{
    char scope[128];
    char how[64] = "";
    char quoted[FAILURE_BYTES];
    bool is_wait_status = msg->stage == IPC_STAGE_PRELOAD || msg->stage == IPC_STAGE_BOOT;
    if (is_wait_status)
        proc_exit_text(msg->status, how);
    struct str words = msg->text;
    while (words.len && words.ptr[words.len - 1] == '\n')
        words.len--;
    struct buf text = {0};
    buf_fmt(&text, "%s%s%s%s%s", ipc_stage_text(msg->stage), how[0] ? " it " : "", how,
            words.len ? ": " : "", words.len ? log_quote(words, quoted, sizeof quoted) : "");
    (void)snprintf(scope, sizeof scope, "app %.*s", STR_ARG(msg->name));
    log_error(scope, "app.failed", "a worker could not be started: %.*s", STR_ARG(buf_view(&text)));
    pool_failed(msg->name, msg->id, buf_view(&text));
    buf_done(&text);
}

static void on_worker_exit(const struct ipc_msg *msg)
{
    struct pool_end end;
    if (pool_exited(msg->name, msg->id, msg->status, &end) != POOL_EXIT_UNEXPECTED)
        return;
    char scope[128];
    char how[64];
    char quoted[FAILURE_BYTES];
    char request[POOL_REQUEST_TEXT_BYTES] = "";
    bool is_known = msg->status != IPC_STATUS_UNKNOWN;
    struct buf last = {0};
    server_output_last(msg->id, &last);
    (void)snprintf(scope, sizeof scope, "app %.*s", STR_ARG(msg->name));
    log_warn(scope, "worker.died",
             "worker %d %s, unasked%s%s%s; another one is started when it is needed%s%s",
             (int)end.pid, is_known ? proc_exit_text(msg->status, how) : "has ended",
             is_known ? "" : ", it is not known how",
             !end.request.id[0] ? ""
             : end.answered     ? ", after its answer to request "
                                : ", over request ",
             end.request.id[0] ? pool_request_text(&end.request, request) : "",
             buf_len(&last) ? "; its last words: " : "",
             buf_len(&last) ? log_quote(buf_view(&last), quoted, sizeof quoted) : "");
    buf_done(&last);
}

static void on_offer(const struct ipc_msg *msg, struct fd_received *packet)
{
    int fd = take_fd(packet, 0);
    if (fd == FD_NONE && msg->type == IPC_LOG_REOPENED) {
        log_error("", "log.failed", "the new file of the log %.*s could not be taken over: %s",
                  STR_ARG(msg->name), strerror(EMFILE));
    } else if (fd == FD_NONE) {
        server.is_incomplete = true;
    } else if (msg->type == IPC_LISTENER) {
        server_listeners_offer(&server.listeners, msg->name, fd);
    } else if (msg->type == IPC_LOG) {
        server_logs_offer(&server.logs, msg->name, fd);
    } else if (msg->type == IPC_BOARD) {
        server_boards_offer(&server.boards, msg->name, fd);
    } else {
        server_logs_reopened(&server.logs, msg->name, fd);
    }
}

static void on_msg(struct channel *c, const struct ipc_msg *msg, struct fd_received *packet)
{
    (void)c;
    switch (msg->type) {
    case IPC_LISTENER:
    case IPC_LOG:
    case IPC_BOARD:
    case IPC_LOG_REOPENED:
        on_offer(msg, packet);
        break;
    case IPC_PREPARE:
        on_prepare(msg->gen, msg->index, packet->fd_count ? packet->fds[0] : FD_NONE);
        break;
    case IPC_COMMIT:
        on_commit(msg->gen);
        break;
    case IPC_ABANDON:
        on_abandon();
        break;
    case IPC_WORKER_READY:
        on_worker_ready(msg, packet);
        break;
    case IPC_WORKER_FAILED:
        on_worker_failed(msg);
        break;
    case IPC_WORKER_EXIT:
        on_worker_exit(msg);
        break;
    case IPC_APP_LOG:
        server_output_log(msg->name, msg->pid, msg->text);
        break;
    case IPC_APP_INFO:
        pool_info(msg->name, msg->text);
        break;
    case IPC_ANSWER:
        api_answer(msg->id, msg->status, msg->text);
        break;
    case IPC_DRAIN:
        on_drain();
        break;
    // What the keeper does not say to a server.
    case IPC_PLAN:
    case IPC_PLAN_FAILED:
    case IPC_PREPARED:
    case IPC_REFUSED:
    case IPC_COMMITTED:
    case IPC_START:
    case IPC_KILL:
    case IPC_APP_IDLE:
    case IPC_RELOAD:
    case IPC_STOP:
    case IPC_REOPEN_LOGS:
    case IPC_FORK:
    case IPC_LEAVE:
    case IPC_HELLO:
    case IPC_FORKED:
    case IPC_READY:
    case IPC_FAILED:
    case IPC_APP_RENEW:
    case IPC_APP_SETTLE:
        break;
    }
}

// Signals are the keeper's business: one sent to all processes of the instance must not cut
// requests.
static int leave_signals(void)
{
    static const int SIGNALS[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sig_ignore_pipe();
    return sig_open(SIGNALS, (int)ARRAY_LEN(SIGNALS));
}

static int open_server(int channel)
{
    int rc = 0;
    server = (struct server){
        .channel = {.on_msg = on_msg, .on_closed = on_channel_closed},
        .drain_timer = {.on_expired = on_drain_timer},
        .began_us = clock_mono_us(),
    };
    hash_key(random_u64(), random_u64());
    modules_register();
    proc_raise_files_limit();
    server_listeners_init(&server.listeners);
    server_logs_init(&server.logs);
    server_boards_init(&server.boards);
    rc = leave_signals();
    if (rc < 0)
        return rc;
    server.loop = loop_new(&rc);
    return server.loop ? channel_adopt(&server.channel, server.loop, channel) : rc;
}

static void close_server(void)
{
    loop_timer_stop(&server.drain_timer);
    server_rest_close();
    channel_close(&server.channel);
    server_threads_each(&server.threads, cut_thread, NULL);
    server_threads_close(&server.threads);
    api_close();
    server_output_close();
    server_logs_close(&server.logs);
}

int server_role(int channel)
{
    int rc = proc_harden(true);
    if (rc == 0)
        rc = open_server(channel);
    if (rc < 0) {
        log_error("", "server.failed", "the server cannot start: %s", strerror(-rc));
        return 1;
    }
    loop_run(server.loop);
    close_server();
    // So that tools which look for leaks at the end of a process can do their work.
    (void)!proc_harden(false);
    return 0;
}
