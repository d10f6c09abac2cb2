// SPDX-License-Identifier: Apache-2.0
// godwit_fcgi -- workers that stand before a FastCGI program, php-cgi: each worker has one of its
// own, which it starts when it boots and which ends with it. The last choice for PHP: each has its
// own opcache.
//
//   godwit-fcgi PROGRAM [ARGUMENT]...
//
// Each request has its own connection, so that nothing of one answer can reach the next. When the
// program ends, so does the worker, in the same way, so that the server's log tells the signal.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lsapi/private_dir.h"
#include "../lsapi/program_info.h"
#include "godwit_app.h"
#include "os/fd.h"
#include "os/proc.h"
#include "talk.h"
#include "wire/fcgi.h"

#define NAME         "godwit-fcgi: "
#define FAILED_BYTES 512

struct front {
    char **argv; // of the program
    int address;
};

static pid_t program;            // of this worker
static int program_fd = FD_NONE; // its pidfd
static volatile sig_atomic_t is_serving, has_ended, end_status;

static void collect(void)
{
    int status;
    if (has_ended || waitpid(program, &status, WNOHANG) != program)
        return;
    end_status = status;
    has_ended = 1;
}

// Ends as the program has ended.
NORETURN static void end_too(void)
{
    int signal = WIFSIGNALED(end_status) ? WTERMSIG(end_status) : 0;
    if (signal) {
        sigset_t set;
        struct sigaction usual = {.sa_handler = SIG_DFL};
        (void)prctl(PR_SET_DUMPABLE, 0); // a core of this process would tell nothing
        sigaction(signal, &usual, NULL);
        sigemptyset(&set);
        sigaddset(&set, signal);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        (void)raise(signal);
    }
    _exit(WIFEXITED(end_status) && WEXITSTATUS(end_status) ? WEXITSTATUS(end_status) : 1);
}

static void on_child(int signal)
{
    (void)signal;
    int saved = errno;
    char how[64];
    collect();
    if (has_ended && !is_serving) { // while serving, the connection's end tells
        (void)dprintf(STDERR_FILENO, NAME "process %d, its program, %s\n", (int)program,
                      proc_exit_text(end_status, how));
        end_too();
    }
    errno = saved;
}

// A program that ends closes its connection first.
static void wait_for_end(void)
{
    while (!has_ended && proc_life(program) == PROC_ENDS) {
        struct pollfd entry = {.fd = program_fd, .events = POLLIN};
        (void)poll(&entry, 1, -1);
        collect();
    }
}

// False when the program has ended first; a child of it may still have the other end of `fd`.
static bool wait_for_answer(int fd)
{
    struct pollfd entries[] = {{.fd = fd, .events = POLLIN}, {.fd = program_fd, .events = POLLIN}};
    while (poll(entries, ARRAY_LEN(entries), -1) < 0)
        continue; // a signal
    return entries[0].revents != 0;
}

// Waits until the program has nothing else to do: it takes one connection after another, and
// answers this record on any.
static bool is_free(const struct front *f)
{
    char room[FCGI_HEAD_BYTES];
    struct wr w = {.ptr = room, .size = sizeof room};
    int fd = private_dir_connect(f->address);
    if (fd < 0)
        return false;
    fcgi_put_head(&w, FCGI_GET_VALUES, 0);
    int rc = fd_write_all(fd, wr_view(&w));
    ssize_t count = rc < 0 || !wait_for_answer(fd) ? -EPIPE : fd_read(fd, room, 1);
    fd_close(&fd);
    return count > 0;
}

static int start_program(struct front *f, int listener)
{
    setenv("PHP_FCGI_MAX_REQUESTS", "0", true); // that is the server's to say
    unsetenv("PHP_FCGI_CHILDREN");
    pid_t pid = proc_start(&(struct proc_start){.path = f->argv[0],
                                                .argv = (const char *const *)f->argv,
                                                .envp = (const char *const *)environ,
                                                .stdin_fd = listener,
                                                .stdout_fd = 2,
                                                .stderr_fd = FD_NONE,
                                                .death_signal = SIGKILL});
    if (pid < 0)
        return pid;
    program = pid;
    program_fd = proc_pidfd(pid);
    return program_fd < 0 ? program_fd : 0;
}

static int on_boot(void *arg)
{
    struct front *f = arg;
    struct private_dir dir;
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
    int rc = private_dir_open(&dir);
    int listener = rc < 0 ? rc : private_dir_listen(&dir, "socket", &f->address);
    private_dir_close(&dir);
    rc = listener < 0 ? listener : start_program(f, listener);
    fd_close(&listener);
    if (rc < 0) {
        fprintf(stderr, NAME "cannot start %s: %s\n", f->argv[0], strerror(-rc));
        return 1;
    }
    if (!is_free(f)) {
        fprintf(stderr, NAME "%s does not answer FastCGI\n", f->argv[0]);
        return 1;
    }
    sigaction(SIGCHLD, &action, NULL);
    return waitpid(program, NULL, WNOHANG) == 0 ? 0 : 1;
}

// Without an answer: the server sees that the worker has died, and says 502 or cuts it.
NORETURN static void give_up(const struct front *f, struct godwit_app_request *req, const char *why)
{
    char text[FAILED_BYTES];
    char how[64] = "";
    wait_for_end();
    if (has_ended)
        proc_exit_text(end_status, how);
    int len = snprintf(text, sizeof text, NAME "%s, process %d: %s%s%s\n", f->argv[0], (int)program,
                       why, how[0] ? ": " : "", how);
    godwit_app_log(req, text, len > 0 ? strnlen(text, sizeof text) : 0);
    if (has_ended)
        end_too();
    _exit(1);
}

static void on_serve(void *arg, struct godwit_app_request *req)
{
    const struct front *f = arg;
    const char *why = NULL;
    is_serving = 1;
    int fd = private_dir_connect(f->address);
    if (fd < 0)
        give_up(f, req, "it takes no connection");
    enum talk_result result = talk_run(fd, program_fd, req, &why);
    fd_close(&fd);
    if (result == TALK_FAILED)
        give_up(f, req, why);
    if (result == TALK_LEFT) {
        // The script learns it at its next output, and may go on if it wants to.
        (void)is_free(f);
    }
    is_serving = 0;
    if (has_ended) {
        (void)godwit_app_finish(req); // it has answered
        end_too();
    }
}

static const char *on_describe(void *arg)
{
    static char text[PROGRAM_INFO_BYTES];
    char version[PROGRAM_INFO_VERSION_BYTES];
    const struct front *f = arg;
    program_info_version(f->argv[0], version);
    return program_info_describe(f->argv[0], version, "fcgi", text);
}

int main(int argc, char **argv)
{
    struct front front = {.address = FD_NONE};
    if (argc < 2 || argv[1][0] != '/') {
        (void)fputs("usage: godwit-fcgi PROGRAM [ARGUMENT]...\nGodwit starts it by itself.\n",
                    stderr);
        return 64;
    }
    // The process title overwrites argv.
    front.argv = calloc((size_t)argc, sizeof *front.argv);
    for (int i = 1; front.argv && i < argc; i++)
        front.argv[i - 1] = strdup(argv[i]);
    if (!front.argv || !front.argv[0])
        abort();
    struct godwit_app_hooks hooks = {.name = "godwit-fcgi",
                                     .arg = &front,
                                     .describe = on_describe,
                                     .boot = on_boot,
                                     .serve = on_serve};
    int status = godwit_app_main(&hooks, argc, argv);
    for (char **arg = front.argv; *arg; arg++)
        free(*arg);
    free(front.argv);
    return status;
}
