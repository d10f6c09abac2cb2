// SPDX-License-Identifier: Apache-2.0
// look_below -- see look_below.h. Paths are opened with openat2, which checks all in one call; what
// it refuses or the kernel lacks is walked name by name from descriptor to descriptor, so that what
// was checked is what is opened.
#include "os/look_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fd.h"

#define READ_FLAGS  (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define PLACE_FLAGS (O_PATH | O_CLOEXEC)

static int open_name(int dir, const char *name, int flags)
{
    int fd;
    do
        fd = openat(dir, name, flags);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

static int open_root(const char *path, size_t root_len)
{
    char root[PATH_MAX];
    if (root_len >= sizeof root)
        return -ENAMETOOLONG;
    if (root_len == 0)
        return open_name(AT_FDCWD, "/", PLACE_FLAGS | O_DIRECTORY);
    memcpy(root, path, root_len);
    root[root_len] = '\0';
    return open_name(AT_FDCWD, root, PLACE_FLAGS | O_DIRECTORY);
}

// Tells 0 when `fd` may be gone on with, being `name` in `dir`; a link whose owner has what it
// leads to is followed. *fd is replaced then.
static int follow(int dir, const char *name, enum look_links links, int *fd)
{
    struct stat link;
    struct stat there;
    if (fstat(*fd, &link) < 0)
        return -errno;
    if (!S_ISLNK(link.st_mode))
        return 0;
    if (links != LOOK_LINKS_OWNER)
        return -ELOOP;
    fd_close(fd);
    *fd = open_name(dir, name, PLACE_FLAGS);
    if (*fd < 0)
        return *fd;
    if (fstat(*fd, &there) < 0)
        return -errno;
    return there.st_uid == link.st_uid ? 0 : -ELOOP;
}

// Opens what `place` (O_PATH) is, to read it.
static int open_again(int place)
{
    char name[64] = "/proc/self/fd/";
    char digits[16];
    size_t len = strlen(name);
    size_t count = 0;
    for (unsigned n = (unsigned)place; count == 0 || n > 0; n /= 10)
        digits[count++] = (char)('0' + n % 10);
    while (count > 0)
        name[len++] = digits[--count];
    name[len] = '\0';
    return open_name(AT_FDCWD, name, READ_FLAGS);
}

static int walk(int root, const char *rest, enum look_links links, int flags)
{
    bool ends_in_slash = *rest && rest[strlen(rest) - 1] == '/';
    int at = fd_dup(root);
    int rc = at < 0 ? at : 0;
    while (rc == 0 && *rest) {
        char name[NAME_MAX + 1];
        size_t len = strcspn(rest, "/");
        if (len > NAME_MAX) {
            rc = -ENAMETOOLONG;
            break;
        }
        memcpy(name, rest, len);
        name[len] = '\0';
        rest += len;
        rest += strspn(rest, "/");
        if (len == 0)
            continue;
        int next = open_name(at, name, PLACE_FLAGS | O_NOFOLLOW);
        rc = next < 0 ? next : follow(at, name, links, &next);
        fd_close(&at);
        at = next;
    }
    struct look look;
    if (rc == 0 && ends_in_slash) {
        rc = look_behind(at, &look);
        if (rc == 0 && look.kind != LOOK_DIR)
            rc = -ENOTDIR;
    }
    if (rc == 0 && !(flags & O_PATH)) {
        int place = at;
        at = open_again(place);
        rc = at < 0 ? at : 0;
        fd_close(&place);
    }
    if (rc < 0)
        fd_close(&at);
    return rc < 0 ? rc : at;
}

static int open_below(const char *path, size_t root_len, enum look_links links, int flags)
{
    int root = open_root(path, root_len);
    if (root < 0)
        return root;
    const char *rest = path + root_len;
    rest += strspn(rest, "/");
    struct open_how how = {
        .flags = (unsigned)flags,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
    };
    long fd;
    do
        fd = syscall(SYS_openat2, root, *rest ? rest : ".", &how, sizeof how);
    while (fd < 0 && errno == EINTR);
    int rc = fd < 0 ? -errno : (int)fd;
    if (rc == -ENOSYS || (rc == -ELOOP && links == LOOK_LINKS_OWNER))
        rc = walk(root, rest, links, flags);
    fd_close(&root);
    return rc;
}

int look_below_at(const char *path, size_t root_len, enum look_links links, struct look *out)
{
    if (links == LOOK_LINKS_FOLLOW)
        return look_at(path, out);
    int fd = open_below(path, root_len, links, PLACE_FLAGS);
    if (fd < 0)
        return fd;
    int rc = look_behind(fd, out);
    fd_close(&fd);
    return rc;
}

int look_below_open(const char *path, size_t root_len, enum look_links links)
{
    return links == LOOK_LINKS_FOLLOW ? look_open(path)
                                      : open_below(path, root_len, links, READ_FLAGS);
}
