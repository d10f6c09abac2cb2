// SPDX-License-Identifier: Apache-2.0
// sock -- socket addresses and stream sockets. Failures are negative errno.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/compiler.h"
#include "base/str.h"

struct sock_addr {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un path;
    } u;

    socklen_t len;
};

#define SOCK_TEXT_MAX \
 128 // bytes that sock_addr_text may need, with NUL (Unix paths: 108 + "unix:")

// sock_addr_parse reads "PORT", "*:PORT", "1.2.3.4:PORT", "[::1]:PORT", "localhost:PORT" or
// "unix:/PATH" (no name lookup: localhost is 127.0.0.1). A bare PORT and "*" mean all IPv4 and IPv6
// addresses ([::] with IPV6_V6ONLY off). False when malformed.
MUST_USE bool sock_addr_parse(struct str text, struct sock_addr *out);

// sock_addr_text writes the form that sock_addr_parse reads; returns the length.
size_t sock_addr_text(const struct sock_addr *addr, char room[static SOCK_TEXT_MAX]);

// sock_addr_ip writes only the address ("127.0.0.1", "::1", IPv4-mapped shown as IPv4; "unix:" for
// Unix sockets) and sets *out_port (0 for Unix). Returns the length.
size_t sock_addr_ip(const struct sock_addr *addr, char room[static SOCK_TEXT_MAX],
                    unsigned *out_port);

// sock_addr_is_any tells whether it stands for all addresses of the machine.
bool sock_addr_is_any(const struct sock_addr *addr);

// sock_listen binds and listens: non-blocking, SO_REUSEADDR, backlog as the system allows. A TCP
// connection is given out with its first bytes, or after about a second without any. A stale Unix
// socket file that nobody listens on is replaced; mode 0666 for Unix unless `mode` is given:
// exactly that, so that the umask of a process with threads must be left alone meanwhile.
// Descriptor or -errno.
MUST_USE int sock_listen(const struct sock_addr *addr, mode_t mode);

// sock_adopt makes a listener that was inherited (socket activation) like one of sock_listen: non-
// blocking, close-on-exec, with what that sets for TCP connections. 0, -EINVAL: does not listen, or
// -errno.
MUST_USE int sock_adopt(int listener);

// sock_accept takes one connection, non-blocking and close-on-exec, with TCP_NODELAY where it
// applies (inherited from a listener of sock_listen or sock_adopt). Descriptor, or -EAGAIN, or
// -errno.
MUST_USE int sock_accept(int listener, struct sock_addr *out_peer);

// sock_name fills the local address. 0 or -errno.
MUST_USE int sock_name(int fd, struct sock_addr *out);

// sock_connect opens a blocking stream connection. Descriptor or -errno.
MUST_USE int sock_connect(const struct sock_addr *addr);

// sock_peek looks at what has come without taking it. Count (0: the peer has closed) or -errno.
MUST_USE ssize_t sock_peek(int fd, void *room, size_t size);

// sock_send writes several pieces (at most 16 are used) without raising SIGPIPE; `more` tells the
// kernel that bytes of the same answer follow at once (MSG_MORE). It never blocks, whatever other
// holders of the socket do to its flags. Count or -errno.
MUST_USE ssize_t sock_send(int fd, const struct iovec *iov, size_t count, bool more);

// sock_sendfile sends up to `count` bytes of `file` from *offset, which it advances. Only for
// sockets that are ours alone: it blocks when somebody has switched off O_NONBLOCK. Count (0: the
// file has ended early) or -errno.
MUST_USE ssize_t sock_sendfile(int fd, int file, off_t *offset, size_t count);

// sock_untaken is how many bytes wait in the socket until the peer's kernel, or with a Unix socket
// the peer, takes them. 0 if that can't be told.
size_t sock_untaken(int fd);

// sock_shutdown_write sends FIN. Errors do not matter.
void sock_shutdown_write(int fd);

// sock_reset_on_close makes the close of a TCP socket send RST and drop what is not sent yet.
// Errors do not matter.
void sock_reset_on_close(int fd);
