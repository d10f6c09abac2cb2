// SPDX-License-Identifier: Apache-2.0
// fake_role -- the keeper's children as its tests need them.
//
//     fake_role @loader DIR    sends the plan in DIR/plan; or does what DIR/loader says
//     fake_role @server DIR    hands all messages to the test at DIR/test.sock, and back
//     fake_role @spawner MODE  forks workers that echo, or goes wrong as MODE says
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "os/family.h"
#include "os/fd.h"
#include "os/file.h"
#include "wire/ipc.h"

#define CHANNEL    3
#define USER_WRONG 65534

static const char *mode;

static bool is_mode(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void say(const struct ipc_msg *msg, const int *fds, size_t count)
{
    char room[IPC_BYTES_MAX];
    size_t len = ipc_encode(msg, room);
    if (fd_send(CHANNEL, str_n(room, len), fds, count) < 0)
        _exit(90);
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

static int run_loader(const char *dir)
{
    char path[256];
    struct buf plan = {0};
    struct buf order = {0};
    snprintf(path, sizeof path, "%s/loader", dir);
    if (file_read_all(path, &order) == 0) {
        if (str_eq(buf_view(&order), STR("crash")))
            abort();
        if (str_eq(buf_view(&order), STR("hang")))
            wait_for_ever();
        say(&(struct ipc_msg){.type = IPC_PLAN_FAILED, .text = buf_view(&order)}, NULL, 0);
        buf_done(&order);
        return 1;
    }
    snprintf(path, sizeof path, "%s/plan", dir);
    if (file_read_all(path, &plan) < 0)
        return 91;
    int fds[] = {file_memfd("plan", buf_view(&plan)), file_memfd("config", STR("the config"))};
    say(&(struct ipc_msg){.type = IPC_PLAN}, fds, 2);
    buf_done(&plan);
    return 0;
}

// Forwards one packet; false at the end of `from`.
static bool forward(int from, int to)
{
    char room[IPC_BYTES_MAX];
    struct fd_received packet;
    if (fd_receive(from, room, sizeof room, &packet) != 1 || packet.len == 0)
        return false;
    bool good = fd_send(to, str_n(room, packet.len), packet.fds, packet.fd_count) == 0;
    for (size_t i = 0; i < packet.fd_count; i++)
        fd_close(&packet.fds[i]);
    return good;
}

static int run_server(const char *dir)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    snprintf(addr.sun_path, sizeof addr.sun_path, "%.90s/test.sock", dir);
    int test = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(test, (struct sockaddr *)&addr, sizeof addr) < 0)
        return 92;
    struct pollfd both[] = {{.fd = CHANNEL, .events = POLLIN}, {.fd = test, .events = POLLIN}};
    for (;;) {
        poll(both, 2, -1);
        if (both[0].revents && !forward(CHANNEL, test))
            return 0;
        if (both[1].revents && !forward(test, CHANNEL))
            return 0;
    }
}

static void echo(int fd)
{
    char room[256];
    ssize_t got;
    while ((got = fd_read(fd, room, sizeof room)) > 0)
        if (fd_write_all(fd, str_n(room, (size_t)got)) < 0)
            return;
}

// A process that nobody asked for, in a session of its own or in the worker's group.
static void start_stray(bool own_session)
{
    int is_up[2];
    char byte;
    if (fd_pipe(is_up) < 0)
        _exit(94);
    if (fork() != 0) {
        fd_close(&is_up[1]);
        if (fd_read(is_up[0], &byte, 1) != 0)
            _exit(94);
        fd_close(&is_up[0]);
        return;
    }
    if (own_session)
        setsid();
    if (is_mode("foreign-stray") && setuid(USER_WRONG) < 0)
        _exit(94);
    signal(SIGTERM, SIG_IGN);
    fd_close(&is_up[1]);
    wait_for_ever();
}

// Starts what serves in place of the worker; it is no child of it.
static pid_t start_server(void)
{
    int number[2];
    pid_t pid = 0;
    if (fd_pipe(number) < 0)
        _exit(94);
    pid_t between = fork();
    if (between == 0) {
        if (fork() != 0)
            _exit(0);
        setsid();
        close(CHANNEL);
        if (is_mode("serves-as-other") && setuid(USER_WRONG) < 0)
            _exit(94);
        pid = getpid();
        if (fd_write_all(number[1], str_n((const char *)&pid, sizeof pid)) < 0)
            _exit(94);
        wait_for_ever();
    }
    waitpid(between, NULL, 0);
    if (fd_read(number[0], &pid, sizeof pid) != (ssize_t)sizeof pid)
        _exit(94);
    fd_close(&number[0]);
    fd_close(&number[1]);
    return pid;
}

