// SPDX-License-Identifier: Apache-2.0
// sock -- see sock.h.
#include "os/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fd.h"

#define SEND_PIECES_MAX 16
#define SILENCE_S       1
#define BACKLOG         65535 // the kernel lowers it to net.core.somaxconn

static bool parse_port(struct str text, in_port_t *out)
{
    uint64_t port;
    if (text.len > 5 || !str_to_u64(text, &port) || port > 65535)
        return false;
    *out = htons((uint16_t)port);
    return true;
}

static bool parse_path(struct str path, struct sock_addr *out)
{
    struct sock_addr addr = {.len = sizeof addr.u.path};
    if (path.len >= sizeof addr.u.path.sun_path || !str_starts(path, STR("/")) || str_has_ctl(path))
        return false;
    addr.u.path.sun_family = AF_UNIX;
    memcpy(addr.u.path.sun_path, path.ptr, path.len);
    *out = addr;
    return true;
}

static bool parse_v6(struct str host, in_port_t port, struct sock_addr *out)
{
    struct sock_addr addr = {.len = sizeof addr.u.v6};
    char text[INET6_ADDRSTRLEN];
    if (host.len >= sizeof text || memchr(host.ptr, '\0', host.len))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (inet_pton(AF_INET6, text, &addr.u.v6.sin6_addr) != 1)
        return false;
    addr.u.v6.sin6_family = AF_INET6;
    addr.u.v6.sin6_port = port;
    *out = addr;
    return true;
}

static bool parse_v4(struct str host, in_port_t port, struct sock_addr *out)
{
    struct sock_addr addr = {.len = sizeof addr.u.v4};
    char text[INET_ADDRSTRLEN];
    if (host.len == 0 || host.len >= sizeof text || memchr(host.ptr, '\0', host.len))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (inet_pton(AF_INET, text, &addr.u.v4.sin_addr) != 1)
        return false;
    addr.u.v4.sin_family = AF_INET;
    addr.u.v4.sin_port = port;
    *out = addr;
    return true;
}

static bool is_any_v6(const struct sock_addr *addr)
{
    return addr->u.any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&addr->u.v6.sin6_addr);
}

bool sock_addr_is_any(const struct sock_addr *addr)
{
    return is_any_v6(addr)
           || (addr->u.any.sa_family == AF_INET && addr->u.v4.sin_addr.s_addr == htonl(INADDR_ANY));
}

// The path of a Unix address and its length; unnamed sockets have none.
static struct str path_of(const struct sock_addr *addr)
{
    size_t before = offsetof(struct sockaddr_un, sun_path);
    if (addr->len <= before)
        return str_n(addr->u.path.sun_path, 0);
    size_t max = addr->len - before;
    if (max > sizeof addr->u.path.sun_path)
        max = sizeof addr->u.path.sun_path;
    return str_n(addr->u.path.sun_path, strnlen(addr->u.path.sun_path, max));
}

