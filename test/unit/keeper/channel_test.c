// SPDX-License-Identifier: Apache-2.0
// channel_test -- packets in order whatever the peer does, and an end when it does wrong.
#include "keeper/channel.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

struct fixture {
    struct loop *loop;
    struct channel channel;
    int peer;
    unsigned msgs;
    uint32_t last_id;
    int last_fd;
    unsigned ends;
    const char *why;
};

static void on_msg(struct channel *c, const struct ipc_msg *msg, struct fd_received *packet)
{
    struct fixture *f = CONTAINER_OF(c, struct fixture, channel);
    f->msgs++;
    f->last_id = msg->id;
    assert_int_equal(packet->pid, getpid());
    if (packet->fd_count > 0) {
        f->last_fd = packet->fds[0];
        packet->fds[0] = FD_NONE;
    }
}

static void on_closed(struct channel *c, const char *why)
{
    struct fixture *f = CONTAINER_OF(c, struct fixture, channel);
    assert_false(channel_is_open(c));
    f->ends++;
    f->why = why;
}

static void open_fixture(struct fixture *f)
{
    int rc;
    *f = (struct fixture){
        .channel.on_msg = on_msg, .channel.on_closed = on_closed, .last_fd = FD_NONE};
    f->loop = loop_new(&rc);
    assert_non_null(f->loop);
    assert_int_equal(channel_open(&f->channel, f->loop, &f->peer), 0);
}

static void close_fixture(struct fixture *f)
{
    channel_close(&f->channel);
    fd_close(&f->peer);
    loop_free(f->loop);
}

static void send_as_peer(struct fixture *f, uint32_t id, const int *fds, size_t count)
{
    char room[IPC_BYTES_MAX];
    size_t len = ipc_encode(&(struct ipc_msg){.type = IPC_START, .id = id}, room);
    assert_int_equal(fd_send(f->peer, str_n(room, len), fds, count), 0);
}

static void takes_messages_then_the_end(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    int fd = fd_dup(STDIN_FILENO);
    send_as_peer(&f, 1, NULL, 0);
    send_as_peer(&f, 2, &fd, 1);
    fd_close(&fd);
    fd_close(&f.peer);
    loop_turn(f.loop, 1000);
    assert_int_equal(f.msgs, 2);
    assert_int_equal(f.last_id, 2);
    assert_true(f.last_fd >= 0);
    fd_close(&f.last_fd);
    assert_int_equal(f.ends, 1);
    assert_null(f.why);
    channel_send(&f.channel, &(struct ipc_msg){.type = IPC_LEAVE}, NULL, 0); // nothing happens
    close_fixture(&f);
}

// A peer that dies with something unread resets the socket; what it has sent still counts.
static void reset_loses_nothing(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    channel_send(&f.channel, &(struct ipc_msg){.type = IPC_FORK, .id = 1}, NULL, 0);
    send_as_peer(&f, 7, NULL, 0);
    fd_close(&f.peer);
    channel_drain(&f.channel);
    assert_int_equal(f.msgs, 1);
    assert_int_equal(f.last_id, 7);
    assert_int_equal(f.ends, 1);
    close_fixture(&f);
}

static void malformed_ends_it(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    assert_int_equal(fd_send(f.peer, STR("nonsense"), NULL, 0), 0);
    send_as_peer(&f, 1, NULL, 0);
    loop_turn(f.loop, 1000);
    assert_int_equal(f.msgs, 0);
    assert_int_equal(f.ends, 1);
    assert_string_equal(f.why, "sent a malformed message");
    close_fixture(&f);
}

static uint32_t receive_as_peer(struct fixture *f, bool wants_fd)
{
    char room[IPC_BYTES_MAX];
    struct fd_received packet;
    struct ipc_msg msg;
    int rc = fd_receive(f->peer, room, sizeof room, &packet);
    if (rc == 0)
        return 0;
    assert_int_equal(rc, 1);
    assert_true(ipc_decode(str_n(room, packet.len), &msg));
    assert_int_equal(packet.fd_count, wants_fd);
    for (size_t i = 0; i < packet.fd_count; i++)
        fd_close(&packet.fds[i]);
    return msg.id;
}

static void slow_peers_get_all_in_order(void **state)
{
    (void)state;
    struct fixture f;
    char text[4000];
    memset(text, 'x', sizeof text);
    open_fixture(&f);
    assert_int_equal(fd_set_nonblock(f.peer, true), 0);
    struct ipc_msg msg = {.type = IPC_FORK, .text = str_n(text, sizeof text)};
    int fd = fd_dup(STDIN_FILENO);
    for (msg.id = 1; msg.id <= 1000; msg.id++)
        channel_send(&f.channel, &msg, &fd, msg.id % 100 == 0);
    fd_close(&fd); // the waiting ones hold their own
    assert_true(channel_is_slow(&f.channel));
    for (uint32_t id = 1; id <= 1000;) {
        uint32_t got = receive_as_peer(&f, id % 100 == 0);
        if (got == 0)
            loop_turn(f.loop, 1000);
        else
            assert_int_equal(got, id++);
    }
    assert_false(channel_is_slow(&f.channel));
    assert_int_equal(f.ends, 0);
    close_fixture(&f);
}

static void deaf_peers_are_given_up(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    for (uint32_t id = 1; id <= 20000; id++)
        channel_send(&f.channel, &(struct ipc_msg){.type = IPC_FORK, .id = id}, NULL, 0);
    assert_int_equal(f.ends, 0); // never from within a send
    loop_turn(f.loop, 0);
    loop_turn(f.loop, 0);
    assert_int_equal(f.ends, 1);
    assert_string_equal(f.why, "does not read its messages");
    close_fixture(&f);
}

// Descriptors for which there is no room are nobody's fault: the message comes without them, and
// the channel lives on.
static void lost_descriptors_do_not_end_it(void **state)
{
    (void)state;
    struct fixture f;
    struct rlimit limit;
    open_fixture(&f);
    int fd = fd_dup(STDIN_FILENO);
    send_as_peer(&f, 1, &fd, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    channel_drain(&f.channel);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(f.msgs, 1);
    assert_int_equal(f.last_fd, FD_NONE);
    send_as_peer(&f, 2, &fd, 1);
    channel_drain(&f.channel);
    assert_int_equal(f.msgs, 2);
    assert_int_not_equal(f.last_fd, FD_NONE);
    assert_int_equal(f.ends, 0);
    fd_close(&f.last_fd);
    fd_close(&fd);
    close_fixture(&f);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(takes_messages_then_the_end),
        cmocka_unit_test(lost_descriptors_do_not_end_it),
        cmocka_unit_test(reset_loses_nothing),
        cmocka_unit_test(malformed_ends_it),
        cmocka_unit_test(slow_peers_get_all_in_order),
        cmocka_unit_test(deaf_peers_are_given_up),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
