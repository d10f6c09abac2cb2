// SPDX-License-Identifier: Apache-2.0
// fake -- a worker that misbehaves on command, anywhere in its answer. It takes the connection from
// the library and speaks LSAPI by hand. The query says what happens behind byte N of the answer:
//
//   ?N-stop      nothing more                 ?N-close    the connection is closed; the process
//   goes on ?N-die       the process is killed        ?N-leave    the process ends in peace
//   ?N-garbage   a kilobyte of 0xff           ?N-zeros    a kilobyte of zeros
//   ?N-slow      the rest comes byte by byte  ?N-again    all of the answer once more, from its
//   start ?N-pass      the rest comes at once
//
// For a number behind the end it is the whole answer. A request without such a query gets it, too.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "godwit_app.h"

#define HEAD_BYTES    8
#define REQUEST_BYTES 65536
#define NOISE_BYTES   1024

enum { RESP_HEADER = 3, RESP_STREAM = 4, RESP_END = 5 };

struct answer {
    unsigned char bytes[256];
    size_t len;
};

static int connection = -1;

// The only stream socket that a worker has besides its standard descriptors.
static void find_connection(void)
{
    for (int fd = 3; fd < 64 && connection < 0; fd++) {
        int type = 0;
        socklen_t len = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM)
            connection = fd;
    }
}

static void put(struct answer *a, const void *bytes, size_t len)
{
    memcpy(a->bytes + a->len, bytes, len);
    a->len += len;
}

static void put_packet(struct answer *a, unsigned char type, const void *bytes, size_t len)
{
    int32_t total = (int32_t)(HEAD_BYTES + len);
    const int one = 1;
    unsigned char little = *(const unsigned char *)&one;
    unsigned char head[4] = {'L', 'S', type, (unsigned char)!little};
    put(a, head, sizeof head);
    put(a, &total, sizeof total);
    put(a, bytes, len);
}

static struct answer make_answer(void)
{
    static const char LINE[] = "X-Fake: yes"; // with its NUL
    struct answer a = {.len = 0};
    unsigned char head[64];
    int32_t counts[2] = {1, 200}; // lines, status
    uint16_t length = sizeof LINE;
    memcpy(head, counts, sizeof counts);
    memcpy(head + sizeof counts, &length, sizeof length);
    memcpy(head + sizeof counts + sizeof length, LINE, sizeof LINE);
    put_packet(&a, RESP_HEADER, head, sizeof counts + sizeof length + sizeof LINE);
    put_packet(&a, RESP_STREAM, "Hello, ", 7);
    put_packet(&a, RESP_STREAM, "world\n", 6);
    put_packet(&a, RESP_END, "", 0);
    return a;
}

static void send_all(const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = send(connection, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            _exit(0); // the server has let go
        at += n;
        len -= (size_t)n;
    }
}

static void send_noise(int byte)
{
    char noise[NOISE_BYTES];
    memset(noise, byte, sizeof noise);
    send_all(noise, sizeof noise);
}

static void wait_for_the_end(void)
{
    for (;;)
        pause();
}

static void misbehave(const struct answer *a, size_t at, const char *how)
{
    send_all(a->bytes, at);
    if (strcmp(how, "stop") == 0) {
        wait_for_the_end();
    } else if (strcmp(how, "close") == 0) {
        close(connection);
        wait_for_the_end();
    } else if (strcmp(how, "die") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(how, "leave") == 0) {
        _exit(0);
    } else if (strcmp(how, "garbage") == 0 || strcmp(how, "zeros") == 0) {
        send_noise(how[0] == 'g' ? 0xff : 0);
        wait_for_the_end();
    } else if (strcmp(how, "again") == 0) {
        send_all(a->bytes, a->len);
    } else if (strcmp(how, "slow") == 0) {
        for (size_t i = at; i < a->len; i++) {
            send_all(a->bytes + i, 1);
            usleep(200);
        }
    } else {
        send_all(a->bytes + at, a->len - at);
    }
}

// "POST /x?12-stop HTTP/1.1" and the like.
static void answer(const char *query)
{
    static const char *const WAYS[] = {"stop",    "close", "die",   "leave",
                                       "garbage", "zeros", "again", "slow"};
    struct answer a = make_answer();
    char *end;
    size_t at = strtoul(query, &end, 10);
    const char *how = "pass";
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++)
        if (*end == '-' && strncmp(end + 1, WAYS[i], strlen(WAYS[i])) == 0)
            how = WAYS[i];
    misbehave(&a, at < a.len ? at : a.len, how);
}

static void receive_all(unsigned char *room, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(connection, room, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(0);
        room += n;
        len -= (size_t)n;
    }
}

// The library is not asked any more: what the connection holds is no concern of it.
static void serve(void *arg, struct godwit_app_request *req)
{
    static unsigned char request[REQUEST_BYTES + 1];
    (void)arg;
    find_connection();
    answer(godwit_app_query(req).ptr);
    for (;;) {
        int32_t total;
        receive_all(request, HEAD_BYTES);
        memcpy(&total, request + 4, sizeof total);
        if (total < HEAD_BYTES || total > REQUEST_BYTES)
            _exit(1);
        receive_all(request + HEAD_BYTES, (size_t)total - HEAD_BYTES);
        // QUERY_STRING is a variable of its own: name and value, each with its NUL.
        static const char NAME[] = "QUERY_STRING";
        const unsigned char *found = memmem(request, (size_t)total, NAME, sizeof NAME);
        request[total] = 0;
        answer(found ? (const char *)found + sizeof NAME : "");
    }
}

int main(int argc, char **argv)
{
    static const struct godwit_app_hooks HOOKS = {.name = "lsapi-fake", .serve = serve};
    return godwit_app_main(&HOOKS, argc, argv);
}
