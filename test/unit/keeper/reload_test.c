// SPDX-License-Identifier: Apache-2.0
// reload_test -- a reload changes all or nothing, and says which.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

#include "os/family.h"
#include "rig.h"

// Takes the next message without leaving out any.
static void expect_answer(struct rig *r, uint32_t id, int32_t status)
{
    rig_expect(r, IPC_ANSWER);
    assert_int_equal(r->msg.id, id);
    assert_int_equal(r->msg.status, status);
}

static void ask(struct rig *r, uint32_t id)
{
    rig_send(r, &(struct ipc_msg){.type = IPC_RELOAD, .id = id});
}

static void goes_over_to_the_new(void **state)
{
    struct rig *r = *state;
    rig_listen(r, "127.0.0.2:0");
    rig_start_serving(r);
    unsigned kept = rig_port(r->listener_fds[0]);
    char path[128];
    struct stat st;
    snprintf(path, sizeof path, "unix:%s", rig_path(r, "b.sock"));
    r->plan.listener_count = 1;
    rig_listen(r, path);
    rig_write_plan(r);
    ask(r, 1);
    rig_prepare(r);
    assert_int_equal(rig_port(r->listener_fds[0]), kept);
    assert_int_equal(stat(path + 5, &st), 0);
    rig_commit(r);
    expect_answer(r, 1, 0);

    r->plan.listener_count = 1;
    rig_write_plan(r);
    assert_int_equal(kill(r->keeper, SIGHUP), 0);
    rig_prepare(r);
    rig_commit(r);
    rig_notified(r, "RELOADING=1\nMONOTONIC_USEC=");
    rig_notified(r, "READY=1");
    ask(r, 2);
    rig_prepare(r); // in order: the last one is over
    assert_int_not_equal(stat(path + 5, &st), 0);
    assert_int_equal(rig_port(r->listener_fds[0]), kept);
    rig_commit(r);
    expect_answer(r, 2, 0);
    rig_stop(r);
}

// Address already taken by somebody else, for the row below.
static int occupied_fd = FD_NONE;

static void occupy(struct rig *r)
{
    struct sock_addr addr;
    char text[32];
    assert_true(sock_addr_parse(STR("127.0.0.1:0"), &addr));
    occupied_fd = sock_listen(&addr, 0);
    snprintf(text, sizeof text, "127.0.0.1:%u", rig_port(occupied_fd));
    rig_listen(r, text);
}

static void add_bad_log(struct rig *r)
{
    r->plan.log_count = 1;
    r->logs[0].name = STR("/nowhere/a.log");
}

static void add_nothing(struct rig *r)
{
    (void)r;
}

static const struct failure {
    const char *order; // of the loader
    void (*change)(struct rig *r);
    const char *text; // part of the answer
} FAILURES[] = {
    {"a.conf:1:1: wrong", add_nothing, "a.conf:1:1: wrong"},
    {"crash", add_nothing, "the loader killed by SIGABRT"},
    {NULL, occupy, "address is in use"},
    {NULL, add_bad_log, "cannot open the log /nowhere/a.log"},
};

// A socket opened for a generation that fails must go again.
static bool has_socket_file(const struct rig *r)
{
    struct stat st;
    return stat(rig_path(r, "b.sock"), &st) == 0;
}

static void failures_before_the_server_change_nothing(void **state)
{
    struct rig *r = *state;
    char path[128];
    snprintf(path, sizeof path, "unix:%s", rig_path(r, "b.sock"));
    rig_start_serving(r);
    unsigned port = rig_port(r->listener_fds[0]);
    for (uint32_t i = 0; i < ARRAY_LEN(FAILURES); i++) {
        rig_listen(r, path);
        FAILURES[i].change(r);
        rig_order(r, FAILURES[i].order);
        rig_write_plan(r);
        ask(r, i + 1);
        expect_answer(r, i + 1, 1);
        rig_expect_text(r, FAILURES[i].text);
        assert_true(rig_log_has(r, FAILURES[i].text));
        assert_true(rig_connects(port));
        assert_false(has_socket_file(r));
        r->plan.listener_count = 1;
        r->plan.log_count = 0;
        fd_close(&occupied_fd);
    }
    rig_order(r, NULL);
    rig_write_plan(r);
    ask(r, 99);
    rig_prepare(r);
    rig_commit(r);
    expect_answer(r, 99, 0);
    rig_stop(r);
}

