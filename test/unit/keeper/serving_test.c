// SPDX-License-Identifier: Apache-2.0
// serving_test -- the keeper and its server: start, crash, stop, and starts that fail.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

#include "rig.h"

static void starts_and_stops(void **state)
{
    struct rig *r = *state;
    char path[128];
    char pid[32] = "";
    struct stat st;
    rig_start(r);
    rig_accept(r);
    assert_true(rig_connects(rig_port(r->listener_fds[0])));
    rig_commit(r);
    rig_notified(r, "READY=1");
    assert_true(rig_log_has(r, "listening on http://127.0.0.1:"));

    snprintf(path, sizeof path, "%s/control.sock", r->runtime);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0007, 0);
    snprintf(path, sizeof path, "%s/pid", r->runtime);
    FILE *file = fopen(path, "re");
    assert_non_null(fgets(pid, sizeof pid, file));
    fclose(file);
    assert_int_equal(strtol(pid, NULL, 10), r->keeper);

    rig_stop(r);
    rig_notified(r, "STOPPING=1");
}

static void server_crash_keeps_listeners(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    unsigned port = rig_port(r->listener_fds[0]);
    uint32_t gen = r->gen;
    for (int i = 0; i < 3; i++) { // the later ones are delayed, since they follow so quickly
        assert_int_equal(kill(r->server, SIGKILL), 0);
        rig_wait_gone(r->server);
        assert_true(rig_connects(port));
        rig_accept(r);
        assert_int_equal(rig_port(r->listener_fds[0]), port);
        assert_int_equal(r->gen, gen);
        rig_commit(r);
    }
    assert_true(rig_log_has(r, "server.died the server process killed by SIGKILL"));
    rig_stop(r);
}

static void server_that_refuses_is_replaced(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    assert_int_equal(kill(r->server, SIGKILL), 0);
    rig_accept(r);
    rig_send(r, &(struct ipc_msg){.type = IPC_REFUSED, .gen = r->gen, .text = STR("no memory")});
    rig_accept(r);
    rig_commit(r);
    assert_true(rig_log_has(r, "no memory"));
    rig_stop(r);
}

static void server_that_hangs_up_is_replaced(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    pid_t old = r->server;
    rig_accept(r); // closes our end: the fake one exits with 0
    assert_int_not_equal(r->server, old);
    rig_commit(r);
    rig_stop(r);
}

static void messages_out_of_place_are_refused(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    rig_send(r, &(struct ipc_msg){.type = IPC_PLAN});
    rig_send(r, &(struct ipc_msg){.type = IPC_PREPARED, .gen = 77});
    rig_send(r, &(struct ipc_msg){.type = IPC_KILL, .id = 5, .status = SIGKILL});
    rig_start_worker(r, "nobody", 1);
    rig_expect(r, IPC_WORKER_FAILED);
    assert_int_equal(r->msg.id, 1);
    rig_expect_text(r, "no such app");
    assert_true(rig_log_has(r, "which it may not send"));
    assert_true(rig_log_has(r, "unknown app \"nobody\""));
    rig_stop(r);
}

static void stop_by_message(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    rig_send(r, &(struct ipc_msg){.type = IPC_STOP, .id = 9});
    rig_expect(r, IPC_ANSWER);
    assert_int_equal(r->msg.id, 9);
    assert_int_equal(r->msg.status, 0);
    rig_expect(r, IPC_DRAIN);
    fd_close(&r->server_fd);
    assert_int_equal(rig_wait_end(r), 0);
}

static void stop_now_by_message(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    rig_send(r, &(struct ipc_msg){.type = IPC_STOP, .id = 9, .status = 1});
    rig_expect(r, IPC_ANSWER); // and the server has the time to pass it on
    assert_int_equal(r->msg.id, 9);
    rig_expect(r, IPC_DRAIN); // and does not obey
    assert_int_equal(rig_wait_end(r), 0);
    assert_false(rig_log_has(r, "has not finished in time"));
}

static void second_term_ends_now(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    assert_int_equal(kill(r->keeper, SIGTERM), 0);
    rig_expect(r, IPC_DRAIN); // and does not obey
    assert_int_equal(kill(r->keeper, SIGTERM), 0);
    assert_int_equal(rig_wait_end(r), 0);
}

static void drain_has_an_end(void **state)
{
    struct rig *r = *state;
    r->plan.drain_ms = 1;
    rig_start_serving(r);
    assert_int_equal(kill(r->keeper, SIGINT), 0);
    rig_expect(r, IPC_DRAIN); // and does not obey
    assert_int_equal(rig_wait_end(r), 0);
    assert_true(rig_log_has(r, "has not finished in time"));
}

static void first_start_fails_with_the_loaders_errors(void **state)
{
    struct rig *r = *state;
    rig_order(r, "a.conf:1:2: first\na.conf:3:4: second");
    rig_start(r);
    assert_int_equal(rig_wait_end(r), 1);
    assert_true(rig_log_has(r, "a.conf:1:2: first\n"));
    assert_true(rig_log_has(r, "a.conf:3:4: second\n"));
}

static void first_start_fails_with_all_that_does_not_open(void **state)
{
    struct rig *r = *state;
    rig_listen(r, "nonsense");
    r->plan.log_count = 1;
    r->logs[0].name = STR("/nowhere/a.log");
    rig_start(r);
    assert_int_equal(rig_wait_end(r), 1);
    assert_true(rig_log_has(r, "cannot listen on nonsense"));
    assert_true(rig_log_has(r, "cannot open the log /nowhere/a.log: No such file"));
}