static void say_ready(uint32_t id, int fd, pid_t server)
{
    struct ipc_msg ready = {.type = IPC_READY, .id = id, .pid = server};
    if (!is_mode("wrong-pid")) {
        say(&ready, &fd, 1);
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        say(&ready, &fd, 1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void run_worker(uint32_t id, int gate, int told)
{
    char byte;
    setpgid(0, 0);
    signal(SIGTERM, is_mode("stubborn") ? SIG_IGN : SIG_DFL);
    if (!is_mode("late") && fd_read(gate, &byte, 1) != 0)
        _exit(93);
    if (is_mode("boot-crash")) {
        fputs("no database\n", stderr);
        _exit(7);
    }
    if (is_mode("boot-hang")) {
        fputs("connecting\n", stderr);
        fflush(stderr);
        wait_for_ever();
    }
    if (is_mode("boot-fail")) {
        say(&(struct ipc_msg){.type = IPC_FAILED,
                              .id = id,
                              .stage = IPC_STAGE_BOOT,
                              .status = ENOENT,
                              .text = STR("hook failed")},
            NULL, 0);
        _exit(1);
    }
    if (is_mode("strays")) {
        start_stray(false);
        start_stray(true);
    }
    if (is_mode("foreign-stray"))
        start_stray(true);
    if (is_mode("wrong-user") && setuid(USER_WRONG) < 0)
        _exit(94);
    bool is_served = is_mode("serves") || is_mode("serves-as-other");
    pid_t server = is_served ? start_server() : getpid();
    int pair[2];
    if (fd_pair(SOCK_STREAM, pair) < 0)
        _exit(95);
    say_ready(id, pair[0], server);
    fd_close(&pair[0]);
    close(CHANNEL);
    fd_close(&told);
    signal(SIGPIPE, SIG_IGN); // the test may have closed the other end already
    fputs("booted\n", stderr);
    echo(pair[1]);
    _exit(0);
}

// Forks twice, so that the worker becomes the keeper's child; waits for that.
static void fork_worker(uint32_t id, int *errors)
{
    int gate[2];
    int number[2];
    int told[2]; // "late": ends when READY was said
    if (fd_pipe(gate) < 0 || fd_pipe(number) < 0 || fd_pipe(told) < 0)
        _exit(96);
    pid_t between = fork();
    if (between == 0) {
        pid_t worker = fork();
        if (worker == 0) {
            dup2(*errors, 2);
            fd_close(&gate[1]);
            fd_close(&told[0]);
            run_worker(id, gate[0], told[1]);
        }
        _exit(fd_write_all(number[1], str_n((const char *)&worker, sizeof worker)) < 0);
    }
    waitpid(between, NULL, 0);
    fd_close(errors);
    fd_close(&told[1]);
    pid_t pid = 0;
    if (fd_read(number[0], &pid, sizeof pid) != (ssize_t)sizeof pid)
        _exit(97);
    char byte;
    if (is_mode("late") && fd_read(told[0], &byte, 1) != 0)
        _exit(98);
    if (is_mode("lie"))
        pid = getppid();
    say(&(struct ipc_msg){.type = IPC_FORKED, .id = id, .pid = pid}, NULL, 0);
    for (int i = 0; i < 2; i++) {
        fd_close(&gate[i]);
        fd_close(&number[i]);
        fd_close(&told[i]);
    }
}

// Says of a child of the keeper that belongs to somebody else that it is the worker that was asked
// for, and then the worker of an id that nobody gave.
static void steal(uint32_t id)
{
    pid_t victim = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *entry = NULL; dir && (entry = readdir(dir)) != NULL;) {
        uint64_t number;
        pid_t pid = str_to_u64(str_c(entry->d_name), &number) ? (pid_t)number : 0;
        if (pid == 0 || family_parent(pid) != getppid())
            continue;
        if (family_runs_as(pid, USER_WRONG))
            victim = pid;
    }
    closedir(dir);
    say(&(struct ipc_msg){.type = IPC_FORKED, .id = id, .pid = victim}, NULL, 0);
    say(&(struct ipc_msg){.type = IPC_FORKED, .id = 0xdeadbeef, .pid = victim}, NULL, 0);
}

static void obey_fork(uint32_t id, int *errors)
{
    if (is_mode("steal")) {
        steal(id);
        return;
    }
    if (is_mode("no-fork"))
        wait_for_ever();
    if (is_mode("fork-dies"))
        _exit(5);
    if (is_mode("fork-fail"))
        say(
            &(struct ipc_msg){
                .type = IPC_FAILED, .id = id, .stage = IPC_STAGE_FORK, .status = EAGAIN},
            NULL, 0);
    else
        fork_worker(id, errors);
}

static int run_spawner(void)
{
    char room[IPC_BYTES_MAX];
    struct fd_received packet;
    struct ipc_msg msg;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is_mode("preload-crash")) {
        fputs("cannot load the code\n", stderr);
        return 3;
    }
    if (is_mode("preload-hang")) {
        fputs("loading\n", stderr);
        fflush(stderr);
        wait_for_ever();
    }
    if (is_mode("malformed")) {
        if (fd_send(CHANNEL, STR("nonsense"), NULL, 0) < 0)
            return 99;
        wait_for_ever();
    }
    if (getenv("GODWIT_CHANNEL") == NULL || getenv("GODWIT_BOARD") == NULL || fcntl(4, F_GETFD) < 0)
        return 89;
    fputs("a first line\nand a second\n", stderr);
    fflush(stderr);
    say(&(struct ipc_msg){.type = IPC_HELLO, .text = STR("{\"runtime\":\"fake\"}")}, NULL, 0);
    while (fd_receive(CHANNEL, room, sizeof room, &packet) == 1 && packet.len > 0)
        if (!ipc_decode(str_n(room, packet.len), &msg) || msg.type == IPC_LEAVE)
            break;
        else if (msg.type == IPC_FORK)
            obey_fork(msg.id, packet.fds);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 88;
    mode = argv[2];
    if (strcmp(argv[1], "@loader") == 0)
        return run_loader(argv[2]);
    if (strcmp(argv[1], "@server") == 0)
        return run_server(argv[2]);
    return run_spawner();
}
