// SPDX-License-Identifier: Apache-2.0
// godwit_lsapi -- the spawner of a program that has its own way of forking LSAPI workers, such as
// the stock lsphp: it starts the program with a listening socket, and has it serve one connection
// for each worker that Godwit wants.
//
//   godwit-lsapi [-d NAME=VALUE]... PROGRAM [ARGUMENT]...
//
// The program forks a process for a connection that no idle one takes, and that process says its
// number at once (pid notice). It is told (LSAPI_KEEP_LISTEN=0, see app_conf_plan) to leave with
// its connection, so that connections and processes are one to one. When this process ends, so does
// the program; its processes go on serving what they have.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "os/fd.h"
#include "os/proc.h"
#include "private_dir.h"
#include "program_info.h"
#include "spawner.h"
#include "start.h"
#include "wire/lsapi.h"

#define SETTINGS_FILE "godwit.ini"
#define SCAN_VARIABLE "PHP_INI_SCAN_DIR"
// lsphp shows the script in its title: up to this many bytes behind argv[0], whatever is there.
#define TITLE_ROOM \
 "LSAPI_TITLE_ROOM=................................................................"

struct host {
    struct private_dir dir;
    struct arena arena;
    int address;     // of its socket
    int program;     // pidfd
    pid_t pid;       // of the program
    int spare;       // a connection that nobody has asked for yet, FD_NONE: none
    pid_t spare_pid; // who serves it
    char *path;      // of the program
    char version[PROGRAM_INFO_VERSION_BYTES];
};

// Reads what stands before the program: entries of an ini file, as they stand there. Its place in
// argv, or 0.
static int read_settings(int argc, char **argv, struct buf *settings)
{
    int at = 1;
    for (; at + 1 < argc && strcmp(argv[at], "-d") == 0; at += 2)
        buf_fmt(settings, "%s\n", argv[at + 1]);
    return at < argc && argv[at][0] == '/' ? at : 0;
}

static int explain(const struct host *h, const char *what, int error)
{
    fprintf(stderr, "godwit-lsapi: %s %s: %s\n", what, h->path, strerror(-error));
    return 1;
}

// The environment without what is ours, behind room for the title.
static const char *const *make_env(struct host *h, bool has_settings)
{
    size_t count = 0;
    while (environ[count])
        count++;
    const char **env = arena_array(&h->arena, const char *, count + 3);
    const char *scan = getenv(SCAN_VARIABLE);
    count = 0;
    env[count++] = TITLE_ROOM;
    for (size_t i = 0; environ[i]; i++) {
        struct str entry = str_c(environ[i]);
        bool is_replaced = has_settings && str_starts(entry, STR(SCAN_VARIABLE "="));
        if (!str_starts(entry, STR("GODWIT_")) && !is_replaced)
            env[count++] = environ[i];
    }
    // An empty element means the directory that PHP was built with.
    if (has_settings) {
        env[count++] =
            arena_fmt(&h->arena, SCAN_VARIABLE "=%s:%s", scan ? scan : "", h->dir.path).ptr;
    }
    return env;
}

static const char *describe(void *arg)
{
    static char text[PROGRAM_INFO_BYTES];
    const struct host *h = arg;
    return program_info_describe(h->path, h->version, "lsapi", text);
}

// Waits for the pid notice; 0 or -errno.
static int read_notice(const struct host *h, int fd, pid_t *out_pid)
{
    char notice[LSAPI_PID_NOTICE_BYTES];
    size_t len = 0;
    while (len < sizeof notice) {
        struct pollfd entries[] = {{.fd = fd, .events = POLLIN},
                                   {.fd = h->program, .events = POLLIN}};
        if (poll(entries, ARRAY_LEN(entries), -1) < 0 && errno != EINTR)
            return -errno;
        if (!entries[0].revents && entries[1].revents)
            return -ESRCH; // the program has ended
        if (!entries[0].revents)
            continue;
        ssize_t count = fd_read(fd, notice + len, sizeof notice - len);
        if (count <= 0)
            return count < 0 ? (int)count : -ECONNRESET;
        len += (size_t)count;
    }
    return lsapi_get_pid(str_n(notice, len), out_pid) ? 0 : -EPROTO;
}

