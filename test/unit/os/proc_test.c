// SPDX-License-Identifier: Apache-2.0
// proc_test -- programs start with what was asked and nothing else; identity, death, strangers.
#include "os/proc.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
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
#include "os/fd.h"
#include "os/poll.h"

#define NOBODY 65534

static const char *const NO_ENV[] = {NULL};

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

// Reads until all writers have gone.
static void read_all(int fd, char *room, size_t size)
{
    size_t len = 0;
    ssize_t got;
    while ((got = fd_read(fd, room + len, size - 1 - len)) > 0)
        len += (size_t)got;
    assert_int_equal(got, 0);
    room[len] = '\0';
}

// Runs a shell script as `start` says, with its output in `room`. Returns the wait status.
static int run(struct proc_start start, const char *script, char *room, size_t size)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    int out[2];
    assert_int_equal(fd_pipe(out), 0);
    start.path = "/bin/sh";
    start.argv = argv;
    if (!start.envp)
        start.envp = NO_ENV;
    start.stdin_fd = FD_NONE;
    start.stdout_fd = out[1];
    start.stderr_fd = FD_NONE;
    pid_t pid = proc_start(&start);
    assert_true(pid > 0);
    fd_close(&out[1]);
    read_all(out[0], room, size);
    fd_close(&out[0]);
    return wait_for(pid);
}

static void a_failed_start_is_an_error_of_the_call(void **state)
{
    (void)state;

    static const struct {
        const char *path, *dir;
        uint64_t files_max;
        int error;
    } CASES[] = {
        {"/no/such/program", NULL, 0, -ENOENT},       {"/dev/null", NULL, 0, -EACCES},
        {"/bin/sh", "/no/such/dir", 0, -ENOENT},      {"/bin/sh/x", NULL, 0, -ENOTDIR},
        {"/bin/sh", NULL, UINT64_C(1) << 40, -EPERM}, // above what the kernel allows to anyone
    };

    static const char *const ARGV[] = {"program", NULL};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct proc_start start = {.path = CASES[i].path,
                                   .argv = ARGV,
                                   .envp = NO_ENV,
                                   .dir = CASES[i].dir,
                                   .files_max = CASES[i].files_max,
                                   .stdin_fd = FD_NONE,
                                   .stdout_fd = FD_NONE,
                                   .stderr_fd = FD_NONE};
        assert_int_equal(proc_start(&start), CASES[i].error);
        // Nothing is left to collect.
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void a_program_gets_what_was_named_and_nothing_else(void **state)
{
    (void)state;
    static const char *const ENV[] = {"COLOUR=red", NULL};

    static const struct {
        const char *script, *expected;
    } CASES[] = {
        {"echo $COLOUR$HOME", "red\n"},
        {"pwd", "/usr\n"},
        {"ulimit -n", "64\n"},
        {"cat", ""}, // standard input ends at once
        {"for f in 0 1 2 3 4 5 6 7 8 9 10 20 63; do [ -e /proc/$$/fd/$f ] && printf '%s ' $f; done",
         "0 1 2 "},
        {"kill -USR1 $$; echo survived", ""},
        {"kill -PIPE $$; echo survived", ""},
    };
    struct proc_start start = {.envp = ENV, .dir = "/usr", .files_max = 64};
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGPIPE, SIG_IGN);
    int extra[2];
    assert_int_equal(fd_pipe(extra), 0);
    assert_int_equal(fd_set_cloexec(extra[0], false), 0);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char room[256];
        run(start, CASES[i].script, room, sizeof room);
        assert_string_equal(room, CASES[i].expected);
    }
    fd_close(&extra[0]);
    fd_close(&extra[1]);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void descriptors_are_placed_even_where_they_overlap(void **state)
{
    (void)state;
    int one[2];
    int two[2];
    char room[64];
    assert_int_equal(fd_pipe(one), 0);
    assert_int_equal(fd_pipe(two), 0);
    // Places 3, 4 and 5 are likely where the pipes themselves stand.
    const int fds[] = {two[1], two[1], one[1]};
    struct proc_start start = {.fds = fds, .fd_count = 3};
    int status = run(start, "echo three >&3; echo four >&4; echo five >&5", room, sizeof room);
    assert_int_equal(status, 0);
    fd_close(&one[1]);
    fd_close(&two[1]);
    read_all(one[0], room, sizeof room);
    assert_string_equal(room, "five\n");
    read_all(two[0], room, sizeof room);
    assert_string_equal(room, "three\nfour\n");
    fd_close(&one[0]);
    fd_close(&two[0]);
}

