// SPDX-License-Identifier: Apache-2.0
// worker -- see worker.h.
//
//     WAITING   worker_start; for HELLO         --worker_fork--> FORKING
//     FORKING   the spawner was asked           --worker_forked--> BOOTING
//     BOOTING   a process; READY may be here    --worker_ready--> READY
//     READY     the server has its connection   --on_ended--> freed, EXIT is told
//
//     worker_fail leads from WAITING to the end, FORKING and BOOTING are killed first. FAILED is
//     told at once, the end of the process ends the object.
//
// Who is who: the spawner says a number (FORKED), the kernel says who sent READY; both must agree,
// the process must be a child of ours that nobody owns (its spawner forks twice, and the keeper is
// the reaper of orphans), and it must run as the app's user. Until then it is a stranger: a spawner
// is not to be believed, and what it names may be anybody's, so that it is not even killed. FORKED
// and READY come from two senders, in any order.
//
// A program that forks its workers by itself (lib/app/spawner.h) has a child of the keeper beside
// each, which ends with it: that one is the worker here, and names the other. The other is shown,
// and killed along; it must run as the app's user, too, so that nobody else can be meant.
//
// The ids are the server's. A new server may use those of the last one again while workers of that
// one still start, so that messages from a spawner are matched by id and process. A spawner says
// FORKED in the order it was asked, and before its next fork: of several workers with one id the
// oldest without a process is meant.
#include "keeper/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "keeper/output.h"
#include "keeper/spawner.h"
#include "keeper/state.h"
#include "log/log.h"
#include "os/closer.h"
#include "os/family.h"
#include "os/proc.h"

#define WHY_BYTES       128 // a reason to refuse a process
#define DESCENDANTS_MAX 256 // that are killed with a worker

// The pipe of a booting worker; most workers have none, and it is large.
struct worker_output {
    struct output output;
    struct worker *worker;
};

static struct keeper *keeper_of(const struct worker *w)
{
    return w->app->k;
}

static struct str key_of(const uint32_t *id)
{
    return str_n((const char *)id, sizeof *id);
}

static void set_timer(struct worker *w, uint64_t after_ms)
{
    loop_timer_start(keeper_of(w)->loop, &w->timer, after_ms * 1000);
}

// The server hears nothing more of it, and may use its id again.
static void settle(struct worker *w)
{
    if (w->is_told)
        return;
    w->is_told = true;
    map_remove(&keeper_of(w)->apps.workers, key_of(&w->id));
}

static void tell_failed(struct worker *w, enum ipc_stage stage, int32_t status, struct str text)
{
    if (w->is_told)
        return;
    struct ipc_msg msg = {.type = IPC_WORKER_FAILED,
                          .name = w->app->plan->name,
                          .id = w->id,
                          .pid = w->child.pid,
                          .stage = stage,
                          .status = status,
                          .text = text};
    server_send(keeper_of(w), &msg, NULL, 0);
    settle(w);
}

static void drop_output(struct worker *w)
{
    if (w->output)
        output_close(&w->output->output);
    mem_free(w->output);
    w->output = NULL;
}

// What the worker wrote to its stderr lately.
static struct str last_words(struct worker *w)
{
    if (!w->output)
        return (struct str){0};
    output_drain(&w->output->output);
    return output_tail(&w->output->output);
}

static void drop_spawner(struct worker *w)
{
    if (w->spawner)
        spawner_check(w->spawner);
    w->spawner = NULL;
}

static void free_worker(struct worker *w)
{
    struct app *app = w->app;
    ASSERT(w->child.pid == 0);
    settle(w);
    loop_timer_stop(&w->timer);
    drop_output(w);
    drop_spawner(w);
    closer_close_stream(&w->ready_fd);
    fd_close(&w->errors);
    fd_close(&w->server);
    boards_leave(app->board, w->index);
    list_remove(&w->node);
    mem_free(w);
    loop_later(app->k->loop, &app->check);
}