static int connect_new(const struct host *h, pid_t *out_pid)
{
    int fd = private_dir_connect(h->address);
    int rc = fd < 0 ? fd : read_notice(h, fd, out_pid);
    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

static int connect_one(void *arg, pid_t *out_pid)
{
    struct host *h = arg;
    if (h->spare == FD_NONE)
        return connect_new(h, out_pid);
    int fd = h->spare;
    h->spare = FD_NONE;
    *out_pid = h->spare_pid;
    return fd;
}

// Starts the program and waits until it serves. Exit status, 0: it does.
static int start_program(struct host *h, char **argv, struct str settings)
{
    int rc = private_dir_open(&h->dir);
    if (rc == 0 && settings.len)
        rc = private_dir_write(&h->dir, SETTINGS_FILE, settings);
    int listener = rc < 0 ? rc : private_dir_listen(&h->dir, "socket", &h->address);
    if (listener < 0)
        return explain(h, "cannot make a private directory for", listener);
    h->pid = proc_start(&(struct proc_start){.path = h->path,
                                             .argv = (const char *const *)argv,
                                             .envp = make_env(h, settings.len > 0),
                                             .stdin_fd = listener,
                                             .stdout_fd = 2,
                                             .stderr_fd = FD_NONE,
                                             .death_signal = SIGTERM,
                                             .own_group = true});
    fd_close(&listener);
    if (h->pid < 0)
        return explain(h, "cannot start", h->pid);
    h->program = proc_pidfd(h->pid);
    if (h->program < 0)
        return explain(h, "cannot watch", h->program);
    h->spare = connect_new(h, &h->spare_pid);
    if (h->spare == -EPROTO) {
        fprintf(stderr,
                "godwit-lsapi: %s does not say the number of a process that it has forked: "
                "is it a program for LSAPI that forks by itself?\n",
                h->path);
        return 1;
    }
    return h->spare < 0 ? explain(h, "no connection is served by", h->spare) : 0;
}

// How the program has ended, if it has.
static void tell_end(const struct host *h)
{
    char how[64];
    int status;
    if (h->pid > 0 && waitpid(h->pid, &status, WNOHANG) == h->pid)
        fprintf(stderr, "godwit-lsapi: %s %s\n", h->path, proc_exit_text(status, how));
}

int main(int argc, char **argv)
{
    struct host host = {.address = FD_NONE, .program = FD_NONE, .spare = FD_NONE};
    struct godwit_app_hooks hooks = {.name = "godwit-lsapi", .arg = &host, .describe = describe};
    struct spawner_start start;
    struct spawner_foreign foreign = {.arg = &host, .connect = connect_one};
    struct buf settings = {0};
    int at = read_settings(argc, argv, &settings);
    if (!at || !start_read(&start)) {
        (void)fputs("usage: godwit-lsapi [-d NAME=VALUE]... PROGRAM [ARGUMENT]...\n"
                    "Godwit starts it by itself.\n",
                    stderr);
        return 64;
    }
    host.path = strdup(argv[at]); // argv is overwritten by the process title
    if (!host.path)
        abort();
    program_info_version(host.path, host.version);
    int status = start_program(&host, argv + at, buf_view(&settings));
    private_dir_close(&host.dir);
    buf_done(&settings);
    if (status == 0) {
        proc_title_init(argc, argv);
        foreign.program = host.program;
        start.foreign = &foreign;
        status = spawner_run(&hooks, &start);
    }
    tell_end(&host);
    arena_done(&host.arena);
    free(host.path);
    return status;
}
