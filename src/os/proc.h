// SPDX-License-Identifier: Apache-2.0
// proc -- processes: start, identity, limits, death. For single-threaded callers unless said.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"

struct proc_user {
    uid_t uid;
    gid_t gid;
    gid_t groups[64]; // supplementary groups
    size_t group_count;
};

// What a program is started with. Everything not named here is closed or reset: descriptors other
// than 0, 1, 2 and `fds`, signal mask and handlers, controlling terminal stays.
struct proc_start {
    const char *path;                   // program file
    const char *const *argv;            // NULL-terminated
    const char *const *envp;            // NULL-terminated, the whole environment
    const char *dir;                    // working directory; NULL: keep
    const struct proc_user *user;       // NULL: keep
    int stdin_fd, stdout_fd, stderr_fd; // FD_NONE: /dev/null for 0, keep for 1 and 2
    const int *fds;                     // become descriptors 3, 4, ... in the program
    size_t fd_count;
    int death_signal;   // sent when the caller's process dies (PR_SET_PDEATHSIG); 0: none
    uint64_t files_max; // RLIMIT_NOFILE soft limit; 0: keep
    bool own_group;     // leads a new process group: Ctrl-C at a terminal passes it by
};

// proc_start forks and execs. Pid, or -errno of whatever failed up to and including the exec
// (reported through a pipe, so a missing program is seen here).
MUST_USE pid_t proc_start(const struct proc_start *start);

// proc_try calls `fn` in a child process with the rights of `user` (NULL: ours) and waits for it:
// what it returned, 0 or -errno; -EIO when it died. For a short look that leaves nothing behind.
MUST_USE int proc_try(const struct proc_user *user, int (*fn)(void *arg), void *arg);

// proc_become sets groups, gid and uid for good and checks that they cannot be regained. 0 or
// -errno.
MUST_USE int proc_become(const struct proc_user *user);

// proc_user_find looks a name up (NSS: may block). `group` NULL: the user's own groups, else that
// group only. False when the user or group does not exist.
MUST_USE bool proc_user_find(const char *name, const char *group, struct proc_user *out);

// proc_user_same tells whether both have the same ids and groups.
bool proc_user_same(const struct proc_user *a, const struct proc_user *b);

// proc_user_name writes the user's name, or the number. Returns `room`.
const char *proc_user_name(uid_t uid, char room[static 64]);

#define PROC_HOME_MAX 512 // bytes that proc_user_home may need, with NUL

// proc_user_home writes the user's home directory, "/" when he has none. Returns `room`.
const char *proc_user_home(uid_t uid, char room[static PROC_HOME_MAX]);

// proc_pidfd opens a descriptor that becomes readable when `pid` ends. -errno on failure.
MUST_USE int proc_pidfd(pid_t pid);

// proc_kill signals the process behind a pidfd; 0 or -errno (-ESRCH: has ended).
int proc_kill(int pidfd, int signal);

enum proc_end {
    PROC_END_NOT_YET,
    PROC_END_KNOWN,
    PROC_END_UNKNOWN // its parent has collected it, before Linux 6.15; or it is hidden from this
                     // user
};

// proc_end tells how the process behind a pidfd, whose number is `pid`, has ended, though it is no
// child of this one. The wait status is set when it is known.
enum proc_end proc_end(int pidfd, pid_t pid, int *out_status);

// proc_reap collects one ended child of this process, if any: its pid and wait status; 0 when none.
pid_t proc_reap(int *out_status);

// proc_be_subreaper makes orphans below us our children. 0 or -errno.
int proc_be_subreaper(void);

// proc_kill_strangers sends `signal` to each child of this process for which `is_known`
// (may be NULL) answers false, and to their descendants. Returns how many were signalled.
size_t proc_kill_strangers(int signal, bool (*is_known)(void *arg, pid_t pid), void *arg);

// proc_die_with_parent asks for `signal` when the parent dies; false when `parent` has gone
// already.
bool proc_die_with_parent(int signal, pid_t parent);

// proc_set_title shows `title` in ps and top (argv area and comm). Call proc_title_init first.
void proc_set_title(const char *title);

// proc_title_init remembers the argv area; call first in main.
void proc_title_init(int argc, char **argv);

// proc_cpu_count is the count of processors this process may run on, at least 1.
unsigned proc_cpu_count(void);

// proc_anon_kib is the anonymous resident memory of `pid` in KiB (statm: resident minus shared);
// 0 when it can't be read. One small read of /proc. Any thread.
uint64_t proc_anon_kib(pid_t pid);

enum proc_life {
    PROC_LIVES,
    PROC_ENDS, // is gone, or has begun to end: what it has open is being closed
    PROC_LIFE_UNKNOWN
};

// proc_life tells whether `pid` is about to end, as it is when the other end of one of its
// connections sees that one closed by the kernel. One small read of /proc. Any thread.
enum proc_life proc_life(pid_t pid);

// proc_ignores tells whether `pid` is known to ignore a signal. One small read of /proc. Any
// thread.
bool proc_ignores(pid_t pid, int signal);

struct proc_times {
    uint64_t ran_us;      // on a processor
    uint64_t lined_up_us; // could run, and waited for a processor
};

// proc_times reads what the first thread of `pid` has done since it was started. False when the
// kernel does not tell. One small read of /proc. Any thread.
MUST_USE bool proc_times(pid_t pid, struct proc_times *out);

// proc_harden gives up for good what exec could win (setuid programs), and, when `on`, keeps other
// processes of the same user out of our memory. 0 or -errno.
MUST_USE int proc_harden(bool on);

// proc_raise_files_limit sets the soft descriptor limit to the hard one; returns it.
uint64_t proc_raise_files_limit(void);

// proc_files_limit returns the soft descriptor limit.
uint64_t proc_files_limit(void);

// proc_exit_text describes a wait status: "exited with 3", "killed by SIGSEGV". Returns `room`.
const char *proc_exit_text(int status, char room[static 64]);