// Kills a child of the keeper, or the process behind `pidfd`, with its descendants.
static void kill_family(pid_t pid, int pidfd, const struct child *child)
{
    int descendants[DESCENDANTS_MAX];
    size_t count = family_descendants(pid, descendants, DESCENDANTS_MAX);
    // With a pidfd the number was that process's if there still is one.
    bool is_it = child ? child_signal(child, SIGKILL) : proc_kill(pidfd, SIGKILL) == 0;
    for (size_t i = 0; i < count; i++) {
        if (is_it)
            (void)proc_kill(descendants[i], SIGKILL);
        fd_close(&descendants[i]);
    }
}

// What the worker has started goes with it, also what left its group. Only now can it be known:
// without its parent it is one more child of the keeper.
static void kill_now(struct worker *w)
{
    w->is_killed = true;
    if (w->server != FD_NONE)
        kill_family(w->server_pid, w->server, NULL);
    if (w->child.pid)
        kill_family(w->child.pid, FD_NONE, &w->child);
}

// Fails a worker that was not ready in time, with what it wrote until now.
static void fail_late(struct worker *w, const char *who, enum ipc_stage stage, int32_t status)
{
    struct buf text = {0};
    buf_fmt(&text, "%s has not reported within %llu ms\n", who,
            (unsigned long long)w->app->plan->start_ms);
    (void)!buf_put(&text, last_words(w));
    worker_fail(w, stage, status, buf_view(&text));
    buf_done(&text);
}

static void on_expired(struct loop_timer *timer)
{
    struct worker *w = CONTAINER_OF(timer, struct worker, timer);
    if (w->state == WORKER_FORKING) {
        // A spawner that does not fork is of no use to anybody.
        fail_late(w, "the spawner", IPC_STAGE_FORK, ETIMEDOUT);
        spawner_kill(w->spawner);
    } else if (w->state == WORKER_BOOTING && !w->is_told && !w->is_killed) {
        fail_late(w, "the worker", IPC_STAGE_BOOT, SIGKILL);
    } else {
        kill_now(w);
    }
}

// A minder ends in peace when who serves has ended: that one's status is of interest then.
static void note_end(struct worker *w)
{
    int status;
    switch (proc_end(w->server, w->server_pid, &status)) {
    case PROC_END_NOT_YET:
        return; // the minder's own
    case PROC_END_KNOWN:
        w->server_end = status;
        break;
    case PROC_END_UNKNOWN:
        w->server_end = IPC_STATUS_UNKNOWN;
        break;
    }
    w->has_server_end = true;
}

// The worker is dead, but its number and process group are still its own.
static void on_ending(struct child *child)
{
    struct worker *w = CONTAINER_OF(child, struct worker, child);
    // READY or FAILED may still stand in the channel, and are matched by the number.
    if (w->state == WORKER_BOOTING && w->spawner)
        channel_drain(&w->spawner->channel);
    if (w->server != FD_NONE) {
        note_end(w);
        kill_family(w->server_pid, w->server, NULL); // unless it has ended, too
    }
    if (w->app->plan->keep_children && !w->is_killed)
        return;
    pid_t pid = child->pid;
    if (family_is_group_leader(pid))
        family_kill_group(pid, SIGKILL);
    if (family_session(pid) == pid)
        child_kill_strangers(&keeper_of(w)->children, SIGKILL, pid);
}

static void on_ended(struct child *child, int status)
{
    struct worker *w = CONTAINER_OF(child, struct worker, child);
    if (w->has_server_end && w->state != WORKER_BOOTING)
        status = w->server_end;
    if (w->state == WORKER_BOOTING) {
        tell_failed(w, IPC_STAGE_BOOT, status, last_words(w));
    } else if (!w->is_told) {
        struct ipc_msg msg = {
            .type = IPC_WORKER_EXIT, .name = w->app->plan->name, .id = w->id, .status = status};
        server_send(keeper_of(w), &msg, NULL, 0);
    }
    free_worker(w);
}

// The process is who it should be: hand it over.
static void hand_over(struct worker *w)
{
    int fds[] = {w->ready_fd, output_release(&w->output->output)};
    struct ipc_msg msg = {
        .type = IPC_WORKER_READY, .name = w->app->plan->name, .id = w->id, .pid = w->child.pid};
    if (w->server_pid)
        msg.pid = w->server_pid;
    w->state = WORKER_READY;
    loop_timer_stop(&w->timer);
    server_send(keeper_of(w), &msg, fds, fds[1] == FD_NONE ? 1 : 2);
    fd_close(&fds[1]);
    closer_close(&w->ready_fd, 1); // the server may have closed its own by now
    drop_output(w);
    drop_spawner(w);
}

