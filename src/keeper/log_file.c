// SPDX-License-Identifier: Apache-2.0
// log_file -- see log_file.h. The way is gone step by step from directory to directory, so that
// what was looked at is what is used; who owns a directory decides about the next step.
#include "keeper/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "os/fd.h"

#define LOG_MODE   0640
#define LINKS_MAX  40
#define NAME_BYTES (NAME_MAX + 1)

struct walk {
    const char *path; // as it was given, for messages
    bool may_create;
    int dir;             // where the walk is
    struct stat st;      // of it
    char rest[PATH_MAX]; // the way from there
    unsigned links;
    struct err *err;
};

static int fail(const struct walk *w, const char *why)
{
    err_set(w->err, "cannot open the log %s: %s", w->path, why);
    return -1;
}

static int fail_number(const struct walk *w, int error)
{
    return fail(w, strerror(error));
}

// Nobody but root can change what the directory's names mean.
static bool is_roots_own(const struct stat *dir)
{
    return dir->st_uid == 0 && !(dir->st_mode & (S_IWGRP | S_IWOTH));
}

static int enter(struct walk *w, int fd)
{
    fd_close(&w->dir);
    w->dir = fd;
    return fd < 0 || fstat(fd, &w->st) < 0 ? fail_number(w, errno) : 0;
}

// Takes the first name off the way: 0 or an error.
static int take_name(struct walk *w, char name[static NAME_BYTES])
{
    struct str rest = str_c(w->rest);
    while (str_starts(rest, STR("/")))
        rest = str_skip(rest, 1);
    size_t len = str_find(rest, '/');
    if (len == 0 || len >= NAME_BYTES)
        return fail_number(w, len ? ENAMETOOLONG : EISDIR);
    memcpy(name, rest.ptr, len);
    name[len] = '\0';
    rest = str_skip(rest, len);
    memmove(w->rest, rest.ptr, rest.len + 1);
    return 0;
}