static void it_ends_with_its_parent(void **state)
{
    (void)state;
    // The child starts a program that holds the pipe, and dies; the pipe ends when that one dies
    // too.
    int pipes[2];
    char room[8];
    assert_int_equal(fd_pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        static const char *const ARGV[] = {"sh", "-c", "read line <&3", NULL};
        int never[2];
        if (fd_pipe(never) < 0)
            _exit(1);
        struct proc_start start = {.path = "/bin/sh",
                                   .argv = ARGV,
                                   .envp = NO_ENV,
                                   .stdin_fd = FD_NONE,
                                   .stdout_fd = pipes[1],
                                   .stderr_fd = FD_NONE,
                                   .fds = never,
                                   .fd_count = 2, // it holds both ends, so it waits for ever
                                   .death_signal = SIGKILL};
        _exit(proc_start(&start) > 0 ? 0 : 1);
    }
    fd_close(&pipes[1]);
    assert_int_equal(wait_for(pid), 0);
    read_all(pipes[0], room, sizeof room);
    assert_string_equal(room, "");
    fd_close(&pipes[0]);
}

static void identity_can_not_be_taken_back_or_by_others(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct proc_user nobody = {.uid = NOBODY, .gid = NOBODY};
        struct proc_user other = {.uid = 1, .gid = 1};
        if (getuid() == 0 && proc_become(&nobody) != 0)
            _exit(1);
        if (getuid() == NOBODY && getgroups(0, NULL) != 0)
            _exit(2);
        _exit(proc_become(&other) == -EPERM && getuid() != 1 && getgid() != 1 ? 0 : 3);
    }
    assert_int_equal(wait_for(pid), 0);
}

static void users_are_found_by_name(void **state)
{
    (void)state;
    struct proc_user user;
    char room[64];
    assert_true(proc_user_find("root", NULL, &user));
    assert_int_equal(user.uid, 0);
    assert_int_equal(user.gid, 0);
    assert_true(user.group_count >= 1);
    assert_true(proc_user_find("root", "daemon", &user));
    assert_int_equal(user.group_count, 1);
    assert_int_equal(user.groups[0], user.gid);
    assert_int_not_equal(user.gid, 0);
    assert_false(proc_user_find("no-such-user", NULL, &user));
    assert_false(proc_user_find("root", "no-such-group", &user));
    assert_string_equal(proc_user_name(0, room), "root");
    assert_string_equal(proc_user_name(4000000000u, room), "4000000000");
}

