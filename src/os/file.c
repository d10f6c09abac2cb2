// SPDX-License-Identifier: Apache-2.0
// file -- see file.h.
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"

#define READ_BYTES 4096 // room asked for where the size of a file is not known

// Reads at *at, which it advances, or where the descriptor stands when `at` is NULL.
static ssize_t read_some(int fd, void *room, size_t size, off_t *at)
{
    ssize_t got;
    do
        got = at ? pread(fd, room, size, *at) : read(fd, room, size);
    while (got < 0 && errno == EINTR);
    if (got > 0 && at)
        *at += got;
    return got < 0 ? -errno : got;
}

static int read_rest(int fd, struct buf *out, off_t *at)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    // One byte more than the size, so that the usual file ends without a second growth.
    size_t want = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : READ_BYTES;
    for (;;) {
        size_t size = 0;
        char one;
        char *room = buf_room(out, want, &size);
        if (!room && (room = buf_room(out, 1, &size)) == NULL) {
            // Full: that is right only if the file ends here.
            ssize_t more = read_some(fd, &one, 1, at);
            return more > 0 ? -EFBIG : (int)more;
        }
        ssize_t got = read_some(fd, room, size, at);
        if (got <= 0)
            return (int)got;
        buf_added(out, (size_t)got);
        want = READ_BYTES;
    }
}

static int seal(int fd, int seals)
{
    return fcntl(fd, F_ADD_SEALS, seals | F_SEAL_SEAL) < 0 ? -errno : 0;
}

static int make_dir(const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0)
        return 0;
    // Other answers than EEXIST are possible for a directory that exists (EROFS, EACCES).
    int error = -errno;
    struct stat st;
    if (stat(path, &st) < 0)
        return error;
    return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

// Whoever may write into a directory can put a pipe there, whose open waits for a writer for ever.
int file_read_all(const char *path, struct buf *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int rc = fstat(fd, &st) < 0 ? -errno : 0;
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    if (rc == 0)
        rc = read_rest(fd, out, NULL);
    fd_close(&fd);
    return rc;
}

int file_read_pipe(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = read_rest(fd, out, NULL);
    fd_close(&fd);
    return rc;
}

int file_read_fd(int fd, struct buf *out)
{
    off_t at = 0;
    return read_rest(fd, out, &at);
}

int file_memfd(const char *name, struct str bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int rc = fd_write_all(fd, bytes);
    if (rc == 0)
        rc = seal(fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

int file_shared(const char *name, size_t size)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int rc = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
    if (rc == 0)
        rc = seal(fd, F_SEAL_SHRINK | F_SEAL_GROW);
    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

void *file_map(int fd, size_t size, bool writable)
{
    int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *ptr = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

void file_unmap(void *ptr, size_t size)
{
    if (ptr)
        munmap(ptr, size);
}

int file_unnamed(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

int file_make_dirs(const char *path, mode_t mode)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0)
        return -ENOENT;
    if (len >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, len + 1);
    for (size_t i = 1; i < len; i++) {
        if (part[i] != '/')
            continue;
        part[i] = '\0';
        int rc = make_dir(part, mode);
        if (rc < 0)
            return rc;
        part[i] = '/';
    }
    return make_dir(part, mode);
}