// Tells whether the path is a socket file that nobody listens on any more.
static bool is_stale(const struct sock_addr *addr)
{
    struct stat st;
    if (lstat(addr->u.path.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return false;
    bool stale = connect(probe, &addr->u.any, addr->len) < 0 && errno == ECONNREFUSED;
    fd_close(&probe);
    return stale;
}

static int bind_path(int fd, const struct sock_addr *addr, mode_t mode)
{
    // The file gets the mode of the socket's inode but for what the umask takes. It is never
    // changed by its name: in a directory of somebody else that may be another file a moment later.
    if (fchmod(fd, mode) < 0)
        return -errno;
    mode_t mask = umask(0);
    int rc = bind(fd, &addr->u.any, addr->len) < 0 ? -errno : 0;
    if (rc == -EADDRINUSE && is_stale(addr)) {
        if (unlink(addr->u.path.sun_path) < 0 && errno != ENOENT)
            rc = -errno;
        else
            rc = bind(fd, &addr->u.any, addr->len) < 0 ? -errno : 0;
    }
    umask(mask);
    return rc;
}

static int set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

// A connection is given out when it brings its first bytes, or says nothing for a second: whoever
// accepts it can read at once, and needs no turn of its loop to be told. Who speaks first in all
// that we serve is the client. Accepted connections inherit the rest: no system call for each.
static int set_tcp(int listener)
{
    int rc = set_option(listener, IPPROTO_TCP, TCP_NODELAY, 1);
    return rc < 0 ? rc : set_option(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, SILENCE_S);
}

static int bind_inet(int fd, const struct sock_addr *addr)
{
    int rc = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (rc == 0 && addr->u.any.sa_family == AF_INET6)
        rc = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, is_any_v6(addr) ? 0 : 1);
    if (rc == 0)
        rc = set_tcp(fd);
    if (rc == 0 && bind(fd, &addr->u.any, addr->len) < 0)
        rc = -errno;
    return rc;
}

static bool is_unix(const struct sock_addr *addr)
{
    return addr->u.any.sa_family == AF_UNIX;
}

// Waits for the end of a connect that a signal has interrupted.
static int finish_connect(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int rc;
    do
        rc = poll(&wait, 1, -1);
    while (rc < 0 && errno == EINTR);
    int error = 0;
    socklen_t len = sizeof error;
    if (rc < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}

bool sock_addr_parse(struct str text, struct sock_addr *out)
{
    if (str_starts(text, STR("unix:")))
        return parse_path(str_skip(text, 5), out);
    size_t colon = str_rfind(text, ':');
    in_port_t port;
    if (!parse_port(colon < text.len ? str_skip(text, colon + 1) : text, &port))
        return false;
    if (colon == text.len)
        return parse_v6(STR("::"), port, out);
    struct str host = str_slice(text, 0, colon);
    if (str_eq(host, STR("*")))
        return parse_v6(STR("::"), port, out);
    if (str_eq_nocase(host, STR("localhost")))
        return parse_v4(STR("127.0.0.1"), port, out);
    if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
        return parse_v6(str_slice(host, 1, host.len - 1), port, out);
    return parse_v4(host, port, out);
}

size_t sock_addr_text(const struct sock_addr *addr, char room[static SOCK_TEXT_MAX])
{
    int len;
    if (is_unix(addr)) {
        len = snprintf(room, SOCK_TEXT_MAX, "unix:%.*s", STR_ARG(path_of(addr)));
    } else if (is_any_v6(addr)) {
        len = snprintf(room, SOCK_TEXT_MAX, "*:%u", ntohs(addr->u.v6.sin6_port));
    } else {
        char ip[SOCK_TEXT_MAX];
        unsigned port;
        size_t ip_len = sock_addr_ip(addr, ip, &port);
        bool brackets = str_find(str_n(ip, ip_len), ':') < ip_len;
        len = snprintf(room, SOCK_TEXT_MAX, brackets ? "[%.64s]:%u" : "%.64s:%u", ip, port);
    }
    return (size_t)len;
}

// inet_ntop goes the long way over printf, and this is done for each request.
static const char *put_v4(const void *ip, char *room)
{
    unsigned char bytes[4];
    char *at = room;
    memcpy(bytes, ip, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (bytes[i] >= 100)
            *at++ = (char)('0' + bytes[i] / 100);
        if (bytes[i] >= 10)
            *at++ = (char)('0' + bytes[i] / 10 % 10);
        *at++ = (char)('0' + bytes[i] % 10);
        *at++ = i < sizeof bytes - 1 ? '.' : '\0';
    }
    return room;
}

size_t sock_addr_ip(const struct sock_addr *addr, char room[static SOCK_TEXT_MAX],
                    unsigned *out_port)
{
    const char *text = NULL;
    unsigned port = 0;
    if (addr->u.any.sa_family == AF_INET) {
        port = ntohs(addr->u.v4.sin_port);
        text = put_v4(&addr->u.v4.sin_addr, room);
    } else if (addr->u.any.sa_family == AF_INET6) {
        const struct in6_addr *ip = &addr->u.v6.sin6_addr;
        port = ntohs(addr->u.v6.sin6_port);
        text = IN6_IS_ADDR_V4MAPPED(ip) ? put_v4(&ip->s6_addr[12], room)
                                        : inet_ntop(AF_INET6, ip, room, SOCK_TEXT_MAX);
    }
    *out_port = port;
    return text ? strlen(text) : (size_t)snprintf(room, SOCK_TEXT_MAX, "unix:");
}

int sock_listen(const struct sock_addr *addr, mode_t mode)
{
    struct sock_addr v4 = {.len = sizeof v4.u.v4};
    int fd = socket(addr->u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && errno == EAFNOSUPPORT && is_any_v6(addr)) {
        // A kernel without IPv6: "all addresses" are those of IPv4.
        v4.u.v4.sin_family = AF_INET;
        v4.u.v4.sin_port = addr->u.v6.sin6_port;
        addr = &v4;
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    if (fd < 0)
        return -errno;
    int rc = is_unix(addr) ? bind_path(fd, addr, mode ? mode : 0666) : bind_inet(fd, addr);
    if (rc == 0 && listen(fd, BACKLOG) < 0)
        rc = -errno;
    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

int sock_adopt(int listener)
{
    int on;
    socklen_t len = sizeof on;
    if (getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) < 0)
        return -errno;
    struct sock_addr addr = {0};
    int rc = on ? sock_name(listener, &addr) : -EINVAL;
    if (rc == 0)
        rc = fd_set_cloexec(listener, true);
    if (rc == 0)
        rc = fd_set_nonblock(listener, true);
    if (rc == 0 && !is_unix(&addr))
        rc = set_tcp(listener);
    return rc;
}

int sock_accept(int listener, struct sock_addr *out_peer)
{
    struct sock_addr peer;
    int fd;
    // A connection that has died in the queue is not the listener's failure: take the next one.
    do {
        memset(&peer, 0, sizeof peer);
        peer.len = sizeof peer.u;
        fd = accept4(listener, &peer.u.any, &peer.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO));
    if (fd < 0)
        return -errno;
    *out_peer = peer;
    return fd;
}

int sock_name(int fd, struct sock_addr *out)
{
    struct sock_addr addr = {.len = sizeof addr.u};
    if (getsockname(fd, &addr.u.any, &addr.len) < 0)
        return -errno;
    *out = addr;
    return 0;
}

int sock_connect(const struct sock_addr *addr)
{
    int fd = socket(addr->u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int rc = connect(fd, &addr->u.any, addr->len) < 0 ? -errno : 0;
    if (rc == -EINTR)
        rc = finish_connect(fd);
    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

ssize_t sock_peek(int fd, void *room, size_t size)
{
    ssize_t n;
    do
        n = recv(fd, room, size, MSG_PEEK | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

size_t sock_untaken(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

ssize_t sock_send(int fd, const struct iovec *iov, size_t count, bool more)
{
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
    // The kernel only reads the pieces; struct msghdr has no const for them.
    struct iovec pieces[SEND_PIECES_MAX];
    if (count > SEND_PIECES_MAX)
        count = SEND_PIECES_MAX;
    memcpy(pieces, iov, count * sizeof *iov);
    struct msghdr msg = {.msg_iov = pieces, .msg_iovlen = count};
    ssize_t sent;
    do // one piece is the cheaper call; past the library as in fd_receive_some
        sent = count == 1 ? syscall(SYS_sendto, fd, iov->iov_base, iov->iov_len, flags, NULL, 0)
                          : sendmsg(fd, &msg, flags);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

ssize_t sock_sendfile(int fd, int file, off_t *offset, size_t count)
{
    ssize_t sent;
    do
        sent = sendfile(fd, file, offset, count);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

void sock_shutdown_write(int fd)
{
    shutdown(fd, SHUT_WR);
}

void sock_reset_on_close(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}
