// SPDX-License-Identifier: Apache-2.0
// listener_test -- connections are taken, in bounded batches; want of descriptors pauses a listener
// and does not make it spin.
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

#include "os/fd.h"

#define CLIENTS 60

static struct loop *loop;
static int accepted[CLIENTS];
static int accepted_count;
static int errors;
static int last_error;

static void on_accept(struct listener *l, int fd, const struct sock_addr *peer)
{
    (void)l;
    (void)peer;
    assert_true(accepted_count < CLIENTS);
    accepted[accepted_count++] = fd;
}

static void on_error(struct listener *l, int error)
{
    (void)l;
    errors++;
    last_error = error;
}

static int open_listener(struct sock_addr *out_addr)
{
    struct sock_addr any;
    assert_true(sock_addr_parse(STR("127.0.0.1:0"), &any));
    int fd = sock_listen(&any, 0);
    assert_true(fd >= 0);
    assert_int_equal(sock_name(fd, out_addr), 0);
    return fd;
}

// A connection is given out when it has brought something.
static int connect_with_bytes(const struct sock_addr *addr)
{
    int fd = sock_connect(addr);
    assert_true(fd >= 0);
    assert_int_equal(fd_write(fd, STR("x")), 1);
    return fd;
}

static void close_all(int *fds, int count)
{
    for (int i = 0; i < count; i++)
        fd_close(&fds[i]);
}

static void connections_come_in_batches(void **state)
{
    (void)state;
    struct listener l = {.on_accept = on_accept, .on_error = on_error};
    struct sock_addr addr;
    int clients[CLIENTS];
    int fd = open_listener(&addr);
    accepted_count = 0;
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = connect_with_bytes(&addr);
    assert_int_equal(listener_start(&l, loop, fd), 0);
    // One at first, then more and more while there are more.
    for (int batch = 1, sum = 0; batch <= LISTENER_BATCH_MAX; batch *= 2) {
        loop_turn(loop, 1000);
        sum += batch;
        assert_int_equal(accepted_count, sum);
    }
    loop_turn(loop, 1000);
    assert_int_equal(accepted_count, 3 * LISTENER_BATCH_MAX - 1);
    for (int i = 0; i < 100 && accepted_count < CLIENTS; i++)
        loop_turn(loop, 10);
    assert_int_equal(accepted_count, CLIENTS);
    assert_int_equal(errors, 0);
    listener_stop(&l);
    listener_stop(&l);
    close_all(clients, CLIENTS);
    close_all(accepted, accepted_count);
    fd_close(&fd);
}

static void want_of_descriptors_pauses(void **state)
{
    (void)state;
    struct listener l = {.on_accept = on_accept, .on_error = on_error};
    struct sock_addr addr;
    struct rlimit limit;
    int fd = open_listener(&addr);
    accepted_count = 0;
    int client = connect_with_bytes(&addr);
    assert_int_equal(listener_start(&l, loop, fd), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = (rlim_t)client + 1, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    loop_turn(loop, 1000);
    assert_int_equal(errors, 1);
    assert_int_equal(last_error, EMFILE);
    // The connection waits still, and wakes nobody in vain.
    for (int i = 0; i < 10; i++)
        loop_turn(loop, 0);
    assert_int_equal(errors, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 100 && accepted_count == 0; i++)
        loop_turn(loop, 10);
    assert_int_equal(accepted_count, 1);
    listener_stop(&l);
    close_all(accepted, accepted_count);
    fd_close(&client);
    fd_close(&fd);
}

static int open_loop(void **state)
{
    int error;
    (void)state;
    loop = loop_new(&error);
    return loop ? 0 : -1;
}

static int close_loop(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_come_in_batches),
        cmocka_unit_test(want_of_descriptors_pauses),
    };
    return cmocka_run_group_tests(tests, open_loop, close_loop);
}