// Both words have come.
static void check_ready(struct worker *w)
{
    char text[WHY_BYTES];
    if (w->is_told || w->is_killed) {
        closer_close_stream(&w->ready_fd);
        return;
    }
    uid_t user = apps_user(w->app);
    if (w->ready_pid != w->child.pid) {
        snprintf(text, sizeof text, "process %d said that it is ready as worker %u, which is %d",
                 w->ready_pid, w->id, w->child.pid);
    } else if (w->ready_uid != user) {
        snprintf(text, sizeof text, "process %d does not run as uid %u, but as %u", w->ready_pid,
                 user, w->ready_uid);
    } else if (w->server_pid && w->server == FD_NONE) {
        snprintf(text, sizeof text, "process %d, which is to serve, does not run as uid %u",
                 w->server_pid, user);
    } else {
        text[0] = '\0';
    }
    if (text[0])
        worker_fail(w, IPC_STAGE_IDENTITY, 0, str_c(text));
    else
        hand_over(w);
}

// The oldest worker of that id that has no process yet; with `pid` not 0 rather the one that is it.
static struct worker *find(const struct spawner *s, uint32_t id, pid_t pid)
{
    struct worker *found = NULL;
    list_foreach(&s->app->workers, struct worker, node, w) {
        if (w->spawner != s || w->id != id)
            continue;
        if (pid && w->child.pid == pid)
            return w;
        if (w->state == WORKER_FORKING && !found)
            found = w;
    }
    return found;
}

static struct worker *find_booting(const struct spawner *s, uint32_t id)
{
    list_foreach(&s->app->workers, struct worker, node, w)
        if (w->spawner == s && w->id == id && w->state == WORKER_BOOTING)
            return w;
    return NULL;
}

// Says in `text` why `pid` can't be a worker of this app; false when it can. A child of ours that
// is not collected keeps its number, so that all looks are at the same process.
static bool is_stranger(const struct spawner *s, pid_t pid, char text[static WHY_BYTES])
{
    uid_t user = apps_user(s->app);
    if (pid <= 1 || family_parent(pid) != getpid())
        snprintf(text, WHY_BYTES, "process %d is not a child of the keeper (fork twice)", pid);
    else if (child_is_known(&s->app->k->children, pid))
        snprintf(text, WHY_BYTES, "process %d is known to be another one", pid);
    else if (!family_runs_as(pid, user))
        snprintf(text, WHY_BYTES, "process %d does not run as uid %u", pid, user);
    else
        return false;
    return true;
}

static void refuse(const struct spawner *s, uint32_t id, const char *why)
{
    char scope[96];
    snprintf(scope, sizeof scope, "app %.*s", STR_ARG(str_slice(s->app->plan->name, 0, 80)));
    log_warn(scope, "keeper.refused", "the spawner %d cannot have that as worker %u: %s",
             s->child.pid, id, why);
}

static void on_lines(struct output *o, struct str lines)
{
    struct worker *w = CONTAINER_OF(o, struct worker_output, output)->worker;
    server_log(keeper_of(w), w->app->plan->name, w->child.pid, lines);
}

static void open_output(struct worker *w)
{
    w->output = mem_new(struct worker_output);
    w->output->worker = w;
    w->output->output.on_lines = on_lines;
    if (w->errors == FD_NONE)
        return;
    int fd = w->errors;
    w->errors = FD_NONE;
    // Without it the worker can live; only its last words are not known.
    (void)!output_open(&w->output->output, keeper_of(w)->loop, fd);
}

// Ends a worker that has no process and will have none.
static void fail_and_free(struct worker *w, enum ipc_stage stage, int32_t status, struct str text)
{
    tell_failed(w, stage, status, text);
    free_worker(w);
}

