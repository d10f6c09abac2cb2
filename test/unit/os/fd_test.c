// SPDX-License-Identifier: Apache-2.0
// fd_test -- descriptors: flags, packets with descriptors and credentials, failures.
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static bool is_cloexec(int fd)
{
    int flags = fcntl(fd, F_GETFD);
    assert_true(flags >= 0);
    return flags & FD_CLOEXEC;
}

static void open_pair(int type, int pair[2])
{
    assert_int_equal(fd_pair(type, pair), 0);
}

static void close_pair(int pair[2])
{
    fd_close(&pair[0]);
    fd_close(&pair[1]);
}

static void all_are_closed_on_exec(void **state)
{
    (void)state;
    int pair[2];
    open_pair(SOCK_STREAM | SOCK_NONBLOCK, pair);
    assert_true(is_cloexec(pair[0]) && is_cloexec(pair[1]));
    assert_true(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
    assert_int_equal(fd_set_nonblock(pair[0], false), 0);
    assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
    assert_int_equal(fd_set_cloexec(pair[0], false), 0);
    assert_false(is_cloexec(pair[0]));
    close_pair(pair);
    assert_int_equal(pair[0], FD_NONE);
    fd_close(&pair[0]);
    assert_int_equal(fd_set_nonblock(FD_NONE, true), -EBADF);
}

static void sockets_and_pipes_are_written_alike(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        int fds[2];
        if (kind == 0)
            assert_int_equal(fd_pipe(fds), 0);
        else
            open_pair(SOCK_STREAM, fds);
        char one[] = "ab";
        char two[] = "cd";
        struct iovec iov[] = {{one, 2}, {two, 2}};
        char room[16];
        assert_int_equal(fd_writev(fds[1], iov, 2), 4);
        assert_int_equal(fd_write(fds[1], STR("ef")), 2);
        assert_int_equal(fd_write_all(fds[1], STR("gh")), 0);
        assert_int_equal(fd_read(fds[0], room, sizeof room), 8);
        assert_memory_equal(room, "abcdefgh", 8);
        fd_close(&fds[1]);
        assert_int_equal(fd_read(fds[0], room, sizeof room), 0);
        close_pair(fds);
    }
}

static void a_peer_that_has_gone_is_an_error_and_no_signal(void **state)
{
    (void)state;
    int pair[2];
    open_pair(SOCK_STREAM, pair);
    fd_close(&pair[1]);
    assert_int_equal(fd_write(pair[0], STR("x")), -EPIPE);
    assert_int_equal(fd_write_all(pair[0], STR("x")), -EPIPE);
    close_pair(pair);
    open_pair(SOCK_SEQPACKET, pair);
    fd_close(&pair[1]);
    assert_int_equal(fd_send(pair[0], STR("x"), NULL, 0), -EPIPE);
    close_pair(pair);
}

static void packets_carry_descriptors_and_credentials(void **state)
{
    (void)state;
    for (size_t count = 0; count <= FD_PASS_MAX; count++) {
        int pair[2];
        int pipes[2];
        int sent[FD_PASS_MAX];
        char room[64];
        struct fd_received got;
        open_pair(SOCK_SEQPACKET | SOCK_NONBLOCK, pair);
        assert_int_equal(fd_pass_credentials(pair[1]), 0);
        assert_int_equal(fd_pipe(pipes), 0);
        for (size_t i = 0; i < FD_PASS_MAX; i++)
            sent[i] = pipes[1];
        assert_int_equal(fd_receive(pair[1], room, sizeof room, &got), 0);
        assert_int_equal(fd_send(pair[0], STR("hello"), sent, count), 0);
        assert_int_equal(fd_receive(pair[1], room, sizeof room, &got), 1);
        assert_int_equal(got.len, 5);
        assert_memory_equal(room, "hello", 5);
        assert_int_equal(got.pid, getpid());
        assert_int_equal(got.uid, getuid());
        assert_int_equal(got.fd_count, count);
        for (size_t i = 0; i < count; i++) {
            assert_true(is_cloexec(got.fds[i]));
            assert_int_equal(fd_write(got.fds[i], STR("x")), 1);
            fd_close(&got.fds[i]);
        }
        close_pair(pipes);
        close_pair(pair);
    }
}

static void without_credentials_asked_there_are_none(void **state)
{
    (void)state;
    int pair[2];
    char room[8];
    struct fd_received got;
    open_pair(SOCK_SEQPACKET, pair);
    assert_int_equal(fd_send(pair[0], STR("x"), NULL, 0), 0);
    assert_int_equal(fd_receive(pair[1], room, sizeof room, &got), 1);
    assert_int_equal(got.pid, 0);
    assert_int_equal(got.uid, (uid_t)-1);
    fd_close(&pair[0]);
    assert_int_equal(fd_receive(pair[1], room, sizeof room, &got), 1);
    assert_int_equal(got.len, 0);
    close_pair(pair);
}

static void a_packet_whose_descriptors_have_no_room(void **state)
{
    (void)state;
    int pair[2];
    char room[8];
    struct fd_received got;
    struct rlimit before;
    open_pair(SOCK_SEQPACKET, pair);
    assert_int_equal(fd_send(pair[0], STR("x"), &pair[0], 1), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = fd_receive(pair[1], room, sizeof room, &got);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, 1); // the words are there
    assert_true(got.lost && got.fd_count == 0 && got.len == 1);
    close_pair(pair);
}

static void a_packet_too_long_leaks_no_descriptor(void **state)
{
    (void)state;
    int pair[2];
    int pipes[2];
    char room[4];
    struct fd_received got;
    open_pair(SOCK_SEQPACKET, pair);
    assert_int_equal(fd_pipe(pipes), 0);
    assert_int_equal(fd_send(pair[0], STR("hello"), &pipes[1], 1), 0);
    fd_close(&pipes[1]);
    assert_int_equal(fd_receive(pair[1], room, sizeof room, &got), -EMSGSIZE);
    // The last writer is closed only if the passed one was.
    assert_int_equal(fd_read(pipes[0], room, sizeof room), 0);
    close_pair(pipes);
    close_pair(pair);
}

static void a_full_queue_says_again(void **state)
{
    (void)state;
    int pair[2];
    open_pair(SOCK_SEQPACKET | SOCK_NONBLOCK, pair);
    int rc = 0;
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = fd_send(pair[0], STR("message"), NULL, 0);
    assert_int_equal(rc, -EAGAIN);
    close_pair(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_closed_on_exec),
        cmocka_unit_test(sockets_and_pipes_are_written_alike),
        cmocka_unit_test(a_peer_that_has_gone_is_an_error_and_no_signal),
        cmocka_unit_test(packets_carry_descriptors_and_credentials),
        cmocka_unit_test(without_credentials_asked_there_are_none),
        cmocka_unit_test(a_packet_whose_descriptors_have_no_room),
        cmocka_unit_test(a_packet_too_long_leaks_no_descriptor),
        cmocka_unit_test(a_full_queue_says_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
