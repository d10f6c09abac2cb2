// SPDX-License-Identifier: Apache-2.0
// look -- see look.h.
#include "os/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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

int look_open(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
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
