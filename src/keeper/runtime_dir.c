// SPDX-License-Identifier: Apache-2.0
// runtime_dir -- see runtime_dir.h. The lock is the kernel's (flock), so a dead instance holds
// none; the files that it left are taken over.
#include "keeper/runtime_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/sock.h"

#define LOCK_TRIES_MAX 8

// Joins into new heap memory.
static char *join(const char *dir, const char *name)
{
    size_t size = strlen(dir) + 1 + strlen(name) + 1;
    char *path = mem_alloc(size);
    snprintf(path, size, "%s/%s", dir, name);
    return path;
}

// Tells that the name still leads to the file that is open: the holder before us removes it at its
// end.
static bool is_same_file(int fd, const char *path)
{
    struct stat open_st;
    struct stat named_st;
    return fstat(fd, &open_st) == 0 && stat(path, &named_st) == 0
           && open_st.st_dev == named_st.st_dev && open_st.st_ino == named_st.st_ino;
}

static bool fail_taken(int fd, const char *instance, struct err *err)
{
    char text[32] = "";
    ssize_t got = fd_read(fd, text, sizeof text - 1);
    struct str pid = str_n(text, got > 0 ? (size_t)got : 0);
    pid = str_slice(pid, 0, str_find(pid, '\n'));
    return err_set(err, "an instance named \"%s\" runs already (process %.*s)", instance,
                   STR_ARG(pid));
}

static bool lock(struct runtime_dir *d, const char *path, const char *instance, struct err *err)
{
    for (int i = 0; i < LOCK_TRIES_MAX; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
            return err_set(err, "cannot open %s: %s", path, strerror(errno));
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            bool taken = errno == EWOULDBLOCK;
            if (taken)
                fail_taken(fd, instance, err);
            else
                err_set(err, "cannot lock %s: %s", path, strerror(errno));
            fd_close(&fd);
            return false;
        }
        if (is_same_file(fd, path)) {
            d->lock_fd = fd;
            return true;
        }
        fd_close(&fd);
    }
    return err_set(err, "cannot lock %s: it changes hands all the time", path);
}

static bool write_pid(int fd, const char *path, struct err *err)
{
    char text[32];
    snprintf(text, sizeof text, "%d\n", getpid());
    int rc = ftruncate(fd, 0) < 0 ? -errno : fd_write_all(fd, str_c(text));
    return rc == 0 || err_set(err, "cannot write %s: %s", path, strerror(-rc));
}

static bool listen_control(struct runtime_dir *d, struct err *err)
{
    char *path = join(d->path, RUNTIME_DIR_CONTROL);
    char *text = join("unix:", path + 1); // "unix:" "/" the rest of the absolute path
    struct sock_addr addr;
    bool good = sock_addr_parse(str_c(text), &addr);
    if (good) {
        // Of an instance that has ended: we hold the lock. Its server may still finish, listening.
        unlink(path);
        d->control_fd = sock_listen(&addr, geteuid() == 0 ? 0660 : 0600);
        good = d->control_fd >= 0;
        if (!good)
            err_set(err, "cannot listen on %s: %s", path, strerror(-d->control_fd));
    } else {
        err_set(err, "cannot listen on %s: the path is too long for a socket (use --runtime DIR)",
                path);
    }
    mem_free(text);
    mem_free(path);
    return good;
}

bool runtime_dir_open(struct runtime_dir *d, const char *path, const char *instance,
                      struct err *err)
{
    d->path = NULL;
    d->lock_fd = d->control_fd = FD_NONE;
    int rc = file_make_dirs(path, geteuid() == 0 ? 0755 : 0700);
    if (rc < 0)
        return err_set(err, "cannot make the directory %s: %s", path, strerror(-rc));
    char *pid_path = join(path, RUNTIME_DIR_PID);
    bool good = lock(d, pid_path, instance, err);
    if (good) {
        // Ours from here on, to be removed at the end.
        d->path = join(path, "");
        d->path[strlen(path)] = '\0';
        good = write_pid(d->lock_fd, pid_path, err) && listen_control(d, err);
    }
    mem_free(pid_path);
    if (!good)
        runtime_dir_close(d);
    return good;
}

void runtime_dir_close(struct runtime_dir *d)
{
    if (!d->path)
        return;
    static const char *const FILES[] = {RUNTIME_DIR_CONTROL, RUNTIME_DIR_PID};
    for (size_t i = 0; i < ARRAY_LEN(FILES); i++) {
        char *path = join(d->path, FILES[i]);
        unlink(path);
        mem_free(path);
    }
    rmdir(d->path);
    fd_close(&d->control_fd);
    fd_close(&d->lock_fd);
    mem_free(d->path);
    d->path = NULL;
}
