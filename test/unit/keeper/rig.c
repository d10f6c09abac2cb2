// SPDX-License-Identifier: Apache-2.0
// rig -- see rig.h.
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

#include "base/buf.h"
#include "base/mem.h"
#include "keeper/keeper.h"
#include "log/log.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/sig.h"

static const char *const NO_ENV[] = {"APP_ENV=test", NULL};

const char *rig_path(const struct rig *r, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", r->dir, name);
    return path;
}

static int bind_path(const char *path, int type)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    snprintf(addr.sun_path, sizeof addr.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

// Fails the test unless `fd` becomes readable in time.
static void wait_readable(int fd, const char *what)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (poll(&wait, 1, RIG_WAIT_MS) != 1)
        fail_msg("%s does not come", what);
}

int rig_setup(void **state)
{
    struct rig *r = mem_new(struct rig);
    const char *tmp = getenv("TMPDIR");
    snprintf(r->dir, sizeof r->dir, "%.40s/keeper-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(r->dir));
    snprintf(r->runtime, sizeof r->runtime, "%s/run/t", r->dir);
    r->keeper_pidfd = r->server_fd = r->control_fd = r->inherited_fd = r->terminal_fd = FD_NONE;
    for (size_t i = 0; i < RIG_LISTENERS_MAX; i++)
        r->listener_fds[i] = FD_NONE;
    r->test_fd = bind_path(rig_path(r, "test.sock"), SOCK_SEQPACKET);
    assert_int_equal(listen(r->test_fd, 8), 0);
    r->notify_fd = bind_path(rig_path(r, "notify.sock"), SOCK_DGRAM);
    assert_int_equal(proc_be_subreaper(), 0);
    r->plan = (struct plan){.instance = STR("t"),
                            .drain_ms = 5000,
                            .error_log = STR("stderr"),
                            .log_level = LOG_DEBUG,
                            .listeners = r->listeners,
                            .logs = r->logs,
                            .apps = r->apps};
    rig_listen(r, "127.0.0.1:0");
    *state = r;
    return 0;
}

static void close_fds(struct rig *r)
{
    for (size_t i = 0; i < r->fd_count; i++)
        fd_close(&r->fds[i]);
    r->fd_count = 0;
}

static void close_server(struct rig *r)
{
    for (size_t i = 0; i < RIG_LISTENERS_MAX; i++)
        fd_close(&r->listener_fds[i]);
    r->listener_count = 0;
    fd_close(&r->control_fd);
    fd_close(&r->server_fd);
}

static void remove_tree(const char *dir)
{
    static const char *const NAMES[] = {"plan",      "loader",      "log",
                                        "test.sock", "notify.sock", "a.log",
                                        "a.log.1",   "run/t/pid",   "run/t/control.sock",
                                        "run/t",     "run"};
    char path[160];
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, NAMES[i]);
        remove(path);
    }
    rmdir(dir);
}

int rig_teardown(void **state)
{
    struct rig *r = *state;
    close_server(r);
    close_fds(r);
    // Only after a failure: a clean end has left no child.
    while (waitpid(-1, NULL, WNOHANG) >= 0) {
        proc_kill_strangers(SIGKILL, NULL, NULL);
        waitpid(-1, NULL, 0);
    }
    fd_close(&r->keeper_pidfd);
    fd_close(&r->test_fd);
    fd_close(&r->notify_fd);
    fd_close(&r->inherited_fd);
    fd_close(&r->terminal_fd);
    remove_tree(r->dir);
    mem_free(r);
    return 0;
}

void rig_listen(struct rig *r, const char *address)
{
    size_t at = r->plan.listener_count++;
    assert_true(at < RIG_LISTENERS_MAX);
    snprintf(r->texts[at], sizeof r->texts[at], "%s", address);
    r->listeners[at] = (struct plan_listener){.address = str_c(r->texts[at])};
}

struct plan_app *rig_app(struct rig *r, const char *name, const char *mode)
{
    size_t at = r->plan.app_count++;
    assert_true(at < RIG_APPS_MAX);
    r->argvs[at][0] = FAKE_ROLE;
    r->argvs[at][1] = "@spawner";
    r->argvs[at][2] = mode;
    r->apps[at] = (struct plan_app){
        .name = str_c(name),
        .digest = 1,
        .argv = r->argvs[at],
        .envp = NO_ENV,
        .workers_max = 4,
        .start_ms = RIG_WAIT_MS,
        .stop_ms = RIG_WAIT_MS,
    };
    return &r->apps[at];
}

