// SPDX-License-Identifier: Apache-2.0
// closer_test -- what somebody else has made is closed without waiting for it.
#include "os/closer.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on
#include "os/fd.h"

#define WAIT_MS         60000
#define STACK_BYTES_MAX ((size_t)1024 * 1024)

typedef void *thread_fn(void *arg);
typedef int create_fn(pthread_t *thread, const pthread_attr_t *attr, thread_fn *run, void *arg);

// What becomes of the next threads.
static int refused_with; // error, 0: they start
static size_t refused_below_bytes;
static size_t stack_bytes; // what was asked for last

// In the place of the library's.
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, thread_fn *run, void *arg)
{
    create_fn *real;
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &found, sizeof real);
    if (attr)
        pthread_attr_getstacksize(attr, &stack_bytes);
    if (refused_with)
        return refused_with;
    return stack_bytes < refused_below_bytes ? EINVAL : real(thread, attr, run, arg);
}

// The other end of a pair tells when an end is closed.
static void expect_end(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    char byte;
    assert_int_equal(poll(&entry, 1, WAIT_MS), 1);
    ssize_t got = fd_read(fd, &byte, 1);
    assert_true(got == 0 || got == -ECONNRESET);
}

static void all_are_closed(void **state)
{
    (void)state;
    int pairs[3][2];
    int fds[4];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fd_pair(SOCK_STREAM, pairs[i]), 0);
        fds[i] = pairs[i][0];
    }
    fds[3] = fds[1];
    fds[1] = FD_NONE;
    closer_close(fds, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fds[i], FD_NONE);
    for (size_t i = 0; i < 3; i++) {
        expect_end(pairs[i][1]);
        fd_close(&pairs[i][1]);
    }
    closer_close(fds, 4); // nothing to do
}

static bool is_open(int other_end)
{
    struct pollfd entry = {.fd = other_end, .events = POLLIN};
    return poll(&entry, 1, 0) == 0;
}

// Nothing is lost when there is no thread: the next call that finds one closes all.
static void without_a_thread_they_wait(void **state)
{
    (void)state;
    int pairs[3][2];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fd_pair(SOCK_STREAM, pairs[i]), 0);
    refused_with = EAGAIN;
    for (size_t i = 0; i < 2; i++) {
        closer_close(&pairs[i][0], 1);
        assert_int_equal(pairs[i][0], FD_NONE);
    }
    closer_close(NULL, 0);
    assert_true(is_open(pairs[0][1]) && is_open(pairs[1][1]));
    refused_with = 0;
    closer_close(&pairs[2][0], 1);
    for (size_t i = 0; i < 3; i++) {
        expect_end(pairs[i][1]);
        fd_close(&pairs[i][1]);
    }
}

// The stack is small, unless the system finds it too small.
static void stacks_are_small(void **state)
{
    (void)state;
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        int pair[2];
        refused_below_bytes = is_refused ? STACK_BYTES_MAX : 0;
        assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
        closer_close(&pair[0], 1);
        assert_int_equal(stack_bytes < STACK_BYTES_MAX, !is_refused);
        expect_end(pair[1]);
        fd_close(&pair[1]);
    }
    refused_below_bytes = 0;
}

static void streams_are_closed(void **state)
{
    (void)state;
    for (int unread = 0; unread < 2; unread++) {
        int pair[2];
        assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
        if (unread)
            assert_int_equal(fd_write(pair[1], STR("x")), 1);
        closer_close_stream(&pair[0]);
        assert_int_equal(pair[0], FD_NONE);
        expect_end(pair[1]);
        fd_close(&pair[1]);
        closer_close_stream(&pair[0]);
    }
}

// Reading takes the bytes, never waits, and never brings descriptors in.
static void only_bytes_are_received(void **state)
{
    (void)state;
    char room[8];
    int pair[2];
    int other[2];
    assert_int_equal(fd_pair(SOCK_STREAM, pair), 0); // blocking
    assert_int_equal(fd_pair(SOCK_STREAM, other), 0);
    assert_int_equal(fd_receive_bytes(pair[0], room, sizeof room), -EAGAIN);
    assert_int_equal(fd_send(pair[1], STR("abc"), NULL, 0), 0);
    assert_int_equal(fd_receive_bytes(pair[0], room, sizeof room), 3);
    assert_memory_equal(room, "abc", 3);
    assert_int_equal(fd_send(pair[1], STR("abc"), &other[0], 1), 0);
    fd_close(&other[0]);
    assert_int_equal(fd_receive_bytes(pair[0], room, sizeof room), -EPROTO);
    expect_end(other[1]);
    fd_close(&pair[1]);
    assert_int_equal(fd_receive_bytes(pair[0], room, sizeof room), 0);
    fd_close(&pair[0]);
    fd_close(&other[1]);
}

static void kinds_are_told_apart(void **state)
{
    (void)state;
    int stream[2];
    int packets[2];
    int pipe[2];
    assert_int_equal(fd_pair(SOCK_STREAM, stream), 0);
    assert_int_equal(fd_pair(SOCK_SEQPACKET, packets), 0);
    assert_int_equal(fd_pipe(pipe), 0);
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd_is_stream(stream[0]));
    assert_false(fd_is_stream(packets[0]));
    assert_false(fd_is_stream(pipe[0]));
    assert_false(fd_is_stream(tcp));
    for (size_t i = 0; i < 2; i++) {
        fd_close(&stream[i]);
        fd_close(&packets[i]);
        fd_close(&pipe[i]);
    }
    fd_close(&tcp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_closed),          cmocka_unit_test(without_a_thread_they_wait),
        cmocka_unit_test(stacks_are_small),        cmocka_unit_test(streams_are_closed),
        cmocka_unit_test(only_bytes_are_received), cmocka_unit_test(kinds_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
