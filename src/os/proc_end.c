// SPDX-License-Identifier: Apache-2.0
// proc_end -- see proc.h: how a process has ended that somebody else collects. As long as nobody
// has, its row in /proc says so; afterwards newer kernels still tell who has a pidfd.
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/str.h"
#include "os/proc.h"
#include "os/proc_file.h"

// What the kernel's PIDFD_GET_INFO fills in (its first version); headers may be older.
struct pidfd_info_v0 {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
};

STATIC_ASSERT(sizeof(struct pidfd_info_v0) == 64);

#define GET_INFO  _IOWR(0xff, 11, struct pidfd_info_v0)
#define INFO_EXIT ((uint64_t)1 << 3)

// False: it can't be known here.
static bool read_row(pid_t pid, int *out_status)
{
    char path[48];
    char room[PROC_FILE_ROW_BYTES];
    // Who may not look gets zeros for the status. There is no directory behind the link of a dead
    // one, but whether it may be asked for is checked first.
    (void)snprintf(path, sizeof path, "/proc/%d/cwd", pid);
    if (readlink(path, room, sizeof room) < 0 && errno != ENOENT)
        return false;
    struct str field = proc_file_field(proc_file_row(pid, room), PROC_FILE_EXIT_CODE);
    uint64_t status;
    if (!str_to_u64(field, &status) || status > UINT16_MAX)
        return false;
    *out_status = (int)status;
    return true;
}

enum proc_end proc_end(int pidfd, pid_t pid, int *out_status)
{
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};
    int status = 0;
    int ready;
    do
        ready = poll(&entry, 1, 0);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0) // a failure tells nothing of the process
        return PROC_END_NOT_YET;
    // The row was its own if its number still is.
    bool is_known = read_row(pid, &status) && proc_kill(pidfd, 0) == 0;
    if (!is_known) {
        struct pidfd_info_v0 info = {.mask = INFO_EXIT};
        is_known = ioctl(pidfd, GET_INFO, &info) == 0 && (info.mask & INFO_EXIT);
        status = info.exit_code;
    }
    if (!is_known)
        return PROC_END_UNKNOWN;
    *out_status = status;
    return PROC_END_KNOWN;
}