// Has the worker forked by the app's spawner, now or after HELLO. It may be freed.
static void find_spawner(struct worker *w)
{
    struct app *app = w->app;
    int rc = app->spawner ? 0 : spawner_start(app);
    if (rc < 0) {
        char text[512];
        snprintf(text, sizeof text, "cannot start %s: %s", app->plan->argv[0], strerror(-rc));
        fail_and_free(w, IPC_STAGE_EXEC, -rc, str_c(text));
        return;
    }
    w->spawner = app->spawner;
    if (w->spawner->state == SPAWNER_UP)
        worker_fork(w);
}

// The order to fork may have met a spawner that was dying already: that is nobody's failed start.
static void retry(struct worker *w)
{
    w->is_retry = true;
    w->state = WORKER_WAITING;
    loop_timer_stop(&w->timer);
    closer_close_stream(&w->ready_fd);
    fd_close(&w->errors);
    fd_close(&w->server);
    w->server_pid = 0;
    drop_spawner(w);
    find_spawner(w);
}

void worker_start(struct app *app, uint32_t id, uint32_t index)
{
    struct worker *w = mem_new(struct worker);
    w->app = app;
    w->id = id;
    w->index = index;
    w->ready_fd = FD_NONE;
    w->errors = FD_NONE;
    w->server = FD_NONE;
    w->child.on_ending = on_ending;
    w->child.on_ended = on_ended;
    w->timer.on_expired = on_expired;
    list_push_back(&app->workers, &w->node);
    map_put(&app->k->apps.workers, key_of(&w->id), w);
    find_spawner(w);
}

void worker_fork(struct worker *w)
{
    ASSERT(w->state == WORKER_WAITING && w->spawner);
    struct ipc_msg msg = {.type = IPC_FORK, .id = w->id, .index = w->index};
    // The pipe is made here and the end to read given to nobody: a user's process could make reads
    // from it block. Without one the worker can live.
    int pipe[2] = {FD_NONE, FD_NONE};
    size_t count = fd_pipe(pipe) == 0 ? 1 : 0;
    w->errors = pipe[0];
    w->state = WORKER_FORKING;
    set_timer(w, w->app->plan->start_ms);
    channel_send(&w->spawner->channel, &msg, &pipe[1], count);
    fd_close(&pipe[1]);
}

const char *worker_forked(struct spawner *s, uint32_t id, pid_t pid)
{
    struct keeper *k = s->app->k;
    struct worker *w = find(s, id, 0);
    char why[WHY_BYTES];
    int status;
    if (!w) {
        // A process that is what it says finds its connection closed, and ends.
        return "has forked a worker that it was not asked for";
    }
    open_output(w);
    if (!is_stranger(s, pid, why)) {
        child_add(&k->children, &w->child, pid);
        w->state = WORKER_BOOTING;
        if (w->is_told || w->is_killed)
            kill_now(w);
        else if (w->ready_fd != FD_NONE)
            check_ready(w);
    } else if (child_take_lost(&k->children, pid, &status)) {
        fail_and_free(w, IPC_STAGE_BOOT, status, last_words(w));
    } else {
        refuse(s, id, why);
        fail_and_free(w, IPC_STAGE_IDENTITY, 0, str_c(why));
    }
    return NULL;
}

// Notes who serves: nobody is held here, and killed later, who does not run as the app's user. The
// descriptor comes first: with a number that has passed to another process since, it stays with one
// that has ended.
static void note_server(struct worker *w, pid_t pid)
{
    if (pid <= 1 || pid == w->ready_pid)
        return;
    int pidfd = proc_pidfd(pid);
    if (pidfd < 0)
        return; // it has ended already, and its minder does
    w->server_pid = pid;
    w->server = pidfd;
    if (!family_runs_as(pid, apps_user(w->app)))
        fd_close(&w->server);
}

const char *worker_ready(struct spawner *s, uint32_t id, pid_t pid, struct fd_received *packet)
{
    if (packet->fd_count > 0 && !fd_is_stream(packet->fds[0]))
        return "has sent as its connection what is no Unix stream socket";
    struct worker *w = find(s, id, packet->pid);
    if (!w)
        w = find_booting(s, id); // by another process: its identity is wrong
    if (!w || w->ready_fd != FD_NONE || packet->fd_count < 1)
        return NULL; // late, or twice: the descriptor is closed, which the sender sees
    w->ready_fd = packet->fds[0];
    packet->fds[0] = FD_NONE;
    w->ready_pid = packet->pid;
    w->ready_uid = packet->uid;
    note_server(w, pid);
    if (w->state == WORKER_BOOTING)
        check_ready(w);
    return NULL;
}