// The server may still hold what the last commit gave back.
// The next reload may want an address that the last one gave back: it begins when the server says
// that it has closed it.
static void addresses_given_back_are_free_for_the_next(void **state)
{
    struct rig *r = *state;
    occupy(r); // now its port is known
    fd_close(&occupied_fd);
    rig_start_serving(r);
    int held = fd_dup(r->listener_fds[1]);
    unsigned port = rig_port(held);
    r->plan.listener_count = 1;
    rig_write_plan(r);
    ask(r, 1);
    rig_prepare(r);
    rig_send(r, &(struct ipc_msg){.type = IPC_PREPARED, .gen = r->gen});
    rig_expect(r, IPC_COMMIT);
    r->plan.listener_count = 2;
    rig_write_plan(r);
    ask(r, 2);
    // Answered in order: the keeper has got the wish above and has not begun.
    rig_start_worker(r, "nobody", 1);
    rig_expect(r, IPC_WORKER_FAILED);
    fd_close(&held);
    rig_send(r, &(struct ipc_msg){.type = IPC_COMMITTED, .gen = r->gen});
    expect_answer(r, 1, 0);
    rig_prepare(r);
    assert_int_equal(rig_port(r->listener_fds[1]), port);
    rig_commit(r);
    expect_answer(r, 2, 0);
    rig_stop(r);
}

// A server that dies over a commit does not undo it: the next one starts with what is in force.
static void death_over_a_commit_does_not_undo_it(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    assert_int_equal(kill(r->keeper, SIGHUP), 0);
    rig_prepare(r);
    uint32_t fresh = r->gen;
    rig_send(r, &(struct ipc_msg){.type = IPC_PREPARED, .gen = r->gen});
    rig_expect(r, IPC_COMMIT);
    assert_int_equal(kill(r->server, SIGKILL), 0);
    rig_accept(r);
    assert_int_equal(r->gen, fresh);
    rig_commit(r);
    assert_int_equal(kill(r->keeper, SIGHUP), 0);
    rig_prepare(r);
    rig_commit(r);
    rig_stop(r);
}

static void refusal_changes_nothing(void **state)
{
    struct rig *r = *state;
    char path[128];
    rig_start_serving(r);
    snprintf(path, sizeof path, "unix:%s", rig_path(r, "b.sock"));
    rig_listen(r, path);
    rig_write_plan(r);
    ask(r, 1);
    rig_prepare(r);
    assert_true(has_socket_file(r));
    rig_send(r, &(struct ipc_msg){.type = IPC_REFUSED, .gen = r->gen, .text = STR("bad key")});
    rig_expect(r, IPC_ABANDON);
    assert_int_equal(r->msg.gen, r->gen);
    expect_answer(r, 1, 1);
    rig_expect_text(r, "bad key");
    assert_false(has_socket_file(r));
    r->plan.listener_count = 1;
    rig_stop(r);
}

static void death_of_the_server_changes_nothing(void **state)
{
    struct rig *r = *state;
    char path[128];
    rig_start_serving(r);
    uint32_t old = r->gen;
    snprintf(path, sizeof path, "unix:%s", rig_path(r, "b.sock"));
    rig_listen(r, path);
    rig_write_plan(r);
    assert_int_equal(kill(r->keeper, SIGHUP), 0);
    rig_prepare(r);
    assert_int_not_equal(r->gen, old);
    assert_int_equal(kill(r->server, SIGKILL), 0);
    r->plan.listener_count = 1;
    rig_accept(r);
    assert_int_equal(r->gen, old);
    rig_commit(r);
    assert_false(has_socket_file(r));
    assert_true(rig_log_has(r, "nothing was changed"));
    rig_stop(r);
}

