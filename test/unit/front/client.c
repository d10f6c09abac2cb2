// SPDX-License-Identifier: Apache-2.0
// client -- see client.h.
#include "client.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "front/accept.h"
#include "os/fd.h"

#define TURNS_MAX   2000 // before a test gives up waiting
#define TURN_MS     5    // longest wait of one of them
#define QUIET_TURNS 3    // in a row without anything: settled

void client_open(struct client *c, struct stage *stage)
{
    int fds[2];
    *c = (struct client){.stage = stage};
    assert_int_equal(fd_pair(SOCK_STREAM | SOCK_NONBLOCK, fds), 0);
    c->fd = fds[0];
    struct sock_addr peer;
    assert_int_equal(sock_name(fds[1], &peer), 0);
    front_serve(&stage->thread, fds[1], &peer, false);
}

bool client_receive(struct client *c)
{
    bool any = false;
    while (!c->closed) {
        char room[65536];
        ssize_t n = fd_read(c->fd, room, sizeof room);
        if (n == -EAGAIN)
            break;
        any = true;
        if (n <= 0)
            c->closed = true;
        else
            assert_true(buf_put(&c->got, str_n(room, (size_t)n)));
    }
    return any;
}

void client_send(struct client *c, const char *bytes, size_t len)
{
    struct str left = str_n(bytes, len);
    for (int turns = 0; left.len > 0; turns++) {
        assert_true(turns < TURNS_MAX);
        ssize_t n = fd_write(c->fd, left);
        if (n > 0)
            left = str_skip(left, (size_t)n);
        else if (n != -EAGAIN)
            return; // the server has closed: what it said is what counts
        stage_turn(c->stage, 0);
    }
}

void client_say(struct client *c, const char *text)
{
    client_send(c, text, strlen(text));
}

void client_settle(struct client *c)
{
    int quiet = 0;
    for (int turns = 0; turns < TURNS_MAX && quiet < QUIET_TURNS; turns++) {
        stage_turn(c->stage, 0);
        quiet = client_receive(c) ? 0 : quiet + 1;
    }
}

void client_wait(struct client *c, const char *text)
{
    client_receive(c);
    for (int turns = 0; !strstr(client_text(c), text) && !c->closed; turns++) {
        if (turns == TURNS_MAX)
            fail_msg("\"%s\" did not come, but: %s", text, client_text(c));
        stage_turn(c->stage, TURN_MS);
        client_receive(c);
    }
}

void client_wait_closed(struct client *c)
{
    client_receive(c);
    for (int turns = 0; !c->closed; turns++) {
        if (turns == TURNS_MAX)
            fail_msg("the server did not close, but sent: %s", client_text(c));
        stage_turn(c->stage, TURN_MS);
        client_receive(c);
    }
}

const char *client_text(struct client *c)
{
    static char text[1 << 20];
    struct str rest = buf_view(&c->got);
    size_t len = 0;
    while (rest.len > 0 && len + rest.len < sizeof text) {
        size_t end = str_find(rest, '\n');
        struct str line = str_slice(rest, 0, end + 1);
        if (str_starts(line, STR("Date: ")))
            line = STR("Date: D\r\n");
        memcpy(text + len, line.ptr, line.len);
        len += line.len;
        rest = str_skip(rest, end + 1);
    }
    text[len] = '\0';
    return text;
}

void client_close(struct client *c)
{
    fd_close(&c->fd);
    for (int i = 0; i < QUIET_TURNS; i++)
        stage_turn(c->stage, 0);
    buf_done(&c->got);
}
