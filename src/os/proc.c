// SPDX-License-Identifier: Apache-2.0
// proc -- see proc.h. Starting a program is in proc_start.c.
#include "os/proc.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "os/fd.h"
#include "os/proc_file.h"
#include "os/sig.h"

#define NSS_BYTES    16384 // room for one entry of the user or group database
#define FLAG_EXITING 0x4   // of a process, as the kernel shows it

// The memory that ps shows: argv and, behind it, what the environment was.
static struct {
    char *ptr;
    size_t size;
} title_area;

static char **moved_environ;

// One row of the process table. Number and start time together are never used twice.
struct kin {
    pid_t pid, parent;
    uint64_t start_ticks;
    bool is_stranger;
};

// Reads the row of `pid`; false when it has ended.
static bool read_kin(pid_t pid, struct kin *out)
{
    char room[PROC_FILE_ROW_BYTES];
    struct str row = proc_file_row(pid, room);
    uint64_t parent;
    uint64_t start_ticks;
    if (!str_to_u64(proc_file_field(row, PROC_FILE_PARENT), &parent)
        || !str_to_u64(proc_file_field(row, PROC_FILE_START), &start_ticks))
        return false;
    *out = (struct kin){.pid = pid, .parent = (pid_t)parent, .start_ticks = start_ticks};
    return true;
}

// Lists all processes; the caller frees *out_table.
static size_t list_processes(struct kin **out_table)
{
    struct kin *table = NULL;
    size_t count = 0;
    size_t size = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *entry = NULL; dir && (entry = readdir(dir)) != NULL;) {
        uint64_t pid;
        struct kin kin;
        if (!str_to_u64(str_c(entry->d_name), &pid) || !read_kin((pid_t)pid, &kin))
            continue;
        if (count == size) {
            size = size ? size * 2 : 256;
            table = mem_grow(table, size * sizeof *table);
        }
        table[count++] = kin;
    }
    if (dir)
        closedir(dir);
    *out_table = table;
    return count;
}

// Marks the children of the marked until there are no more. Parents usually come before their
// children in /proc, so this is one pass and one to see that nothing is left.
static void mark_descendants(struct kin *table, size_t count)
{
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < count; i++) {
            for (size_t p = 0; p < count && !table[i].is_stranger; p++) {
                if (table[p].is_stranger && table[p].pid == table[i].parent)
                    again = table[i].is_stranger = true;
            }
        }
    }
}

// Signals a process unless its number has passed to another one since the table was read.
static bool kill_same(const struct kin *kin, int signal)
{
    struct kin now;
    int fd = proc_pidfd(kin->pid);
    bool killed = fd >= 0 && read_kin(kin->pid, &now) && now.start_ticks == kin->start_ticks
                  && proc_kill(fd, signal) == 0;
    fd_close(&fd);
    return killed;
}

int proc_become(const struct proc_user *user)
{
    if (setgroups(user->group_count, user->groups) < 0
        || setresgid(user->gid, user->gid, user->gid) < 0
        || setresuid(user->uid, user->uid, user->uid) < 0)
        return -errno;
    // Belt and braces: a kernel or a sandbox that lets us back in is no place to run strangers'
    // code.
    if (user->uid != 0 && (setuid(0) == 0 || seteuid(0) == 0))
        return -EPERM;
    if (user->uid != 0 && user->gid != 0 && setgid(0) == 0)
        return -EPERM;
    return 0;
}

bool proc_user_find(const char *name, const char *group, struct proc_user *out)
{
    char room[NSS_BYTES];
    struct passwd pw;
    struct passwd *pw_found = NULL;
    if (getpwnam_r(name, &pw, room, sizeof room, &pw_found) != 0 || !pw_found)
        return false;
    struct proc_user user = {.uid = pw.pw_uid, .gid = pw.pw_gid};
    if (group) {
        struct group gr;
        struct group *gr_found = NULL;
        if (getgrnam_r(group, &gr, room, sizeof room, &gr_found) != 0 || !gr_found)
            return false;
        user.gid = gr.gr_gid;
        user.groups[0] = gr.gr_gid;
        user.group_count = 1;
    } else {
        int count = (int)ARRAY_LEN(user.groups);
        // Someone in more groups than fit keeps the first ones: fewer rights, never more.
        if (getgrouplist(name, user.gid, user.groups, &count) < 0)
            count = (int)ARRAY_LEN(user.groups);
        user.group_count = (size_t)count;
    }
    *out = user;
    return true;
}

bool proc_user_same(const struct proc_user *a, const struct proc_user *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->group_count == b->group_count
           && memcmp(a->groups, b->groups, a->group_count * sizeof a->groups[0]) == 0;
}

const char *proc_user_name(uid_t uid, char room[static 64])
{
    char entry[NSS_BYTES];
    struct passwd pw;
    struct passwd *found = NULL;
    if (getpwuid_r(uid, &pw, entry, sizeof entry, &found) == 0 && found)
        snprintf(room, 64, "%.63s", pw.pw_name);
    else
        snprintf(room, 64, "%u", uid);
    return room;
}

const char *proc_user_home(uid_t uid, char room[static PROC_HOME_MAX])
{
    char entry[NSS_BYTES];
    struct passwd pw;
    struct passwd *found = NULL;
    bool has_home = getpwuid_r(uid, &pw, entry, sizeof entry, &found) == 0 && found
                    && pw.pw_dir[0] == '/' && strlen(pw.pw_dir) < PROC_HOME_MAX;
    snprintf(room, PROC_HOME_MAX, "%s", has_home ? pw.pw_dir : "/");
    return room;
}