// A server that never gets up with the old configuration must not keep the new one out.
static void new_configuration_rescues_a_server_that_does_not_start(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    uint32_t old = r->gen;
    assert_int_equal(kill(r->server, SIGKILL), 0);
    rig_accept(r); // and never says PREPARED
    assert_int_equal(r->gen, old);
    assert_int_equal(kill(r->keeper, SIGHUP), 0);
    rig_accept(r);
    assert_int_not_equal(r->gen, old);
    rig_commit(r);
    rig_notified(r, "RELOADING=1");
    rig_notified(r, "READY=1");
    rig_stop(r);
}

static void requests_during_a_reload_make_one_more(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    ask(r, 1);
    rig_prepare(r);
    uint32_t first = r->gen;
    ask(r, 2);
    ask(r, 3);
    // Answered in order, so that both have arrived before the commit.
    rig_start_worker(r, "nobody", 1);
    rig_expect(r, IPC_WORKER_FAILED);
    rig_commit(r);
    expect_answer(r, 1, 0);
    rig_prepare(r);
    assert_int_equal(r->gen, first + 1);
    rig_commit(r);
    expect_answer(r, 2, 0);
    expect_answer(r, 3, 0);
    rig_stop(r);
}

// Who a server is changes at no reload, and not at a crash after it either.
static void servers_stay_who_they_are(void **state)
{
    struct rig *r = *state;
    r->plan.threads = 3;
    rig_start_serving(r);
    assert_int_equal(r->threads, 3);
    r->plan.threads = 5;
    r->plan.has_user = true;
    r->plan.user = (struct proc_user){.uid = 65534, .gid = 65534};
    rig_write_plan(r);
    ask(r, 1);
    rig_prepare(r);
    rig_commit(r);
    expect_answer(r, 1, 0);
    rig_expect_text(r, "user and threads: a change takes effect at a restart only");
    assert_true(rig_log_has(r, "config.needs_restart user and threads"));
    assert_int_equal(kill(r->server, SIGKILL), 0);
    rig_accept(r);
    assert_int_equal(r->threads, 3);
    assert_true(family_runs_as(r->server, geteuid()));
    rig_commit(r);
    r->plan.threads = 3;
    r->plan.has_user = false;
    rig_write_plan(r);
    ask(r, 2);
    rig_prepare(r);
    rig_commit(r);
    expect_answer(r, 2, 0);
    assert_int_equal(r->msg.text.len, 0);
    rig_stop(r);
}

static void stopping_refuses_reloads(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    assert_int_equal(kill(r->keeper, SIGTERM), 0);
    rig_expect(r, IPC_DRAIN);
    ask(r, 1);
    expect_answer(r, 1, 1);
    rig_expect_text(r, "stopping");
    fd_close(&r->server_fd);
    assert_int_equal(rig_wait_end(r), 0);
}

static void stopping_ends_a_reload(void **state)
{
    struct rig *r = *state;
    rig_start_serving(r);
    ask(r, 1);
    rig_prepare(r);
    ask(r, 2);
    // Answered in order, so that it has arrived before the signal.
    rig_start_worker(r, "nobody", 1);
    rig_expect(r, IPC_WORKER_FAILED);
    assert_int_equal(kill(r->keeper, SIGTERM), 0);
    rig_expect(r, IPC_ABANDON);
    assert_int_equal(r->msg.gen, r->gen);
    expect_answer(r, 1, 1);
    expect_answer(r, 2, 1);
    rig_expect(r, IPC_DRAIN);
    rig_send(r, &(struct ipc_msg){.type = IPC_PREPARED, .gen = r->gen}); // it was on its way
    fd_close(&r->server_fd);
    assert_int_equal(rig_wait_end(r), 0);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        RIG_TEST(goes_over_to_the_new),
        RIG_TEST(failures_before_the_server_change_nothing),
        RIG_TEST(addresses_given_back_are_free_for_the_next),
        RIG_TEST(death_over_a_commit_does_not_undo_it),
        RIG_TEST(refusal_changes_nothing),
        RIG_TEST(death_of_the_server_changes_nothing),
        RIG_TEST(new_configuration_rescues_a_server_that_does_not_start),
        RIG_TEST(requests_during_a_reload_make_one_more),
        RIG_TEST(servers_stay_who_they_are),
        RIG_TEST(stopping_refuses_reloads),
        RIG_TEST(stopping_ends_a_reload),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
