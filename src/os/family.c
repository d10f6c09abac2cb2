// SPDX-License-Identifier: Apache-2.0
// family -- see family.h.
#include "os/family.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/str.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/proc_file.h"

#define DESCENDANTS_MAX 256

struct kin {
    pid_t pid;
    int pidfd;
};

pid_t family_ended(void)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return 0;
    return info.si_pid;
}

int family_collect(pid_t pid)
{
    int status = 0;
    pid_t got;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    ASSERT(got == pid);
    return status;
}

pid_t family_parent(pid_t pid)
{
    char room[PROC_FILE_ROW_BYTES];
    uint64_t parent;
    struct str field = proc_file_field(proc_file_row(pid, room), PROC_FILE_PARENT);
    return str_to_u64(field, &parent) ? (pid_t)parent : 0;
}

bool family_runs_as(pid_t pid, uid_t uid)
{
    char room[PROC_FILE_STATUS_BYTES];
    struct str ids = proc_file_value(proc_file_read(pid, "status", room, sizeof room), STR("Uid:"));
    size_t same = 0; // of four, with tabs between
    for (uint64_t number; ids.len > 0 && str_to_u64(str_cut(&ids, '\t'), &number);)
        same += number == uid;
    return same == 4;
}

bool family_is_group_leader(pid_t pid)
{
    return getpgid(pid) == pid;
}

pid_t family_session(pid_t pid)
{
    pid_t session = getsid(pid);
    return session < 0 ? 0 : session;
}

bool family_kill(pid_t pid, int signal)
{
    ASSERT(pid > 1);
    return kill(pid, signal) == 0;
}

bool family_has_children(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// Adds the children of one thread. Whose parent is right after its descriptor was made is meant by
// it, however often the number was used before.
static size_t add_children(pid_t pid, const char *thread, struct kin out[], size_t max)
{
    char name[48];
    char room[8192];
    snprintf(name, sizeof name, "task/%.16s/children", thread);
    struct str rest = proc_file_read(pid, name, room, sizeof room);
    size_t count = 0;
    uint64_t child;
    while (count < max && str_to_u64(str_cut(&rest, ' '), &child)) {
        int pidfd = proc_pidfd((pid_t)child);
        if (pidfd >= 0 && family_parent((pid_t)child) == pid)
            out[count++] = (struct kin){(pid_t)child, pidfd};
        else
            fd_close(&pidfd);
    }
    return count;
}

static size_t add_all_children(pid_t pid, struct kin out[], size_t max)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    size_t count = 0;
    for (struct dirent *entry = NULL; dir && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            count += add_children(pid, entry->d_name, out + count, max - count);
    if (dir)
        closedir(dir);
    return count;
}

size_t family_descendants(pid_t pid, int out_pidfds[], size_t max)
{
    struct kin found[DESCENDANTS_MAX];
    if (max > DESCENDANTS_MAX)
        max = DESCENDANTS_MAX;
    size_t count = add_all_children(pid, found, max);
    for (size_t i = 0; i < count; i++)
        count += add_all_children(found[i].pid, found + count, max - count);
    for (size_t i = 0; i < count; i++)
        out_pidfds[i] = found[i].pidfd;
    return count;
}

bool family_kill_group(pid_t leader, int signal)
{
    ASSERT(leader > 1);
    return kill(-leader, signal) == 0;
}