static void first_start_fails_when_the_server_refuses(void **state)
{
    struct rig *r = *state;
    rig_start(r);
    rig_accept(r);
    rig_send(r, &(struct ipc_msg){.type = IPC_REFUSED, .gen = r->gen, .text = STR("bad key")});
    assert_int_equal(rig_wait_end(r), 1);
    assert_true(rig_log_has(r, "bad key"));
}

static void first_start_fails_when_the_server_dies(void **state)
{
    struct rig *r = *state;
    rig_start(r);
    rig_accept(r);
    assert_int_equal(kill(r->server, SIGKILL), 0);
    assert_int_equal(rig_wait_end(r), 1);
    assert_true(rig_log_has(r, "killed by SIGKILL while it prepared"));
}

static void stop_while_loading(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    rig_order(r, "hang");
    assert_int_equal(kill(r->keeper, SIGHUP), 0);
    rig_notified(r, "RELOADING=1");
    rig_stop(r);
}

static void second_instance_is_refused(void **state)
{
    struct rig *r = *state;
    char expected[96];
    rig_start_serving(r);
    pid_t first = r->keeper;
    int first_pidfd = r->keeper_pidfd;
    rig_start(r);
    // Not rig_wait_end: the files and children of the first one stay.
    rig_wait_gone(r->keeper);
    snprintf(expected, sizeof expected, "\"t\" runs already (process %d)", first);
    assert_true(rig_log_has(r, expected));
    fd_close(&r->keeper_pidfd);
    r->keeper_pidfd = first_pidfd;
    assert_int_equal(waitpid(r->keeper, NULL, 0), r->keeper);
    r->keeper = first;
    rig_stop(r);
}

static void stale_files_are_taken_over(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    pid_t server = r->server;
    assert_int_equal(kill(r->keeper, SIGKILL), 0);
    assert_int_equal(waitpid(r->keeper, NULL, 0), r->keeper);
    rig_wait_gone(server); // the end of its channel ends the fake one
    assert_int_equal(waitpid(server, NULL, 0), server);
    fd_close(&r->keeper_pidfd);
    rig_start_serving(r);
    rig_stop(r);
}

static void end_of_the_terminal_stops(void **state)
{
    struct rig *r = *state;
    r->terminal_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(r->terminal_fd >= 0);
    assert_int_equal(grantpt(r->terminal_fd), 0);
    assert_int_equal(unlockpt(r->terminal_fd), 0);
    rig_start_serving(r);
    assert_int_equal(kill(r->keeper, SIGHUP), 0); // as ever
    rig_prepare(r);
    rig_commit(r);
    fd_close(&r->terminal_fd);
    rig_expect(r, IPC_DRAIN);
    fd_close(&r->server_fd);
    assert_int_equal(rig_wait_end(r), 0);
}

static void inherited_sockets_are_used(void **state)
{
    struct rig *r = *state;
    struct sock_addr addr;
    assert_true(sock_addr_parse(STR("127.0.0.1:0"), &addr));
    r->inherited_fd = sock_listen(&addr, 0);
    assert_true(r->inherited_fd >= 0);
    unsigned port = rig_port(r->inherited_fd);
    r->plan.listener_count = 0;
    char text[32];
    snprintf(text, sizeof text, "127.0.0.1:%u", port);
    rig_listen(r, text);
    rig_start_serving(r); // binding the port again would fail
    assert_int_equal(rig_port(r->listener_fds[0]), port);
    rig_stop(r);
    assert_true(rig_connects(port));
}

static void logs_are_opened_and_reopened(void **state)
{
    struct rig *r = *state;
    char name[128];
    struct stat st;
    snprintf(name, sizeof name, "%s", rig_path(r, "a.log"));
    r->plan.log_count = 1;
    r->logs[0].name = str_c(name);
    rig_start_serving(r);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(rename(name, rig_path(r, "a.log.1")), 0);
    assert_int_equal(kill(r->keeper, SIGUSR1), 0);
    rig_expect(r, IPC_LOG_REOPENED);
    assert_true(str_eq(r->msg.name, str_c(name)));
    assert_int_equal(fd_write_all(r->fds[0], STR("line\n")), 0);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_size, 5);
    rig_stop(r);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        RIG_TEST(starts_and_stops),
        RIG_TEST(server_crash_keeps_listeners),
        RIG_TEST(server_that_refuses_is_replaced),
        RIG_TEST(server_that_hangs_up_is_replaced),
        RIG_TEST(messages_out_of_place_are_refused),
        RIG_TEST(stop_by_message),
        RIG_TEST(stop_now_by_message),
        RIG_TEST(second_term_ends_now),
        RIG_TEST(drain_has_an_end),
        RIG_TEST(first_start_fails_with_the_loaders_errors),
        RIG_TEST(first_start_fails_with_all_that_does_not_open),
        RIG_TEST(first_start_fails_when_the_server_refuses),
        RIG_TEST(first_start_fails_when_the_server_dies),
        RIG_TEST(stop_while_loading),
        RIG_TEST(second_instance_is_refused),
        RIG_TEST(stale_files_are_taken_over),
        RIG_TEST(end_of_the_terminal_stops),
        RIG_TEST(inherited_sockets_are_used),
        RIG_TEST(logs_are_opened_and_reopened),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
