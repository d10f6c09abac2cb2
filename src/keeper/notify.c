// SPDX-License-Identifier: Apache-2.0
// notify -- see notify.h.
#include "keeper/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fd.h"

#define MESSAGE_MAX 1024 // bytes

void notify_open(struct notify *n)
{
    n->fd = FD_NONE;
    struct str name = str_c(getenv("NOTIFY_SOCKET"));
    struct sockaddr_un *path = &n->to.u.path;
    bool is_abstract = str_starts(name, STR("@"));
    if ((is_abstract || str_starts(name, STR("/"))) && name.len < sizeof path->sun_path) {
        memset(path, 0, sizeof *path);
        path->sun_family = AF_UNIX;
        memcpy(path->sun_path, name.ptr, name.len);
        if (is_abstract)
            path->sun_path[0] = '\0';
        // The length says where an abstract name ends; a path ends with its NUL.
        n->to.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name.len + !is_abstract);
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    unsetenv("NOTIFY_SOCKET");
}

void notify_send(const struct notify *n, const char *fmt, ...)
{
    if (n->fd == FD_NONE)
        return;
    char text[MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (len <= 0 || (size_t)len >= sizeof text)
        return;
    // A manager that does not listen now learns nothing; there is no one to tell.
    (void)!sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL, &n->to.u.any, n->to.len);
}

void notify_close(struct notify *n)
{
    fd_close(&n->fd);
}
