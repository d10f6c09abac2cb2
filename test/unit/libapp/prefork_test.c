// SPDX-License-Identifier: Apache-2.0
// prefork_test -- the example program under servers that are not Godwit: acknowledgements,
// children, limits. argv[1] is the example's path.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "app_driver.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/sock.h"

static const char *program;
static char path[64];
static struct sock_addr address;

static pid_t run(int stdin_fd, const char *const *envp)
{
    const char *const argv[] = {program, NULL};
    struct proc_start start = {.path = program,
                               .argv = argv,
                               .envp = envp,
                               .stdin_fd = stdin_fd,
                               .stdout_fd = FD_NONE,
                               .stderr_fd = FD_NONE,
                               .death_signal = SIGKILL};
    pid_t pid = proc_start(&start);
    assert_true(pid > 0);
    return pid;
}

// Starts the program with a listening socket.
static pid_t listen_and_run(const char *const *envp)
{
    snprintf(path, sizeof path, "unix:/tmp/godwit-prefork-test-%d", (int)getpid());
    assert_true(sock_addr_parse(str_c(path), &address));
    int fd = sock_listen(&address, 0600);
    assert_true(fd >= 0);
    pid_t pid = run(fd, envp);
    fd_close(&fd);
    return pid;
}

static int dial(void)
{
    int fd = sock_connect(&address);
    assert_true(fd >= 0);
    return fd;
}

static void end(pid_t pid)
{
    kill(pid, SIGTERM);
    assert_int_equal(driver_wait(pid), 0);
    unlink(path + strlen("unix:"));
}

// What one exchange shows: pid notice, REQ_RECEIVED.
struct sign {
    bool pid, received;
};

static pid_t greet(int conn, struct sign sign)
{
    struct driver_answer a;
    struct driver_request req = {.query = "pid"};
    assert_true(driver_exchange(conn, &req, &a));
    assert_true(a.ended);
    assert_int_equal(a.pid != 0, sign.pid);
    assert_int_equal(a.received, sign.received);
    uint64_t pid;
    assert_true(str_to_u64(str_slice(buf_view(&a.body), 0, buf_len(&a.body) - 1), &pid));
    if (sign.pid)
        assert_int_equal(a.pid, pid);
    driver_answer_done(&a);
    return (pid_t)pid;
}

static void a_connection_on_descriptor_0_is_served(void **unused)
{
    (void)unused;

    static const struct {
        const char *env;
        struct sign first, later;
    } CASES[] = {
        {"LSAPI_ACCEPT_NOTIFY=0", {false, true}, {false, true}},
        {"LSAPI_ACCEPT_NOTIFY=1", {false, false}, {false, false}},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int pair[2];
        assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
        pid_t pid = run(pair[1], (const char *const[]){CASES[i].env, NULL});
        fd_close(&pair[1]);
        assert_int_equal(greet(pair[0], CASES[i].first), pid);
        greet(pair[0], CASES[i].later);
        fd_close(&pair[0]);
        assert_int_equal(driver_wait(pid), 0);
    }
}

static void a_listening_socket_is_served_by_children(void **unused)
{
    (void)unused;

    static const struct {
        const char *children, *notify;
        struct sign first, later;
    } CASES[] = {
        {"LSAPI_CHILDREN=3", "LSAPI_ACCEPT_NOTIFY=0", {true, false}, {false, true}},
        {"LSAPI_CHILDREN=3", "LSAPI_ACCEPT_NOTIFY=1", {true, false}, {false, false}},
        {"PHP_LSAPI_CHILDREN=0", "LSAPI_ACCEPT_NOTIFY=0", {false, true}, {false, true}},
        {"PHP_LSAPI_CHILDREN=1", "LSAPI_ACCEPT_NOTIFY=1", {false, true}, {false, false}},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        pid_t pid = listen_and_run((const char *const[]){CASES[i].children, CASES[i].notify, NULL});
        int conn = dial();
        pid_t child = greet(conn, CASES[i].first);
        assert_int_equal(child == pid, !CASES[i].first.pid);
        assert_int_equal(greet(conn, CASES[i].later), child);
        fd_close(&conn);
        end(pid);
    }
}

static void connections_are_served_side_by_side_up_to_the_limit(void **unused)
{
    (void)unused;
    static const struct sign FRESH = {true, false}, KEPT = {false, true};
    pid_t pid =
        listen_and_run((const char *const[]){"LSAPI_CHILDREN=2", "LSAPI_EXTRA_CHILDREN=0", NULL});
    int first = dial(), second = dial(), third;
    pid_t one = greet(first, FRESH);
    pid_t two = greet(second, FRESH);
    assert_int_not_equal(one, two);
    third = dial();
    fd_close(&first); // its child takes the third
    assert_int_equal(greet(third, KEPT), one);
    fd_close(&second);
    fd_close(&third);
    end(pid);
}

static void a_child_leaves_after_its_last_request(void **unused)
{
    (void)unused;
    pid_t pid = listen_and_run((const char *const[]){"LSAPI_CHILDREN=2", "LSAPI_MAX_REQS=2", NULL});
    int conn = dial();
    struct driver_answer a;
    struct driver_request req = {.query = ""};
    greet(conn, (struct sign){true, false});
    assert_true(driver_exchange(conn, &req, &a));
    assert_true(a.ended && a.closed);
    driver_answer_done(&a);
    fd_close(&conn);
    conn = dial();
    greet(conn, (struct sign){true, false});
    fd_close(&conn);
    end(pid);
}

static void without_a_socket_it_explains_itself(void **unused)
{
    (void)unused;
    assert_int_equal(driver_wait(run(FD_NONE, (const char *const[]){NULL})), 64 << 8);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_on_descriptor_0_is_served),
        cmocka_unit_test(a_listening_socket_is_served_by_children),
        cmocka_unit_test(connections_are_served_side_by_side_up_to_the_limit),
        cmocka_unit_test(a_child_leaves_after_its_last_request),
        cmocka_unit_test(without_a_socket_it_explains_itself),
    };
    if (argc != 2)
        return 2;
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