int proc_pidfd(pid_t pid)
{
    long fd = syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -errno : (int)fd;
}

int proc_kill(int pidfd, int signal)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

pid_t proc_reap(int *out_status)
{
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0)
        return 0;
    *out_status = status;
    return pid;
}

size_t proc_kill_strangers(int signal, bool (*is_known)(void *arg, pid_t pid), void *arg)
{
    struct kin *table;
    size_t count = list_processes(&table);
    pid_t self = getpid();
    for (size_t i = 0; i < count; i++)
        table[i].is_stranger =
            table[i].parent == self && !(is_known && is_known(arg, table[i].pid));
    mark_descendants(table, count);
    size_t signalled = 0;
    for (size_t i = 0; i < count; i++)
        if (table[i].is_stranger && kill_same(&table[i], signal))
            signalled++;
    mem_free(table);
    return signalled;
}

int proc_be_subreaper(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}

bool proc_die_with_parent(int signal, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
    // It may have died before the kernel was asked to watch.
    return getppid() == parent;
}

void proc_title_init(int argc, char **argv)
{
    char *end = argc > 0 ? argv[0] : NULL;
    for (int i = 0; i < argc && argv[i] == end; i++)
        end = argv[i] + strlen(argv[i]) + 1;
    size_t count = 0;
    while (environ[count])
        count++;
    // The environment moves to the heap, so that the title may use its place. Never freed: others
    // may hold pointers from getenv.
    size_t text_size = 0;
    for (size_t i = 0; i < count; i++)
        text_size += strlen(environ[i]) + 1;
    moved_environ = mem_alloc((count + 1) * sizeof *moved_environ + text_size);
    char *to = (char *)(moved_environ + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(environ[i]) + 1;
        if (environ[i] == end)
            end += size;
        moved_environ[i] = memcpy(to, environ[i], size);
        to += size;
    }
    environ = moved_environ;
    title_area.ptr = argc > 0 ? argv[0] : NULL;
    title_area.size = argc > 0 ? (size_t)(end - argv[0]) : 0;
}

void proc_set_title(const char *title)
{
    prctl(PR_SET_NAME, title, 0, 0, 0); // the kernel cuts it at 15 bytes
    if (title_area.size == 0)
        return;
    memset(title_area.ptr, 0, title_area.size);
    snprintf(title_area.ptr, title_area.size, "%s", title);
}

unsigned proc_cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1; // more processors than the set holds
    int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}

enum proc_life proc_life(pid_t pid)
{
    char room[PROC_FILE_ROW_BYTES];
    struct str row = proc_file_row(pid, room);
    if (!row.len) // gone, or hidden from this user
        return kill(pid, 0) < 0 && errno == ESRCH ? PROC_ENDS : PROC_LIFE_UNKNOWN;
    struct str state = proc_file_field(row, PROC_FILE_STATE);
    uint64_t flags;
    if (state.len != 1 || !str_to_u64(proc_file_field(row, PROC_FILE_FLAGS), &flags))
        return PROC_LIFE_UNKNOWN;
    bool ends = *state.ptr == 'Z' || *state.ptr == 'X' || (flags & FLAG_EXITING);
    return ends ? PROC_ENDS : PROC_LIVES;
}

bool proc_ignores(pid_t pid, int signal)
{
    char room[PROC_FILE_STATUS_BYTES];
    struct str status = proc_file_read(pid, "status", room, sizeof room);
    uint64_t ignored;
    // Who blocks a signal may still read it.
    return str_hex_to_u64(proc_file_value(status, STR("SigIgn:")), &ignored)
           && (ignored & (UINT64_C(1) << (signal - 1)));
}

bool proc_times(pid_t pid, struct proc_times *out)
{
    char room[128];
    struct str rest = proc_file_read(pid, "schedstat", room, sizeof room);
    uint64_t ran_ns;
    uint64_t lined_up_ns;
    if (!str_to_u64(str_cut(&rest, ' '), &ran_ns) || !str_to_u64(str_cut(&rest, ' '), &lined_up_ns))
        return false;
    *out = (struct proc_times){ran_ns / 1000, lined_up_ns / 1000};
    return true;
}

uint64_t proc_anon_kib(pid_t pid)
{
    char room[128];
    struct str rest = proc_file_read(pid, "statm", room, sizeof room);
    uint64_t resident;
    uint64_t shared;
    str_cut(&rest, ' ');
    if (!str_to_u64(str_cut(&rest, ' '), &resident) || !str_to_u64(str_cut(&rest, ' '), &shared)
        || shared > resident)
        return 0;
    return (resident - shared) * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
}

int proc_harden(bool on)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return prctl(PR_SET_DUMPABLE, on ? 0 : 1, 0, 0, 0) < 0 ? -errno : 0;
}

uint64_t proc_raise_files_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? before : limit.rlim_cur;
}

uint64_t proc_files_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur;
}

const char *proc_exit_text(int status, char room[static 64])
{
    if (WIFEXITED(status)) {
        snprintf(room, 64, "exited with %d", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
        snprintf(room, 64, "killed by %s%s", sig_name(WTERMSIG(status)),
                 WCOREDUMP(status) ? " (core dumped)" : "");
    } else {
        snprintf(room, 64, "wait status %d", status);
    }
    return room;
}