static void wait_statuses_are_told_in_words(void **state)
{
    (void)state;

    static const struct {
        const char *script, *text;
    } CASES[] = {
        {"exit 0", "exited with 0"},
        {"exit 3", "exited with 3"},
        {"kill -TERM $$", "killed by SIGTERM"},
        {"kill -KILL $$", "killed by SIGKILL"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char room[64];
        int status = run((struct proc_start){0}, CASES[i].script, room, sizeof room);
        assert_string_equal(proc_exit_text(status, room), CASES[i].text);
    }
}

static void a_pidfd_tells_the_end(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(fd_pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        fd_close(&pipes[1]);
        _exit(fd_read(pipes[0], &byte, 1) < 0);
    }
    int pidfd = proc_pidfd(pid);
    assert_true(pidfd >= 0);
    int status = 0;
    assert_int_equal(proc_reap(&status), 0);
    int queue = poll_open();
    struct poll_event ev;
    assert_int_equal(poll_add(queue, pidfd, POLL_READ, pipes), 0);
    assert_int_equal(poll_wait(queue, &ev, 1, 0), 0);
    assert_int_equal(proc_kill(pidfd, 0), 0);
    assert_int_equal(proc_kill(pidfd, SIGKILL), 0);
    assert_int_equal(poll_wait(queue, &ev, 1, -1), 1);
    assert_int_equal(proc_reap(&status), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(proc_kill(pidfd, 0), -ESRCH);
    assert_int_equal(proc_pidfd(0), -EINVAL);
    fd_close(&queue);
    fd_close(&pidfd);
    fd_close(&pipes[0]);
    fd_close(&pipes[1]);
}

static bool is_the_known_one(void *arg, pid_t pid)
{
    return pid == *(pid_t *)arg;
}

// Starts a child that starts a child; both hold `held` open and wait for ever.
static pid_t start_family(int held)
{
    int ready[2];
    char byte;
    assert_int_equal(fd_pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t grandchild = fork();
        alarm(30); // should the test fail, nobody kills us
        if (grandchild == 0 && fd_write(ready[1], STR("x")) != 1)
            _exit(1);
        fd_close(&ready[1]);
        for (;;)
            pause();
    }
    fd_close(&ready[1]);
    assert_true(pid > 0 && held >= 0);
    assert_int_equal(fd_read(ready[0], &byte, 1), 1);
    fd_close(&ready[0]);
    return pid;
}

// One that is dead and not collected has begun to end, one that is gone has, too.
static void it_is_seen_whether_one_lives(void **state)
{
    (void)state;
    int gate[2];
    siginfo_t info;
    char byte;
    assert_int_equal(proc_life(getpid()), PROC_LIVES);
    assert_int_equal(fd_pipe(gate), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fd_read(gate[0], &byte, 1) == 1 ? 3 : 4);
    assert_true(pid > 0);
    assert_int_equal(proc_life(pid), PROC_LIVES);
    assert_int_equal(fd_write(gate[1], STR("x")), 1);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(proc_life(pid), PROC_ENDS);
    assert_int_equal(WEXITSTATUS(wait_for(pid)), 3);
    assert_int_equal(proc_life(pid), PROC_ENDS);
    fd_close(&gate[0]);
    fd_close(&gate[1]);
}

static void it_is_seen_what_one_ignores(void **state)
{
    static const int SIGNALS[] = {SIGHUP, SIGTERM, SIGUSR2, SIGIO};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        assert_false(proc_ignores(getpid(), SIGNALS[i]));
        void (*before)(int) = signal(SIGNALS[i], SIG_IGN);
        for (size_t j = 0; j < ARRAY_LEN(SIGNALS); j++)
            assert_int_equal(proc_ignores(getpid(), SIGNALS[j]), j == i);
        signal(SIGNALS[i], before);
    }
    assert_false(proc_ignores(-1, SIGTERM));
}

// How somebody else's child has ended, before and after it was collected.
static void the_end_of_a_stranger_is_known(void **state)
{
    (void)state;

    static const struct {
        int exit, signal;
    } CASES[] = {{0, 0}, {3, 0}, {0, SIGKILL}, {0, SIGUSR1}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int gate[2];
        siginfo_t info;
        int status = -2;
        assert_int_equal(fd_pipe(gate), 0);
        pid_t pid = fork();
        if (pid == 0) {
            char byte;
            fd_close(&gate[1]);
            (void)!fd_read(gate[0], &byte, 1);
            if (CASES[i].signal)
                raise(CASES[i].signal);
            _exit(CASES[i].exit);
        }
        assert_true(pid > 0);
        int pidfd = proc_pidfd(pid);
        assert_true(pidfd >= 0);
        assert_int_equal(proc_end(pidfd, pid, &status), PROC_END_NOT_YET);
        fd_close(&gate[1]);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(proc_end(pidfd, pid, &status), PROC_END_KNOWN);
        assert_int_equal(status, CASES[i].signal ? CASES[i].signal : CASES[i].exit << 8);
        assert_int_equal(wait_for(pid), status);
        int later = -2;
        // Only newer kernels tell it now; no other process is taken for this one.
        if (proc_end(pidfd, pid, &later) == PROC_END_KNOWN)
            assert_int_equal(later, status);
        else
            assert_int_equal(later, -2);
        fd_close(&pidfd);
        fd_close(&gate[0]);
    }
}

static void strangers_are_killed_with_their_families(void **state)
{
    (void)state;
    int strange[2];
    int known[2];
    char room[8];
    assert_int_equal(fd_pipe(known), 0);
    pid_t friend = start_family(known[1]);
    fd_close(&known[1]);
    assert_int_equal(fd_pipe(strange), 0);
    pid_t stranger = start_family(strange[1]);
    fd_close(&strange[1]);

    assert_int_equal(proc_kill_strangers(SIGKILL, is_the_known_one, &friend), 2);
    // Ends only when parent and child have gone.
    read_all(strange[0], room, sizeof room);
    assert_true(WIFSIGNALED(wait_for(stranger)));
    assert_int_equal(waitpid(friend, NULL, WNOHANG), 0);

    assert_int_equal(proc_kill_strangers(SIGKILL, NULL, NULL), 2);
    read_all(known[0], room, sizeof room);
    assert_true(WIFSIGNALED(wait_for(friend)));
    fd_close(&strange[0]);
    fd_close(&known[0]);
}

static void facts_about_this_process(void **state)
{
    (void)state;
    struct rlimit limit;
    assert_true(proc_cpu_count() >= 1);
    assert_true(proc_anon_kib(getpid()) > 0);
    assert_int_equal(proc_anon_kib(-1), 0);
    struct proc_times times;
    assert_true(proc_times(getpid(), &times) && times.ran_us > 0);
    assert_false(proc_times(-1, &times));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(proc_raise_files_limit(), limit.rlim_max);
    assert_true(proc_die_with_parent(0, getppid()));
    assert_false(proc_die_with_parent(0, getpid()));
}

#define OTHER_ID 65534

static int fail_as_told(void *arg)
{
    const int *error = arg;
    if (*error == EINTR)
        (void)raise(SIGKILL);
    return -*error;
}

static int is_other(void *arg)
{
    (void)arg;
    return geteuid() == OTHER_ID ? 0 : -EACCES;
}

static void a_try_tells_how_it_went(void **state)
{
    (void)state;

    static const struct {
        int error, result;
    } CASES[] = {{0, 0}, {EACCES, -EACCES}, {EOPNOTSUPP, -EOPNOTSUPP}, {EINTR, -EIO}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int error = CASES[i].error; // EINTR: dies
        assert_int_equal(proc_try(NULL, fail_as_told, &error), CASES[i].result);
    }
    struct proc_user other = {.uid = OTHER_ID, .gid = OTHER_ID};
    assert_int_equal(proc_try(&other, is_other, NULL), getuid() == 0 ? 0 : -EPERM);
    assert_int_equal(proc_try(NULL, is_other, NULL), geteuid() == OTHER_ID ? 0 : -EACCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_start_is_an_error_of_the_call),
        cmocka_unit_test(a_program_gets_what_was_named_and_nothing_else),
        cmocka_unit_test(descriptors_are_placed_even_where_they_overlap),
        cmocka_unit_test(it_ends_with_its_parent),
        cmocka_unit_test(identity_can_not_be_taken_back_or_by_others),
        cmocka_unit_test(users_are_found_by_name),
        cmocka_unit_test(wait_statuses_are_told_in_words),
        cmocka_unit_test(a_pidfd_tells_the_end),
        cmocka_unit_test(it_is_seen_whether_one_lives),
        cmocka_unit_test(it_is_seen_what_one_ignores),
        cmocka_unit_test(the_end_of_a_stranger_is_known),
        cmocka_unit_test(strangers_are_killed_with_their_families),
        cmocka_unit_test(a_try_tells_how_it_went),
        cmocka_unit_test(facts_about_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