static void write_file(const char *path, struct str bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes), 0);
    fd_close(&fd);
}

void rig_write_plan(struct rig *r)
{
    struct buf bytes = {0};
    plan_encode(&r->plan, &bytes);
    write_file(rig_path(r, "plan"), buf_view(&bytes));
    buf_done(&bytes);
}

void rig_order(struct rig *r, const char *order)
{
    if (order)
        write_file(rig_path(r, "loader"), str_c(order));
    else
        unlink(rig_path(r, "loader"));
}

static void run_keeper(const struct rig *r)
{
    const char *const loader_argv[] = {"fake", "@loader", r->dir, NULL};
    const char *const server_argv[] = {"fake", "@server", r->dir, NULL};
    int log_fd = open(rig_path(r, "log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    struct keeper_options options = {.log_fd = log_fd,
                                     .program = FAKE_ROLE,
                                     .loader_argv = loader_argv,
                                     .server_argv = server_argv,
                                     .instance = "t",
                                     .runtime_dir = r->runtime};
    char pid[32];
    // cmocka's handlers would go on with the next test, in this process.
    sig_reset();
    snprintf(pid, sizeof pid, "%d", getpid());
    if (r->inherited_fd != FD_NONE) {
        dup2(r->inherited_fd, 3);
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "1", 1);
    }
    if (r->terminal_fd != FD_NONE) {
        setsid();
        int fd = open(ptsname(r->terminal_fd), O_RDWR); // becomes the session's
        dup2(fd, STDIN_FILENO);
        close(fd);
        close(r->terminal_fd);
    }
    setenv("NOTIFY_SOCKET", rig_path(r, "notify.sock"), 1);
    log_init(LOG_DEBUG, LOG_PLAIN, log_fd);
    _exit(keeper_run(&options));
}

void rig_start(struct rig *r)
{
    rig_write_plan(r);
    r->keeper = fork();
    if (r->keeper == 0)
        run_keeper(r);
    r->keeper_pidfd = proc_pidfd(r->keeper);
    assert_true(r->keeper_pidfd >= 0);
}

void rig_start_serving(struct rig *r)
{
    rig_start(r);
    rig_accept(r);
    rig_commit(r);
}

