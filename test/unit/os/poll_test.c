// SPDX-License-Identifier: Apache-2.0
// poll_test -- readiness: once per change, level only for shared listeners.
#include "os/poll.h"

#include <errno.h>
#include <sys/socket.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "os/fd.h"
#include "os/sock.h"

struct fixture {
    int queue;
    int pair[2];
};

static int set_up(void **state)
{
    static struct fixture f;
    f.queue = poll_open();
    if (f.queue < 0 || fd_pair(SOCK_STREAM | SOCK_NONBLOCK, f.pair) < 0)
        return -1;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    fd_close(&f->pair[0]);
    fd_close(&f->pair[1]);
    fd_close(&f->queue);
    return 0;
}

static unsigned ready_now(struct fixture *f, void *tag)
{
    struct poll_event events[4];
    int count = poll_wait(f->queue, events, 4, 0);
    assert_in_range(count, 0, 1);
    if (count == 0)
        return 0;
    assert_ptr_equal(events[0].tag, tag);
    return events[0].ready;
}

static void a_change_is_told_once(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(poll_add(f->queue, f->pair[0], POLL_READ | POLL_WRITE, f), 0);
    assert_int_equal(ready_now(f, f), POLL_WRITE);
    assert_int_equal(ready_now(f, f), 0);
    assert_int_equal(fd_write(f->pair[1], STR("x")), 1);
    assert_int_equal(ready_now(f, f), POLL_READ | POLL_WRITE);
    assert_int_equal(ready_now(f, f), 0);
    assert_int_equal(fd_write(f->pair[1], STR("y")), 1);
    assert_true(ready_now(f, f) & POLL_READ);
    assert_int_equal(poll_del(f->queue, f->pair[0]), 0);
    assert_int_equal(fd_write(f->pair[1], STR("z")), 1);
    assert_int_equal(ready_now(f, f), 0);
    assert_int_equal(poll_del(f->queue, f->pair[0]), -ENOENT);
}

static void the_peers_end_is_a_hangup_that_can_be_read(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(poll_add(f->queue, f->pair[0], POLL_READ, f), 0);
    assert_int_equal(ready_now(f, f), 0);
    sock_shutdown_write(f->pair[1]);
    assert_int_equal(ready_now(f, f), POLL_READ | POLL_HANGUP);
    fd_close(&f->pair[1]);
    assert_int_equal(ready_now(f, f), POLL_READ | POLL_WRITE | POLL_HANGUP | POLL_BROKEN);
}

static void a_shared_listener_stays_ready(void **state)
{
    struct fixture *f = *state;
    struct sock_addr addr;
    assert_true(sock_addr_parse(STR("127.0.0.1:0"), &addr));
    int listener = sock_listen(&addr, 0);
    assert_int_equal(sock_name(listener, &addr), 0);
    assert_int_equal(poll_add(f->queue, listener, POLL_READ | POLL_SHARED, f), 0);
    int client = sock_connect(&addr);
    assert_true(client >= 0);
    assert_int_equal(fd_write(client, STR("x")), 1);
    assert_int_equal(ready_now(f, f), POLL_READ);
    assert_int_equal(ready_now(f, f), POLL_READ);
    int conn = sock_accept(listener, &addr);
    assert_true(conn >= 0);
    assert_int_equal(ready_now(f, f), 0);
    fd_close(&conn);
    fd_close(&client);
    fd_close(&listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_is_told_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_peers_end_is_a_hangup_that_can_be_read, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_shared_listener_stays_ready, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