// Puts what a link says before the way.
static int follow(struct walk *w, int link)
{
    char way[2 * PATH_MAX];
    char target[PATH_MAX];
    ssize_t len = readlinkat(link, "", target, sizeof target - 1);
    if (len <= 0)
        return fail_number(w, len < 0 ? errno : ENOENT);
    target[len] = '\0';
    if (!is_roots_own(&w->st))
        return fail(w, "a symbolic link is on the way, in a directory that is not root's alone");
    if (++w->links > LINKS_MAX)
        return fail_number(w, ELOOP);
    int way_len = snprintf(way, sizeof way, "%s%s", target, w->rest);
    if (way_len < 0 || (size_t)way_len >= sizeof w->rest)
        return fail_number(w, ENAMETOOLONG);
    memcpy(w->rest, way, (size_t)way_len + 1);
    if (target[0] != '/')
        return 0;
    return enter(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int open_here(const struct walk *w, const char *name)
{
    // Not blocking at the open: a FIFO without a reader is an error, not the end of the keeper.
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
    int fd = openat(w->dir, name, flags | (w->may_create ? O_CREAT : 0), LOG_MODE);
    return fd < 0 ? -errno : fd;
}

// Opens with the rights of the directory's owner, who can't be led to more than he may do himself.
static int open_as_owner(const struct walk *w, const char *name)
{
    // As with all identities the second call is to be believed only.
    setfsgid(w->st.st_gid);
    setfsuid(w->st.st_uid);
    bool is_owner = setfsuid((uid_t)-1) == (int)w->st.st_uid;
    int fd = is_owner ? open_here(w, name) : -EPERM;
    setfsuid(geteuid());
    setfsgid(getegid());
    return fd;
}

// Says what is wrong with the file, NULL if nothing is.
static const char *why_unfit(const struct walk *w, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return strerror(errno);
    if (is_roots_own(&w->st))
        return NULL;
    if (!S_ISREG(st.st_mode))
        return "it is no regular file";
    if (st.st_uid != w->st.st_uid)
        return "it does not belong to the owner of its directory";
    if (st.st_nlink != 1 && w->st.st_uid == 0)
        return "it has more than one name";
    return NULL;
}

static int open_last(const struct walk *w, const char *name)
{
    if (w->st.st_mode & S_IWOTH)
        return fail(w, "everybody may write to its directory: anything could lie under that name");
    int fd = w->st.st_uid ? open_as_owner(w, name) : open_here(w, name);
    if (fd == -ENOENT && !w->may_create)
        return FD_NONE;
    if (fd < 0)
        return fail_number(w, -fd);
    const char *why = why_unfit(w, fd);
    if (why) {
        fd_close(&fd);
        return fail(w, why);
    }
    return fd;
}

static int open_standard(const struct walk *w, const char *name)
{
    int fd = fd_dup(log_file_standard(name));
    return fd < 0 ? fail_number(w, -fd) : fd;
}

static int walk_on(struct walk *w)
{
    char name[NAME_BYTES];
    struct stat st;
    while (log_file_standard(w->rest) == FD_NONE) {
        if (take_name(w, name) < 0)
            return -1;
        bool is_last = w->rest[0] == '\0';
        int fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && (errno != ENOENT || !is_last))
            return fail_number(w, errno);
        int rc = 0;
        if (fd >= 0 && fstat(fd, &st) < 0) {
            rc = fail_number(w, errno);
        } else if (fd >= 0 && S_ISLNK(st.st_mode)) {
            rc = follow(w, fd);
        } else if (is_last) {
            fd_close(&fd);
            return open_last(w, name);
        } else {
            rc = enter(w, fd);
            fd = FD_NONE;
        }
        fd_close(&fd);
        if (rc < 0)
            return rc;
    }
    return open_standard(w, w->rest);
}

// Descriptor, FD_NONE for a file that is not there and is not to be made, or an error.
static int open_path(const char *path, bool may_create, struct err *err)
{
    struct walk w = {.path = path, .may_create = may_create, .dir = FD_NONE, .err = err};
    if (strlen(path) >= sizeof w.rest)
        return fail_number(&w, ENAMETOOLONG);
    memcpy(w.rest, path, strlen(path) + 1);
    int fd = enter(&w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd == 0)
        fd = walk_on(&w);
    fd_close(&w.dir);
    return fd;
}

// Without rights beyond those of who has written the configuration a name may lead anywhere.
static int open_simply(const char *path, bool may_create, struct err *err)
{
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct walk w = {.path = path, .err = err};
    int fd = open(path, flags | (may_create ? O_CREAT : 0), LOG_MODE);
    return fd < 0 && (may_create || errno != ENOENT) ? fail_number(&w, errno) : fd;
}

static int open_any(const char *path, bool may_create, struct err *err)
{
    struct walk w = {.path = path, .err = err};
    if (log_file_standard(path) != FD_NONE)
        return open_standard(&w, path);
    if (path[0] != '/')
        return fail_number(&w, EINVAL);
    return geteuid() == 0 ? open_path(path, may_create, err) : open_simply(path, may_create, err);
}

int log_file_open(const char *path, struct err *err)
{
    int fd = open_any(path, true, err);
    if (fd < 0 || log_file_standard(path) != FD_NONE)
        return fd;
    int rc = fd_set_nonblock(fd, false);
    if (rc < 0) {
        struct walk w = {.path = path, .err = err};
        fd_close(&fd);
        return fail_number(&w, -rc);
    }
    return fd;
}

bool log_file_check(const char *path, struct err *err)
{
    int errors_before = err->count;
    int fd = open_any(path, false, err);
    fd_close(&fd);
    return err->count == errors_before;
}

int log_file_standard(const char *name)
{
    if (strcmp(name, "stdout") == 0 || strcmp(name, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(name, "stderr") == 0 || strcmp(name, "/dev/stderr") == 0)
        return STDERR_FILENO;
    return FD_NONE;
}