void worker_failed(struct spawner *s, const struct ipc_msg *msg, pid_t sender)
{
    struct worker *w = find(s, msg->id, sender);
    if (!w)
        return;
    struct buf text = {0};
    (void)!buf_put(&text, msg->text);
    if (buf_len(&text) > 0 && !str_ends(msg->text, STR("\n")))
        (void)!buf_put(&text, STR("\n"));
    (void)!buf_put(&text, last_words(w));
    enum ipc_stage stage = msg->stage == IPC_STAGE_NONE ? IPC_STAGE_BOOT : msg->stage;
    if (w->state == WORKER_FORKING && sender == s->child.pid)
        fail_and_free(w, stage, msg->status, buf_view(&text));
    else
        worker_fail(w, stage, msg->status, buf_view(&text));
    buf_done(&text);
}

void worker_fail(struct worker *w, enum ipc_stage stage, int32_t status, struct str text)
{
    tell_failed(w, stage, status, text);
    switch (w->state) {
    case WORKER_WAITING:
        free_worker(w);
        return;
    case WORKER_FORKING:
        // FORKED, or the spawner's end, will show whether there is a process.
        w->is_killed = true;
        loop_timer_stop(&w->timer);
        return;
    case WORKER_BOOTING:
    case WORKER_READY:
        loop_timer_stop(&w->timer);
        kill_now(w);
        return;
    }
}

void worker_lose_channel(struct spawner *s, const char *why)
{
    list_foreach(&s->app->workers, struct worker, node, w)
        if (w->spawner == s && w->state == WORKER_BOOTING)
            worker_fail(w, IPC_STAGE_IDENTITY, 0, str_c(why));
}

void worker_lose_spawner(struct spawner *s, int status)
{
    struct str text = output_tail(&s->output);
    list_foreach(&s->app->workers, struct worker, node, w) {
        if (w->spawner != s)
            continue;
        bool may_retry = !w->is_retry && !w->is_told && !w->is_killed && !w->app->is_retired;
        if (w->state == WORKER_WAITING)
            fail_and_free(w, IPC_STAGE_PRELOAD, status, text);
        else if (w->state == WORKER_FORKING && may_retry)
            retry(w);
        else if (w->state == WORKER_FORKING)
            fail_and_free(w, IPC_STAGE_FORK, status, text);
    }
}

void worker_kill(struct keeper *k, uint32_t id, int signal)
{
    static const int ALLOWED[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGKILL};
    struct worker *w = map_find(&k->apps.workers, key_of(&id));
    if (!w)
        return; // it has ended meanwhile
    if (signal == SIGTERM) {
        if (w->server != FD_NONE) // its minder would only wait for it
            (void)proc_kill(w->server, SIGTERM);
        worker_end(w);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(ALLOWED); i++) {
        if (signal != ALLOWED[i])
            continue;
        if (signal == SIGKILL && w->state == WORKER_WAITING)
            worker_end(w);
        else if (signal == SIGKILL)
            kill_now(w);
        else
            child_signal(&w->child, signal);
        return;
    }
    log_error("", "keeper.refused", "the server asked for signal %d to worker %u", signal, id);
}

void worker_end(struct worker *w)
{
    if (w->state == WORKER_WAITING) {
        fail_and_free(w, IPC_STAGE_PRELOAD, 0, STR("the start was given up"));
    } else if (!w->is_killed) {
        w->is_killed = true;
        if (w->state != WORKER_FORKING) {
            child_signal(&w->child, SIGTERM);
            set_timer(w, w->app->plan->stop_ms);
        }
    }
}

void worker_orphan(struct worker *w)
{
    settle(w);
    if (w->state == WORKER_BOOTING)
        kill_now(w);
    else
        worker_end(w);
}
