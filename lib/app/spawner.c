// SPDX-License-Identifier: Apache-2.0
// spawner -- see spawner.h.
//
// A worker must be the keeper's child, so that its death is the keeper's to collect: it is forked
// twice, the process between exits at once, and the keeper, being a subreaper, inherits.
//
//   spawner --fork--> between --fork--> worker      between tells the spawner the worker's pid,
//   exits spawner collects `between`, tells the keeper FORKED, sends GO through the gate worker
//   reads GO: the keeper is its parent now
//
// The worker of a foreign program is served by a process of that one: the spawner connects to it
// first, and what it forks is a minder.
//
// When the keeper dies, its workers get SIGTERM from the kernel, which a script can ignore. The
// spawner sees the end of its channel; it stays until they are gone, and kills those that are late.
#include "spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "board.h"
#include "minder.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/sig.h"
#include "quit.h"
#include "wards.h"
#include "wire/ipc.h"
#include "worker.h"

#define GO         'g'
#define PATH_BYTES 4096
#define OUTLIVE_MS 4000 // for the workers of a keeper that has died; as long as their grace time
#define MINDED_MS  3000 // the same for a minded one: its minder kills it, and must be there still

struct spawner {
    const struct godwit_app_hooks *hooks;
    const char *app;
    int channel;
    pid_t keeper;
    const struct spawner_foreign *foreign;
    char room[IPC_BYTES_MAX];
};

// What one FORK needs, on both sides.
struct birth {
    uint32_t id, index;
    int errors;  // the worker's stderr, whose other end the keeper has; may be lacking
    int gate[2]; // spawner's end, worker's end
    // Of a foreign worker: the server's end of its connection, its process.
    int connection, process;
    pid_t pid;
};

static void close_birth(struct birth *b)
{
    for (int i = 0; i < 2; i++)
        fd_close(&b->gate[i]);
    fd_close(&b->errors);
    fd_close(&b->connection);
    fd_close(&b->process);
}

static int tell(struct spawner *s, const struct ipc_msg *msg, int fd)
{
    size_t len = ipc_encode(msg, s->room);
    ASSERT(len);
    return fd_send(s->channel, str_n(s->room, len), &fd, fd == FD_NONE ? 0 : 1);
}

// ---- in the worker

