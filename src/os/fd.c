// SPDX-License-Identifier: Apache-2.0
// fd -- see fd.h.
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/closer.h"

#define IOV_MAX_USED 16

#ifndef SCM_PIDFD
# define SCM_PIDFD 4
#endif

// Room for the ancillary data of one packet, aligned as the kernel wants it. Descriptors that do
// not fit would be closed by the kernel, in this thread; OTHER_BYTES is for what the holders of a
// socket can ask for besides (a security label).
#define OTHER_BYTES 1024

union control {
    struct cmsghdr align;
    char room[CMSG_SPACE(sizeof(int) * FD_TAKE_MAX) + CMSG_SPACE(sizeof(struct ucred))
              + CMSG_SPACE(sizeof(int)) + OTHER_BYTES];
};

static int set_flag(int fd, int get, int set, int flag, bool on)
{
    int flags = fcntl(fd, get);
    if (flags < 0)
        return -errno;
    int wanted = on ? flags | flag : flags & ~flag;
    if (wanted != flags && fcntl(fd, set, wanted) < 0)
        return -errno;
    return 0;
}

static void close_all(struct fd_received *r)
{
    closer_close(r->fds, r->fd_count);
    r->fd_count = 0;
}

static void take_control(struct msghdr *msg, struct fd_received *r)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS) {
            size_t bytes = c->cmsg_len - CMSG_LEN(0);
            ASSERT(bytes <= sizeof r->fds);
            memcpy(r->fds, CMSG_DATA(c), bytes);
            r->fd_count = bytes / sizeof(int);
        } else if (c->cmsg_type == SCM_PIDFD) {
            int pidfd; // nobody here has asked for it
            memcpy(&pidfd, CMSG_DATA(c), sizeof pidfd);
            fd_close(&pidfd);
        } else if (c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred cred;
            memcpy(&cred, CMSG_DATA(c), sizeof cred);
            r->pid = cred.pid;
            r->uid = cred.uid;
        }
    }
}

void fd_close(int *fd)
{
    // Linux frees the descriptor even when close reports EINTR: never again.
    if (*fd >= 0)
        close(*fd);
    *fd = FD_NONE;
}

int fd_set_nonblock(int fd, bool on)
{
    return set_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on);
}

int fd_set_cloexec(int fd, bool on)
{
    return set_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on);
}

int fd_dup(int fd)
{
    int dup = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return dup < 0 ? -errno : dup;
}

int fd_pair(int type, int out_fds[2])
{
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, out_fds) < 0 ? -errno : 0;
}

int fd_pipe(int out_fds[2])
{
    return pipe2(out_fds, O_CLOEXEC) < 0 ? -errno : 0;
}

ssize_t fd_read(int fd, void *room, size_t size)
{
    ssize_t got;
    do
        got = read(fd, room, size);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

ssize_t fd_receive_some(int fd, void *room, size_t size)
{
    ssize_t got;
    do {
        // Not by recv(): that is a point where a thread may be cancelled, and in a process with
        // threads the library pays for it at each call. Nobody cancels threads here.
        got = syscall(SYS_recvfrom, fd, room, size, 0, NULL, NULL);
        if (got < 0 && errno == ENOTSOCK)
            got = read(fd, room, size);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

ssize_t fd_write(int fd, struct str bytes)
{
    ssize_t sent;
    do {
        sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == ENOTSOCK)
            sent = write(fd, bytes.ptr, bytes.len);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

ssize_t fd_writev(int fd, const struct iovec *iov, size_t count)
{
    // The kernel only reads the pieces; struct msghdr has no const for them.
    struct iovec pieces[IOV_MAX_USED];
    if (count > IOV_MAX_USED)
        count = IOV_MAX_USED;
    memcpy(pieces, iov, count * sizeof *iov);
    struct msghdr msg = {.msg_iov = pieces, .msg_iovlen = count};
    ssize_t sent;
    do {
        sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
        if (sent < 0 && errno == ENOTSOCK)
            sent = writev(fd, pieces, (int)count);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

int fd_write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = fd_write(fd, bytes);
        if (sent < 0)
            return (int)sent;
        bytes = str_skip(bytes, (size_t)sent);
    }
    return 0;
}

int fd_write_at(int fd, struct str bytes, int64_t offset)
{
    while (bytes.len > 0) {
        ssize_t sent = pwrite(fd, bytes.ptr, bytes.len, (off_t)offset);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return sent < 0 ? -errno : -ENOSPC;
        bytes = str_skip(bytes, (size_t)sent);
        offset += sent;
    }
    return 0;
}

int fd_send(int fd, struct str bytes, const int *fds, size_t fd_count)
{
    ASSERT(fd_count <= FD_PASS_MAX);
    char *data = NULL;
    memcpy(&data, &bytes.ptr, sizeof data); // iov_base lacks the const
    struct iovec iov = {.iov_base = data, .iov_len = bytes.len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    union control control;
    if (fd_count > 0) {
        memset(&control, 0, sizeof control);
        msg.msg_control = control.room;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
    }
    ssize_t sent;
    do
        sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

// Receives once; *out has what came with the bytes, *out_flags what the kernel says of them. Count
// or -errno.
static ssize_t receive(int fd, struct iovec to, int flags, struct fd_received *out, int *out_flags)
{
    union control control;
    struct msghdr msg = {.msg_iov = &to,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof control.room};
    ssize_t got;
    do
        got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | flags);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    out->fd_count = 0;
    out->pid = 0;
    out->uid = (uid_t)-1;
    take_control(&msg, out);
    *out_flags = msg.msg_flags;
    return got;
}

int fd_receive(int fd, void *room, size_t size, struct fd_received *out)
{
    struct fd_received found;
    int flags;
    ssize_t got = receive(fd, (struct iovec){room, size}, 0, &found, &flags);
    if (got < 0)
        return got == -EAGAIN ? 0 : (int)got;
    if (flags & (MSG_TRUNC | MSG_CTRUNC))
        close_all(&found);
    if (flags & MSG_TRUNC)
        return -EMSGSIZE;
    found.len = (size_t)got;
    found.lost = (flags & MSG_CTRUNC) != 0;
    *out = found;
    return 1;
}

int fd_pass_credentials(int fd)
{
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ? -errno : 0;
}

ssize_t fd_receive_bytes(int fd, void *room, size_t size)
{
    struct fd_received found;
    int flags;
    ssize_t got = receive(fd, (struct iovec){room, size}, MSG_DONTWAIT, &found, &flags);
    if (got < 0 || found.fd_count == 0)
        return got;
    close_all(&found);
    return -EPROTO;
}

bool fd_is_stream(int fd)
{
    int domain;
    int type;
    socklen_t domain_len = sizeof domain;
    socklen_t type_len = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) == 0 && domain == AF_UNIX
           && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_STREAM;
}
