// SPDX-License-Identifier: Apache-2.0
// private_dir -- see private_dir.h.
#include "private_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/fd.h"

#define PATH_BYTES 108 // what the address of a Unix socket can hold
#define BACKLOG    128

static void path_of(const struct private_dir *dir, const char *name, char room[static PATH_BYTES])
{
    (void)snprintf(room, PATH_BYTES, "%s/%s", dir->path, name);
}

int private_dir_open(struct private_dir *dir)
{
    static const char *const PLACES[] = {"/dev/shm", "/tmp", "/var/tmp"};
    for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
        (void)snprintf(dir->path, sizeof dir->path, "%s/godwit-XXXXXX", PLACES[i]);
        if (mkdtemp(dir->path)) // mode 0700
            return 0;
    }
    int rc = -errno;
    dir->path[0] = '\0';
    return rc;
}

int private_dir_write(const struct private_dir *dir, const char *name, struct str text)
{
    char path[PATH_BYTES];
    path_of(dir, name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int rc = fd_write_all(fd, text);
    fd_close(&fd);
    return rc;
}

static int bind_and_listen(int fd, const char path[static PATH_BYTES])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, PATH_BYTES);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return 0;
}

int private_dir_listen(const struct private_dir *dir, const char *name, int *out_address)
{
    char path[PATH_BYTES];
    path_of(dir, name, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -errno : bind_and_listen(fd, path);
    int address = rc < 0 ? rc : open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (rc == 0 && address < 0)
        rc = -errno;
    if (rc < 0) {
        fd_close(&fd);
        return rc;
    }
    *out_address = address;
    return fd;
}

int private_dir_connect(int address)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d", address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    while (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0) {
        if (errno == EINTR)
            continue;
        int rc = -errno;
        fd_close(&fd);
        return rc;
    }
    return fd;
}

void private_dir_close(struct private_dir *dir)
{
    char path[sizeof dir->path + NAME_MAX + 2];
    DIR *stream = dir->path[0] ? opendir(dir->path) : NULL;
    if (!stream)
        return;
    for (struct dirent *entry; (entry = readdir(stream));) {
        (void)snprintf(path, sizeof path, "%s/%s", dir->path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlink(path);
    }
    closedir(stream);
    (void)rmdir(dir->path);
    dir->path[0] = '\0';
}