static void use_errors(int fd)
{
    if (fd != FD_NONE) { // else it shares the spawner's
        dup2(fd, 1);
        dup2(fd, 2);
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        dup2(null, 0);
    fd_close(&null);
}

static void show_title(const struct spawner *s, const char *suffix)
{
    char title[128];
    snprintf(title, sizeof title, "%s%s%s%s", s->hooks->name ? s->hooks->name : "godwit: app",
             s->app[0] ? " " : "", s->app, suffix);
    proc_set_title(title);
}

// Waits until the keeper is the parent, and ties this life to it.
static bool be_adopted(struct spawner *s, struct birth *b)
{
    char byte = 0;
    fd_close(&b->gate[0]);
    ssize_t got = fd_read(b->gate[1], &byte, 1);
    fd_close(&b->gate[1]);
    return got == 1 && byte == GO && proc_die_with_parent(SIGTERM, s->keeper);
}

static int worker_failed(struct spawner *s, const struct birth *b, int status, const char *text)
{
    struct ipc_msg msg = {.type = IPC_FAILED,
                          .id = b->id,
                          .pid = getpid(),
                          .stage = IPC_STAGE_BOOT,
                          .status = status,
                          .text = str_c(text)};
    int rc = tell(s, &msg, FD_NONE);
    (void)rc; // the exit status says it too
    return 1;
}

static int mind(struct spawner *s, struct birth *b)
{
    struct ipc_msg ready = {.type = IPC_READY, .id = b->id, .pid = b->pid};
    show_title(s, " (minder)");
    board_take(b->index, b->id, b->pid);
    int rc = tell(s, &ready, b->connection);
    fd_close(&b->connection); // the server alone holds it
    fd_close(&s->channel);
    if (rc < 0)
        return 1;
    board_set(SCOREBOARD_IDLE);
    return minder_wait(b->process, s->keeper, MINDED_MS);
}

static int serve(struct spawner *s, struct birth *b)
{
    int pair[2];
    struct worker worker = {.hooks = s->hooks, .returns = true};
    quit_keeper(s->keeper);
    show_title(s, "");
    board_take(b->index, b->id, getpid());
    if (worker_boot(&worker) != 0)
        return worker_failed(s, b, 0, "the program's boot hook failed");
    int rc = fd_pair(SOCK_STREAM, pair);
    if (rc < 0)
        return worker_failed(s, b, -rc, "cannot make the connection");
    struct ipc_msg ready = {.type = IPC_READY, .id = b->id, .pid = getpid()};
    rc = tell(s, &ready, pair[0]);
    fd_close(&pair[0]);
    fd_close(&s->channel);
    if (rc < 0)
        return 1;
    worker_serve(&worker, pair[1]);
    board_set(SCOREBOARD_LEAVING);
    worker_leave(&worker);
    return 0;
}

static int worker_run(struct spawner *s, struct birth *b)
{
    wards_forget();
    use_errors(b->errors);
    fd_close(&b->errors);
    sig_reset();
    // A group of its own: the keeper can end it together with what it starts.
    setpgid(0, 0);
    if (s->foreign)
        minder_prepare();
    if (!be_adopted(s, b))
        return 1;
    return s->foreign ? mind(s, b) : serve(s, b);
}

// ---- in the spawner

// The process between. In the worker it returns its exit status; itself it does not return.
static int between_run(struct spawner *s, struct birth *b)
{
    pid_t pid = fork();
    if (pid == 0)
        return worker_run(s, b);
    // Ends without the exit handlers of the program, which belong to the spawner.
    if (pid < 0)
        _exit(errno < 256 ? errno : EAGAIN);
    // Only as long as this process is its parent does the number surely mean it.
    int32_t told = pid;
    int pidfd = proc_pidfd(pid);
    int rc = fd_send(b->gate[1], str_n((const char *)&told, sizeof told), &pidfd, pidfd >= 0);
    _exit(rc < 0 ? EIO : 0);
}

static void fork_failed(struct spawner *s, const struct birth *b, int error)
{
    struct ipc_msg msg = {
        .type = IPC_FAILED, .id = b->id, .stage = IPC_STAGE_FORK, .status = error};
    int rc = tell(s, &msg, FD_NONE);
    (void)rc; // a keeper that has gone is seen at the next receive
}

static void report_birth(struct spawner *s, struct birth *b, pid_t between)
{
    int32_t pid = 0;
    int status = 0;
    struct fd_received got = {0};
    fd_close(&b->errors);
    fd_close(&b->gate[1]);
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        continue;
    // What `between` had to say it has said.
    int said = fd_set_nonblock(b->gate[0], true);
    if (said == 0)
        said = fd_receive(b->gate[0], &pid, sizeof pid, &got);
    if (got.fd_count > 0)
        wards_add(got.fds[0]);
    if (said == 1 && got.len == sizeof pid) {
        struct ipc_msg msg = {.type = IPC_FORKED, .id = b->id, .pid = pid};
        char go = GO;
        int rc = tell(s, &msg, FD_NONE);
        if (rc == 0)
            rc = fd_write_all(b->gate[0], str_n(&go, 1));
        (void)rc; // as above; the worker ends without GO
    } else {
        fork_failed(s, b, WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD);
    }
    close_birth(b);
}

// Has the foreign program serve one more connection.
static int find_foreign(const struct spawner *s, struct birth *b)
{
    int fd = s->foreign->connect(s->foreign->arg, &b->pid);
    if (fd < 0)
        return fd;
    b->connection = fd;
    b->process = proc_pidfd(b->pid);
    return b->process < 0 ? b->process : 0;
}

// Takes over `errors`. True in the worker, whose exit status is *out_status then.
static bool give_birth(struct spawner *s, const struct ipc_msg *order, int errors, int *out_status)
{
    struct birth b = {.id = order->id,
                      .index = order->index,
                      .errors = errors,
                      .gate = {FD_NONE, FD_NONE},
                      .connection = FD_NONE,
                      .process = FD_NONE};
    int rc = s->foreign ? find_foreign(s, &b) : 0;
    if (rc == 0)
        rc = fd_pair(SOCK_STREAM, b.gate);
    pid_t between = rc == 0 ? fork() : -1;
    if (between == 0) {
        *out_status = between_run(s, &b);
        return true;
    }
    if (between < 0) {
        fork_failed(s, &b, rc < 0 ? -rc : errno);
        close_birth(&b);
        return false;
    }
    report_birth(s, &b, between);
    return false;
}

// Appends this program's path as the first member of a JSON object; what stands behind it may say
// another one.
static void put_program(struct buf *out)
{
    char path[PATH_BYTES];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path);
    if (len <= 0 || (size_t)len == sizeof path)
        return;
    for (ssize_t i = 0; i < len; i++)
        if (path[i] <= ' ' || path[i] > '~' || strchr("\"\\", path[i]))
            return; // JSON would want it written in another way
    buf_fmt(out, "\"program\":\"%.*s\"", (int)len, path);
}

