// SPDX-License-Identifier: Apache-2.0
// look -- see look.h.
#include "os/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void describe(const struct stat *st, struct look *out)
{
    enum look_kind kind = LOOK_OTHER;
    if (S_ISREG(st->st_mode))
        kind = LOOK_FILE;
    else if (S_ISDIR(st->st_mode))
        kind = LOOK_DIR;
    *out = (struct look){
        .kind = kind,
        .size = st->st_size,
        .mtime_s = st->st_mtim.tv_sec,
        .mtime_ns = st->st_mtim.tv_nsec,
        .inode = st->st_ino,
    };
}

int look_at(const char *path, struct look *out)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    describe(&st, out);
    return 0;
}

int look_behind(int fd, struct look *out)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    describe(&st, out);
    return 0;
}

// A link to /proc/self/fd would lead to what we ourselves have open: the bodies of others'
// requests.
int look_open(const char *path)
{
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .resolve = RESOLVE_NO_MAGICLINKS,
    };
    long fd;
    do
        fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    while (fd < 0 && errno == EINTR);
    // Kernels and containers that do not know the call.
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : (int)fd;
}

static bool is_dir(DIR *dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int look_list(const char *path, void (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
    DIR *dir = opendir(path);
    if (!dir)
        return -errno;
    const struct dirent *entry;
    errno = 0;
    // Each DIR is used by one thread only, for which readdir is safe.
    while ((entry = readdir(dir)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fn(arg, entry->d_name, is_dir(dir, entry));
        errno = 0;
    }
    int error = errno;
    closedir(dir);
    return -error;
}