void rig_accept(struct rig *r)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    close_server(r);
    wait_readable(r->test_fd, "a server");
    r->server_fd = accept4(r->test_fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(r->server_fd >= 0);
    assert_int_equal(getsockopt(r->server_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
    r->server = peer.pid;
    rig_prepare(r);
}

// Takes the next message, whatever it is.
static void receive(struct rig *r)
{
    struct fd_received packet;
    close_fds(r);
    wait_readable(r->server_fd, "a message");
    assert_int_equal(fd_receive(r->server_fd, r->room, sizeof r->room, &packet), 1);
    if (packet.len == 0)
        fail_msg("the server is gone");
    r->fd_count = packet.fd_count;
    memcpy(r->fds, packet.fds, sizeof packet.fds);
    assert_true(ipc_decode(str_n(r->room, packet.len), &r->msg));
}

void rig_prepare(struct rig *r)
{
    for (size_t i = 0; i < RIG_LISTENERS_MAX; i++)
        fd_close(&r->listener_fds[i]);
    r->listener_count = 0;
    for (;;) {
        receive(r);
        if (r->msg.type == IPC_LISTENER && str_eq(r->msg.name, STR("control"))) {
            fd_close(&r->control_fd);
            r->control_fd = r->fds[0];
            r->fds[0] = FD_NONE;
        } else if (r->msg.type == IPC_LISTENER) {
            r->listener_fds[r->listener_count++] = r->fds[0];
            r->fds[0] = FD_NONE;
        } else if (r->msg.type == IPC_PREPARE) {
            break;
        } else {
            assert_true(r->msg.type == IPC_LOG || r->msg.type == IPC_BOARD
                        || r->msg.type == IPC_APP_LOG);
        }
    }
    r->gen = r->msg.gen;
    r->threads = r->msg.index;
    assert_int_equal(r->listener_count, r->plan.listener_count);
    assert_true(r->control_fd != FD_NONE);
    struct buf config = {0};
    assert_int_equal(file_read_fd(r->fds[0], &config), 0);
    assert_true(str_eq(buf_view(&config), STR("the config")));
    buf_done(&config);
}

void rig_commit(struct rig *r)
{
    rig_send(r, &(struct ipc_msg){.type = IPC_PREPARED, .gen = r->gen});
    rig_expect(r, IPC_COMMIT);
    assert_int_equal(r->msg.gen, r->gen);
    rig_send(r, &(struct ipc_msg){.type = IPC_COMMITTED, .gen = r->gen});
}

void rig_expect(struct rig *r, enum ipc_type type)
{
    do
        receive(r);
    while (r->msg.type != type && (r->msg.type == IPC_APP_LOG || r->msg.type == IPC_APP_INFO));
    if (r->msg.type != type)
        fail_msg("message %d in place of %d: %.*s", (int)r->msg.type, (int)type,
                 STR_ARG(r->msg.text));
}

void rig_expect_text(const struct rig *r, const char *part)
{
    char text[IPC_TEXT_MAX + 1];
    memcpy(text, r->msg.text.ptr, r->msg.text.len);
    text[r->msg.text.len] = '\0';
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

void rig_send(struct rig *r, const struct ipc_msg *msg)
{
    static char room[IPC_BYTES_MAX];
    size_t len = ipc_encode(msg, room);
    assert_int_equal(fd_send(r->server_fd, str_n(room, len), NULL, 0), 0);
}

void rig_start_worker(struct rig *r, const char *app, uint32_t id)
{
    rig_send(r, &(struct ipc_msg){.type = IPC_START, .name = str_c(app), .id = id});
}

void rig_notified(struct rig *r, const char *line)
{
    char text[2048];
    do {
        wait_readable(r->notify_fd, line);
        ssize_t got = recv(r->notify_fd, text, sizeof text - 1, 0);
        assert_true(got > 0);
        text[got] = '\0';
    } while (!strstr(text, line));
}

unsigned rig_port(int fd)
{
    struct sock_addr addr;
    char text[SOCK_TEXT_MAX];
    unsigned port;
    assert_int_equal(sock_name(fd, &addr), 0);
    sock_addr_ip(&addr, text, &port);
    return port;
}

bool rig_connects(unsigned port)
{
    char text[32];
    struct sock_addr addr;
    snprintf(text, sizeof text, "127.0.0.1:%u", port);
    assert_true(sock_addr_parse(str_c(text), &addr));
    int fd = sock_connect(&addr);
    bool connects = fd >= 0;
    fd_close(&fd);
    return connects;
}

bool rig_echoes(int fd)
{
    char text[8] = "";
    if (fd_write_all(fd, STR("hello")) < 0)
        return false;
    fd_set_nonblock(fd, false);
    wait_readable(fd, "an echo");
    return fd_read(fd, text, sizeof text) == 5 && memcmp(text, "hello", 5) == 0;
}

void rig_wait_gone(pid_t pid)
{
    int fd = proc_pidfd(pid);
    if (fd == -ESRCH)
        return;
    assert_true(fd >= 0);
    wait_readable(fd, "the end of a process");
    fd_close(&fd);
}

int rig_wait_end(struct rig *r)
{
    int status;
    struct stat st;
    wait_readable(r->keeper_pidfd, "the keeper's end");
    assert_int_equal(waitpid(r->keeper, &status, 0), r->keeper);
    fd_close(&r->keeper_pidfd);
    // The test reaps orphans: whatever the keeper left would be its child now.
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_not_equal(stat(r->runtime, &st), 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void rig_stop(struct rig *r)
{
    assert_int_equal(kill(r->keeper, SIGTERM), 0);
    rig_expect(r, IPC_DRAIN);
    close_server(r);
    assert_int_equal(rig_wait_end(r), 0);
}

bool rig_log_has(const struct rig *r, const char *part)
{
    struct buf log = {0};
    assert_int_equal(file_read_all(rig_path(r, "log"), &log), 0);
    assert_true(buf_put(&log, STR("\0")));
    bool has = strstr(buf_view(&log).ptr, part) != NULL;
    buf_done(&log);
    return has;
}
