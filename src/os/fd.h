// SPDX-License-Identifier: Apache-2.0
// fd -- descriptors: everything is close-on-exec at birth. Failures are negative errno.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/compiler.h"
#include "base/str.h"

#define FD_NONE     (-1)
#define FD_PASS_MAX 16  // descriptors in one message of fd_send
#define FD_TAKE_MAX 253 // in one that comes: as many as the kernel lets anybody send

// fd_close closes *fd if it is open and sets it to FD_NONE.
void fd_close(int *fd);

// fd_set_nonblock switches O_NONBLOCK. 0 or -errno.
int fd_set_nonblock(int fd, bool on);

// fd_set_cloexec switches FD_CLOEXEC. 0 or -errno.
int fd_set_cloexec(int fd, bool on);

// fd_dup makes a second descriptor for what `fd` is open on, close-on-exec. Descriptor or -errno.
MUST_USE int fd_dup(int fd);

// fd_pair makes two connected Unix sockets of `type` (SOCK_STREAM or SOCK_SEQPACKET, |
// SOCK_NONBLOCK), close-on-exec. 0 or -errno.
MUST_USE int fd_pair(int type, int out_fds[2]);

// fd_pipe makes a pipe, close-on-exec, out_fds[0] to read. 0 or -errno.
MUST_USE int fd_pipe(int out_fds[2]);

// fd_read reads once, restarting on EINTR. Count (0: end of file) or -errno.
MUST_USE ssize_t fd_read(int fd, void *room, size_t size);

// fd_receive_some is fd_read for what is a socket nearly always: a cheaper call.
MUST_USE ssize_t fd_receive_some(int fd, void *room, size_t size);

// fd_write writes once, restarting on EINTR; never raises SIGPIPE on sockets. Count or -errno.
MUST_USE ssize_t fd_write(int fd, struct str bytes);

// fd_writev is fd_write for several pieces (at most 16 are used).
MUST_USE ssize_t fd_writev(int fd, const struct iovec *iov, size_t count);

// fd_write_all writes all of `bytes` to a blocking descriptor. 0 or -errno.
MUST_USE int fd_write_all(int fd, struct str bytes);

// fd_write_at writes all of `bytes` to a file at `offset`. 0 or -errno; then a part may be there.
MUST_USE int fd_write_at(int fd, struct str bytes, int64_t offset);

// fd_send sends one packet with up to FD_PASS_MAX descriptors (borrowed) on a SOCK_SEQPACKET
// socket. 0 or -errno (-EAGAIN when the queue is full on a non-blocking socket).
MUST_USE int fd_send(int fd, struct str bytes, const int *fds, size_t fd_count);

// What fd_receive found besides the bytes.
struct fd_received {
    size_t len;           // bytes of the packet; 0 with result 1: end of file
    int fds[FD_TAKE_MAX]; // owned by the caller, close-on-exec
    size_t fd_count;
    bool lost; // some could not be taken for lack of descriptors: none of them is here
    pid_t pid; // sender's pid and uid when SO_PASSCRED is on, else 0 and (uid_t)-1
    uid_t uid;
};

// fd_receive takes one packet. 1: *out is filled (len 0: peer has closed). 0: nothing there now.
// Negative: -errno; -EMSGSIZE when the packet was longer than `size` (closer.h has its
// descriptors).
MUST_USE int fd_receive(int fd, void *room, size_t size, struct fd_received *out);

// fd_receive_bytes reads once from a Unix stream socket whose other holders are not to be trusted:
// it never blocks, whatever they do to the socket's flags, and descriptors that come with the bytes
// end in closer.h instead of in this thread. Count (0: end of file) or -errno; -EPROTO when
// descriptors came.
MUST_USE ssize_t fd_receive_bytes(int fd, void *room, size_t size);

// fd_is_stream tells whether it is a Unix stream socket. It never blocks, which looks at files may.
bool fd_is_stream(int fd);

// fd_pass_credentials asks for the sender's credentials with each packet (SO_PASSCRED). 0 or
// -errno.
int fd_pass_credentials(int fd);