static int say_hello(struct spawner *s)
{
    const char *said = s->hooks->describe ? s->hooks->describe(s->hooks->arg) : NULL;
    struct str text = str_c(said && *said == '{' ? said : "{}");
    struct buf whole = {.ceiling_bytes = IPC_TEXT_MAX};
    struct buf program = {0};
    put_program(&program);
    const char *between = buf_len(&program) && text.ptr[1] != '}' ? "," : "";
    buf_fmt(&whole, "{%.*s%s", STR_ARG(buf_view(&program)), between);
    bool fits = buf_put(&whole, str_skip(text, 1));
    struct ipc_msg hello = {.type = IPC_HELLO, .text = fits ? buf_view(&whole) : STR("{}")};
    int rc = tell(s, &hello, FD_NONE);
    buf_done(&program);
    buf_done(&whole);
    return rc;
}

// Waits for the keeper's next word; false when the foreign program has ended.
static bool wait_for_order(const struct spawner *s)
{
    if (!s->foreign)
        return true; // receiving waits
    struct pollfd entries[] = {{.fd = s->channel, .events = POLLIN},
                               {.fd = s->foreign->program, .events = POLLIN}};
    while (poll(entries, ARRAY_LEN(entries), -1) < 0 && errno == EINTR)
        continue;
    return !entries[1].revents;
}

// Exit status when the keeper was heard to its end.
static int part(void)
{
    wards_outlive(OUTLIVE_MS);
    return 0;
}

int spawner_run(const struct godwit_app_hooks *hooks, const struct spawner_start *start)
{
    static struct spawner spawner; // a packet's room is too large for the stack
    struct spawner *s = &spawner;
    struct fd_received got;
    struct ipc_msg msg;
    int status;
    int board = start->board;
    s->hooks = hooks;
    s->app = start->app;
    s->channel = start->channel;
    s->keeper = start->keeper;
    s->foreign = start->foreign;
    if (board != FD_NONE && board_map(&board) < 0)
        return 1;
    show_title(s, " (spawner)");
    if (say_hello(s) < 0)
        return 1;
    // From here on the end of the channel tells of the keeper's end.
    (void)proc_die_with_parent(0, s->keeper);
    while (wait_for_order(s)) {
        if (fd_receive(s->channel, s->room, sizeof s->room, &got) != 1 || !got.len)
            return part();
        int errors = got.fd_count > 0 ? got.fds[0] : FD_NONE;
        for (size_t i = 1; i < got.fd_count; i++)
            fd_close(&got.fds[i]);
        if (!ipc_decode(str_n(s->room, got.len), &msg) || msg.type == IPC_LEAVE)
            return 0;
        if (msg.type != IPC_FORK)
            fd_close(&errors);
        else if (give_birth(s, &msg, errors, &status))
            return status;
    }
    return 1;
}
