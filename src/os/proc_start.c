// SPDX-License-Identifier: Apache-2.0
// proc_start -- fork and exec with a clean slate; declared in proc.h.
//
// The child reports the errno of the step that failed through a close-on-exec pipe; a pipe that
// ends without a word is an exec that went well.
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/sig.h"

#define FIRST_PASSED 3 // descriptors from here on are those of proc_start.fds

// Descriptors out of the way of the places they are to take, so that no dup2 hits a later source.
struct sources {
    int standard[FIRST_PASSED];
    int passed[FD_PASS_MAX];
};

// Everything below up to `run_child` runs in the child: only async-signal-safe calls.

static int lift(int fd, int above)
{
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, above);
    return lifted < 0 ? -errno : lifted;
}

static int lift_all(const struct proc_start *start, int above, struct sources *out)
{
    const int standard[FIRST_PASSED] = {start->stdin_fd, start->stdout_fd, start->stderr_fd};
    for (int i = 0; i < FIRST_PASSED; i++) {
        out->standard[i] = FD_NONE;
        if (standard[i] != FD_NONE && (out->standard[i] = lift(standard[i], above)) < 0)
            return out->standard[i];
    }
    for (size_t i = 0; i < start->fd_count; i++)
        if ((out->passed[i] = lift(start->fds[i], above)) < 0)
            return out->passed[i];
    if (out->standard[0] == FD_NONE) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0)
            return -errno;
        out->standard[0] = lift(null, above);
    }
    return out->standard[0] < 0 ? out->standard[0] : 0;
}

static int place_all(const struct proc_start *start, const struct sources *from)
{
    for (int i = 0; i < FIRST_PASSED; i++)
        if (from->standard[i] != FD_NONE && dup2(from->standard[i], i) < 0)
            return -errno;
    for (size_t i = 0; i < start->fd_count; i++)
        if (dup2(from->passed[i], FIRST_PASSED + (int)i) < 0)
            return -errno;
    // Marked rather than closed: the error pipe is needed until the exec.
    unsigned first = FIRST_PASSED + (unsigned)start->fd_count;
    return close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

static int set_files_max(uint64_t max)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    limit.rlim_cur = max;
    if (limit.rlim_max < max)
        limit.rlim_max = max;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

// Returns only on failure, with -errno.
static int become_program(const struct proc_start *start, pid_t parent, int above)
{
    struct sources from;
    int rc = lift_all(start, above, &from);
    if (rc == 0)
        rc = place_all(start, &from);
    if (rc == 0 && start->own_group && setpgid(0, 0) < 0)
        rc = -errno;
    if (rc == 0 && start->files_max > 0)
        rc = set_files_max(start->files_max);
    if (rc == 0 && start->user)
        rc = proc_become(start->user);
    // After the change of user, which clears it.
    if (rc == 0 && start->death_signal && !proc_die_with_parent(start->death_signal, parent))
        rc = -ESRCH;
    if (rc == 0 && start->dir && chdir(start->dir) < 0)
        rc = -errno;
    if (rc < 0)
        return rc;
    sig_reset();
    // execve promises not to change the strings; its type is older than const.
    execve(start->path, (char *const *)(uintptr_t)start->argv,
           (char *const *)(uintptr_t)start->envp);
    return -errno;
}

NORETURN static void run_child(const struct proc_start *start, pid_t parent, int report)
{
    int above = FIRST_PASSED + (int)start->fd_count;
    int lifted = lift(report, above); // may stand where a passed descriptor goes
    if (lifted >= 0)
        report = lifted;
    int error = lifted < 0 ? lifted : become_program(start, parent, above);
    ssize_t sent = write(report, &error, sizeof error);
    // Nobody is left to tell when even this fails; the parent takes it as a start that died at
    // once.
    _exit(sent == (ssize_t)sizeof error ? 127 : 126);
}

pid_t proc_start(const struct proc_start *start)
{
    ASSERT(start->fd_count <= FD_PASS_MAX);
    int report[2];
    int rc = fd_pipe(report);
    if (rc < 0)
        return rc;
    // No handler of ours may run in the child before its reset.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        run_child(start, parent, report[1]);
    int fork_error = pid < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    fd_close(&report[1]);

    int error = 0;
    if (pid > 0 && fd_read(report[0], &error, sizeof error) == (ssize_t)sizeof error) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    fd_close(&report[0]);
    if (fork_error < 0)
        return fork_error;
    return error < 0 ? error : pid;
}

int proc_try(const struct proc_user *user, int (*fn)(void *arg), void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        int rc = user ? proc_become(user) : 0;
        if (rc == 0)
            rc = fn(arg);
        _exit(-rc & 0xff); // no number of an error is larger
    }
    if (pid < 0)
        return -errno;
    int status;
    pid_t ended;
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}
