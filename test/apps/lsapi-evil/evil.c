// SPDX-License-Identifier: Apache-2.0
// evil -- an app whose processes try to hold up the keeper and the server. Its argument says how:
//
//   output     the end to write of the worker's stderr is made blocking; a byte, then silence
//   pipe       FORKED with a pipe of its own that blocks, as older libraries sent one
//   linger     HELLO with sockets whose close waits for a peer that never reads
//   unread     the same behind a message that ends the conversation: nobody takes them
//   many       READY with more descriptors than it may have
//   file       READY with a file instead of a connection
//   blocking   the connection is made blocking again and again, and nobody reads from it
//   attach     an answer with lingering sockets beside its bytes
//   junk       messages that it may not send, without end
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/fd.h"
#include "wire/ipc.h"

#define CHANNEL    3
#define FDS        8
#define LINGER_S   3600
#define WORKER_END 100000 // polls of a millisecond; the keeper is to end it long before

static const char *how;

static bool is(const char *name)
{
    return strcmp(how, name) == 0;
}

static bool say(enum ipc_type type, uint32_t id, pid_t pid, const int *fds, size_t count)
{
    char room[IPC_BYTES_MAX];
    struct ipc_msg msg = {.type = type, .id = id, .pid = pid, .text = STR("{}")};
    return fd_send(CHANNEL, str_n(room, ipc_encode(&msg, room)), fds, count) == 0;
}

static _Noreturn void hang(void)
{
    for (;;)
        pause();
}

// A TCP connection that is full, to a peer of ours that reads nothing; FD_NONE: no network.
static int lingering_socket(void)
{
    static char zeros[65536];
    struct linger linger = {1, LINGER_S};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 1) < 0
        || getsockname(listener, (struct sockaddr *)&at, &len) < 0
        || connect(fd, (struct sockaddr *)&at, len) < 0 || accept(listener, NULL, NULL) < 0)
        _exit(90);
    struct pollfd full = {.fd = fd, .events = POLLOUT};
    while (poll(&full, 1, 200) > 0)
        while (send(fd, zeros, sizeof zeros, MSG_DONTWAIT) > 0)
            continue;
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0)
        _exit(91);
    return fd;
}

// Sends `text` with sockets that linger, and keeps none of them.
static void send_lingering(int to, struct str text)
{
    int fds[FDS];
    for (size_t i = 0; i < FDS; i++)
        fds[i] = lingering_socket();
    if (fd_send(to, text, fds, FDS) < 0)
        _exit(92);
    for (size_t i = 0; i < FDS; i++)
        fd_close(&fds[i]);
}

static void send_hello(void)
{
    char room[IPC_BYTES_MAX];
    struct ipc_msg msg = {.type = IPC_HELLO, .text = STR("{}")};
    if (is("unread") && fd_send(CHANNEL, STR("nonsense"), NULL, 0) < 0)
        _exit(93);
    if (is("linger") || is("unread"))
        send_lingering(CHANNEL, str_n(room, ipc_encode(&msg, room)));
    else
        say(IPC_HELLO, 0, 0, NULL, 0);
}

static _Noreturn void be_worker(uint32_t id, int go, int errors)
{
    char byte;
    int pair[2];
    int fds[FDS];
    if (fd_read(go, &byte, 1) != 1 || fd_pair(SOCK_STREAM, pair) < 0)
        _exit(94);
    for (size_t i = 0; i < FDS; i++)
        fds[i] = pair[0];
    if (is("file"))
        fds[0] = open("/dev/null", O_RDONLY);
    say(IPC_READY, id, getpid(), fds, is("many") ? FDS : 1);
    if (is("output")) {
        fd_set_nonblock(errors, false);
        if (fd_write_all(errors, STR("x")) < 0)
            _exit(95);
    }
    if (is("attach")) {
        char room[4096];
        if (fd_read(pair[1], room, sizeof room) <= 0)
            _exit(96);
        send_lingering(pair[1], STR("LS"));
    }
    struct pollfd nothing = {.fd = -1};
    for (int i = 0; is("blocking") && i < WORKER_END; i++) {
        fd_set_nonblock(pair[0], false);
        poll(&nothing, 1, 1);
    }
    hang();
}

static void fork_worker(uint32_t id, int errors)
{
    int go[2];
    int number[2];
    int own[2];
    pid_t pid = 0;
    if (fd_pipe(go) < 0 || fd_pipe(number) < 0 || fd_pipe(own) < 0)
        _exit(97);
    pid_t between = fork();
    if (between == 0) {
        pid = fork();
        if (pid == 0)
            be_worker(id, go[0], errors);
        _exit(fd_write_all(number[1], str_n((const char *)&pid, sizeof pid)) < 0);
    }
    waitpid(between, NULL, 0);
    if (fd_read(number[0], &pid, sizeof pid) != (ssize_t)sizeof pid)
        _exit(98);
    say(IPC_FORKED, id, pid, &own[0], is("pipe") ? 1 : 0);
    if (is("pipe")) {
        fd_set_nonblock(own[0], false);
        if (fd_write_all(own[1], STR("x")) < 0)
            _exit(99);
    }
    if (fd_write_all(go[1], STR("g")) < 0)
        _exit(100);
    fd_close(&go[0]);
    fd_close(&go[1]);
    fd_close(&number[0]);
    fd_close(&number[1]);
}

int main(int argc, char **argv)
{
    char room[IPC_BYTES_MAX];
    struct fd_received packet;
    struct ipc_msg msg;
    if (argc != 2)
        return 88;
    how = argv[1];
    send_hello();
    while (is("junk") && say(IPC_COMMITTED, 0, 0, NULL, 0))
        continue;
    while (fd_receive(CHANNEL, room, sizeof room, &packet) == 1 && packet.len > 0) {
        if (!ipc_decode(str_n(room, packet.len), &msg) || msg.type == IPC_LEAVE)
            return 0;
        if (msg.type == IPC_FORK)
            fork_worker(msg.id, packet.fds[0]);
        for (size_t i = 0; i < packet.fd_count; i++)
            fd_close(&packet.fds[i]);
    }
    return 0;
}
