// SPDX-License-Identifier: Apache-2.0
// worker_test -- workers from START to their end, and all the ways that a start goes wrong.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
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

// A worker that was handed over.
struct ready {
    pid_t pid;
    int connection;
    int errors;
};

static struct ready take_ready(struct rig *r)
{
    rig_expect(r, IPC_WORKER_READY);
    assert_int_equal(r->fd_count, 2);
    struct ready ready = {r->msg.pid, r->fds[0], r->fds[1]};
    r->fd_count = 0;
    return ready;
}

static struct ready expect_ready(struct rig *r, uint32_t id)
{
    struct ready ready = take_ready(r);
    assert_int_equal(r->msg.id, id);
    return ready;
}

static void close_ready(struct ready *w)
{
    fd_close(&w->connection);
    fd_close(&w->errors);
}

static void expect_exit(struct rig *r, uint32_t id, int status)
{
    rig_expect(r, IPC_WORKER_EXIT);
    assert_int_equal(r->msg.id, id);
    assert_int_equal(r->msg.status, status);
}

static void send_kill(struct rig *r, uint32_t id, int signal)
{
    rig_send(r, &(struct ipc_msg){.type = IPC_KILL, .id = id, .status = signal});
}

static void lives(void **state)
{
    struct rig *r = *state;
    char text[16] = "";
    rig_app(r, "blog", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_start_worker(r, "blog", 2);
    rig_expect(r, IPC_APP_INFO);
    assert_true(str_eq(r->msg.name, STR("blog")));
    rig_expect_text(r, "\"fake\"");
    // They boot side by side: either may be ready first.
    struct ready one = take_ready(r);
    bool is_swapped = r->msg.id == 2;
    struct ready two = expect_ready(r, is_swapped ? 1 : 2);
    if (is_swapped) {
        struct ready swap = one;
        one = two;
        two = swap;
    }
    assert_int_not_equal(one.pid, two.pid);
    assert_true(rig_echoes(one.connection));
    assert_true(rig_echoes(two.connection));
    assert_int_equal(fd_set_nonblock(one.errors, false), 0);
    assert_int_equal(fd_read(one.errors, text, sizeof text), 7);
    assert_string_equal(text, "booted\n");

    close_ready(&one);
    expect_exit(r, 1, 0);
    send_kill(r, 2, SIGKILL);
    expect_exit(r, 2, SIGKILL);
    close_ready(&two);
    rig_stop(r);
}

static void spawner_output_is_forwarded(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_APP_LOG);
    assert_true(str_eq(r->msg.name, STR("blog")));
    rig_expect_text(r, "a first line\nand a second");
    struct ready one = expect_ready(r, 1);
    close_ready(&one);
    expect_exit(r, 1, 0);
    rig_stop(r);
}

static const struct failure {
    const char *mode;
    enum ipc_stage stage;
    int32_t status;
    const char *text;  // part of what is told
    uint64_t start_ms; // 0: usual
} FAILURES[] = {
    {"preload-crash", IPC_STAGE_PRELOAD, 3 << 8, "cannot load the code", 0},
    {"preload-hang", IPC_STAGE_PRELOAD, SIGKILL, "within 200 ms\nloading", 200},
    {"malformed", IPC_STAGE_PRELOAD, SIGKILL, "", 0},
    {"fork-fail", IPC_STAGE_FORK, EAGAIN, "", 0},
    {"fork-dies", IPC_STAGE_FORK, 5 << 8, "", 0},
    {"no-fork", IPC_STAGE_FORK, ETIMEDOUT, "the spawner has not reported within 200 ms", 200},
    {"boot-crash", IPC_STAGE_BOOT, 7 << 8, "no database", 0},
    {"boot-hang", IPC_STAGE_BOOT, SIGKILL, "within 200 ms\nconnecting", 200},
    {"boot-fail", IPC_STAGE_BOOT, ENOENT, "hook failed", 0},
    {"wrong-pid", IPC_STAGE_IDENTITY, 0, "said that it is ready as worker", 0},
    {"lie", IPC_STAGE_IDENTITY, 0, "is not a child of the keeper", 0},
};

static void fails(struct rig *r, const struct failure *f)
{
    r->plan.app_count = 0;
    struct plan_app *app = rig_app(r, "blog", f->mode);
    if (f->start_ms)
        app->start_ms = f->start_ms;
    rig_start_serving(r);
    // A second one, since the first leaves the app in some state.
    for (uint32_t id = 1; id <= 2; id++) {
        rig_start_worker(r, "blog", id);
        rig_expect(r, IPC_WORKER_FAILED);
        assert_int_equal(r->msg.id, id);
        assert_true(str_eq(r->msg.name, STR("blog")));
        assert_int_equal(r->msg.stage, f->stage);
        assert_int_equal(r->msg.status, f->status);
        rig_expect_text(r, f->text);
    }
    rig_stop(r);
}

static void starts_fail_with_reasons(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(FAILURES); i++) {
        print_message("  %s\n", FAILURES[i].mode);
        fails(*state, &FAILURES[i]);
    }
    // Only root can become somebody else, and only root's keeper has somebody else's workers.
    // It is found out when the spawner has named the process or when that is ready.
    static const struct failure WRONG_USER = {"wrong-user", IPC_STAGE_IDENTITY, 0,
                                              "does not run as uid", 0};
    if (geteuid() == 0)
        fails(*state, &WRONG_USER);
}

static void missing_program_is_told(void **state)
{
    static const char *const ARGV[] = {"/nowhere/program", NULL};
    struct rig *r = *state;
    rig_app(r, "blog", "good")->argv = ARGV;
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_WORKER_FAILED);
    assert_int_equal(r->msg.stage, IPC_STAGE_EXEC);
    assert_int_equal(r->msg.status, ENOENT);
    rig_expect_text(r, "cannot start /nowhere/program: No such file");
    rig_stop(r);
}

// A worker may stand for another process, which is what is shown and goes with it.
static void another_process_may_serve(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "serves");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1);
    assert_int_equal(getpgid(one.pid), one.pid); // of its own: not the worker
    send_kill(r, 1, SIGKILL);
    expect_exit(r, 1, SIGKILL);
    rig_wait_gone(one.pid);
    close_ready(&one);
    rig_start_worker(r, "blog", 2);
    struct ready two = expect_ready(r, 2);
    close_ready(&two); // the worker ends by itself
    expect_exit(r, 2, 0);
    rig_wait_gone(two.pid);
    rig_stop(r);
}

// But nobody is named, and killed, who does not run as the app's user.
static void nobody_else_is_taken_for_the_server(void **state)
{
    struct rig *r = *state;
    if (geteuid() != 0)
        return; // only root's processes can be somebody else's
    rig_app(r, "blog", "serves-as-other");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_WORKER_FAILED);
    assert_int_equal(r->msg.stage, IPC_STAGE_IDENTITY);
    rig_expect_text(r, "which is to serve, does not run as uid");
    struct str rest = str_skip(r->msg.text, strlen("process "));
    uint64_t pid;
    assert_true(str_to_u64(str_cut(&rest, ','), &pid));
    // When another worker has failed, the first is dead: its server is not.
    rig_start_worker(r, "blog", 2);
    rig_expect(r, IPC_WORKER_FAILED);
    assert_int_equal(kill((pid_t)pid, 0), 0);
    rig_stop(r);
}

static void ready_may_come_first(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "late");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1);
    assert_true(rig_echoes(one.connection));
    close_ready(&one);
    expect_exit(r, 1, 0);
    rig_stop(r);
}

static void term_becomes_kill(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "stubborn")->stop_ms = 50;
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1);
    send_kill(r, 1, SIGTERM);
    expect_exit(r, 1, SIGKILL);
    close_ready(&one);
    rig_stop(r);
}

static void spawner_of_is_gone(struct rig *r, pid_t spawner)
{
    assert_int_equal(kill(spawner, SIGKILL), 0);
    rig_wait_gone(spawner);
    // Once the keeper answers it has seen the end: it was told before.
    rig_start_worker(r, "nobody", 90);
    rig_expect(r, IPC_WORKER_FAILED);
}

static void workers_survive_their_spawner(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_APP_LOG); // the spawner's first lines
    pid_t spawner = r->msg.pid;
    struct ready one = expect_ready(r, 1);
    spawner_of_is_gone(r, spawner);
    assert_true(rig_echoes(one.connection));
    rig_start_worker(r, "blog", 2);
    struct ready two = expect_ready(r, 2);
    assert_true(rig_echoes(two.connection));
    close_ready(&one);
    expect_exit(r, 1, 0);
    close_ready(&two);
    expect_exit(r, 2, 0);
    rig_stop(r);
}

static void idle_spawner_leaves(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_APP_LOG);
    pid_t spawner = r->msg.pid;
    struct ready one = expect_ready(r, 1);
    close_ready(&one);
    expect_exit(r, 1, 0);
    rig_send(r, &(struct ipc_msg){.type = IPC_APP_IDLE, .name = STR("blog")});
    rig_wait_gone(spawner);
    rig_start_worker(r, "blog", 2);
    struct ready two = expect_ready(r, 2);
    close_ready(&two);
    expect_exit(r, 2, 0);
    rig_stop(r);
}

static void old_spawner_stays_until_the_new_one_is_good(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_APP_LOG);
    pid_t old = r->msg.pid;
    struct ready one = expect_ready(r, 1);
    for (int round = 0; round < 2; round++) {
        bool is_good = round == 1;
        rig_send(r, &(struct ipc_msg){.type = IPC_APP_RENEW, .name = STR("blog")});
        rig_start_worker(r, "blog", 2);
        rig_expect(r, IPC_APP_LOG);
        pid_t renewed = r->msg.pid;
        assert_int_not_equal(renewed, old);
        struct ready two = expect_ready(r, 2);
        assert_int_equal(kill(old, 0), 0);
        rig_send(
            r, &(struct ipc_msg){.type = IPC_APP_SETTLE, .name = STR("blog"), .status = !is_good});
        rig_wait_gone(is_good ? old : renewed);
        assert_int_equal(kill(is_good ? renewed : old, 0), 0);
        close_ready(&two);
        expect_exit(r, 2, 0);
        // The one that stays gives the next one.
        rig_start_worker(r, "blog", 3);
        struct ready three = expect_ready(r, 3);
        close_ready(&three);
        expect_exit(r, 3, 0);
    }
    close_ready(&one);
    expect_exit(r, 1, 0);
    rig_stop(r);
}

static void server_death_ends_its_workers(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_APP_LOG);
    pid_t spawner = r->msg.pid;
    struct ready one = expect_ready(r, 1); // the connection stays open here
    assert_int_equal(kill(r->server, SIGKILL), 0);
    rig_accept(r);
    rig_commit(r);
    rig_wait_gone(one.pid);
    close_ready(&one);
    rig_expect(r, IPC_APP_INFO); // told again
    // The same id is used again, and the same spawner.
    rig_start_worker(r, "blog", 1);
    one = expect_ready(r, 1);
    assert_true(rig_echoes(one.connection));
    assert_int_equal(kill(spawner, 0), 0);
    close_ready(&one);
    expect_exit(r, 1, 0);
    rig_stop(r);
}

static void reload(struct rig *r)
{
    rig_write_plan(r);
    rig_send(r, &(struct ipc_msg){.type = IPC_RELOAD, .id = 7});
    rig_prepare(r);
    rig_commit(r);
    rig_expect(r, IPC_ANSWER);
}

static void reload_keeps_apps_that_are_the_same(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "good");
    rig_app(r, "shop", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_APP_LOG);
    pid_t blog = r->msg.pid;
    struct ready one = expect_ready(r, 1);
    rig_start_worker(r, "shop", 2);
    rig_expect(r, IPC_APP_LOG);
    pid_t shop = r->msg.pid;
    struct ready two = expect_ready(r, 2);
    r->apps[1].digest = 2;
    reload(r);
    rig_wait_gone(shop); // the spawner
    assert_int_equal(kill(blog, 0), 0);
    assert_true(rig_echoes(one.connection));
    assert_true(rig_echoes(two.connection)); // of the old settings: the server ends it
    rig_start_worker(r, "shop", 3);
    struct ready three = expect_ready(r, 3);
    close_ready(&two);
    expect_exit(r, 2, 0);
    close_ready(&one);
    expect_exit(r, 1, 0);
    close_ready(&three);
    expect_exit(r, 3, 0);
    rig_stop(r);
}

// The user of an app may change with no setting of the app: what it runs as must not be mixed.
static void another_user_is_another_app(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "good");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    rig_expect(r, IPC_APP_LOG);
    pid_t spawner = r->msg.pid;
    struct ready one = expect_ready(r, 1);
    r->apps[0].has_user = true;
    r->apps[0].user = (struct proc_user){.uid = geteuid(), .gid = getegid()};
    reload(r);
    rig_wait_gone(spawner);
    rig_start_worker(r, "blog", 2);
    struct ready two = expect_ready(r, 2);
    close_ready(&one);
    expect_exit(r, 1, 0);
    close_ready(&two);
    expect_exit(r, 2, 0);
    rig_stop(r);
}

static void stragglers_of_removed_apps_are_ended(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "stubborn")->stop_ms = 50;
    r->plan.drain_ms = 50;
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1); // and is not let go
    r->plan.app_count = 0;
    reload(r);
    rig_start_worker(r, "blog", 2);
    rig_expect(r, IPC_WORKER_FAILED);
    rig_expect_text(r, "no such app");
    expect_exit(r, 1, SIGKILL);
    close_ready(&one);
    rig_stop(r);
}

static void stop_leaves_no_stray(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "strays")->keep_children = true;
    r->apps[0].stop_ms = 50; // they ignore SIGTERM
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1);
    close_ready(&one);
    expect_exit(r, 1, 0);
    rig_stop(r); // expects that nothing is left
}

// A child of `pid` that leads a session of its own.
static pid_t find_stray(pid_t pid)
{
    int pidfds[8];
    size_t count = family_descendants(pid, pidfds, ARRAY_LEN(pidfds));
    pid_t found = 0;
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        char path[64];
        char line[128];
        pid_t child;
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfds[i]);
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        while (fgets(line, sizeof line, file))
            if (sscanf(line, "Pid: %d", &child) == 1 && family_session(child) == child)
                found = child;
        fclose(file);
        fd_close(&pidfds[i]);
    }
    assert_true(found > 0);
    return found;
}

static void killed_workers_take_their_family_along(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "strays")->keep_children = true;
    r->apps[0].stop_ms = 50;
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1);
    pid_t stray = find_stray(one.pid);
    send_kill(r, 1, SIGKILL);
    expect_exit(r, 1, SIGKILL);
    rig_wait_gone(stray);
    // Its group held a process; when the keeper tells the exit it is killed.
    while (kill(-one.pid, 0) == 0)
        ;
    assert_int_equal(errno, ESRCH);
    close_ready(&one);
    rig_stop(r);
}

static void normal_exits_end_children_when_told_so(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "strays")->keep_children = false;
    r->apps[0].stop_ms = 50;
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1);
    assert_int_equal(kill(-one.pid, 0), 0);
    close_ready(&one);
    expect_exit(r, 1, 0);
    while (kill(-one.pid, 0) == 0)
        ;
    assert_int_equal(errno, ESRCH);
    rig_stop(r);
}

static void second_term_kills_stubborn_workers(void **state)
{
    struct rig *r = *state;
    rig_app(r, "blog", "stubborn");
    rig_start_serving(r);
    rig_start_worker(r, "blog", 1);
    struct ready one = expect_ready(r, 1);
    assert_int_equal(kill(r->keeper, SIGTERM), 0);
    rig_expect(r, IPC_DRAIN);
    assert_int_equal(kill(r->keeper, SIGTERM), 0);
    assert_int_equal(rig_wait_end(r), 0);
    close_ready(&one);
}

// A spawner names processes that are not its own: they stay what they are.
static void strangers_are_not_taken_for_workers(void **state)
{
    struct rig *r = *state;
    if (geteuid() != 0)
        return; // only root's keeper has processes of several users
    rig_app(r, "shop", "foreign-stray")->keep_children = true;
    rig_app(r, "evil", "steal")->stop_ms = 50;
    r->apps[0].stop_ms = 50;
    rig_start_serving(r);
    rig_start_worker(r, "shop", 1);
    struct ready one = expect_ready(r, 1);
    close_ready(&one);
    expect_exit(r, 1, 0); // its child of another user is the keeper's now
    rig_start_worker(r, "evil", 2);
    rig_expect(r, IPC_WORKER_FAILED);
    assert_int_equal(r->msg.id, 2);
    assert_int_equal(r->msg.stage, IPC_STAGE_IDENTITY);
    rig_expect_text(r, "does not run as uid 0");
    pid_t stray = 0;
    assert_int_equal(sscanf(r->msg.text.ptr, "process %d ", &stray), 1);
    assert_true(family_runs_as(stray, 65534)); // and was not killed
    assert_true(rig_log_has(r, "keeper.refused [app evil]"));
    rig_stop(r);
    assert_true(rig_log_has(r, "app.protocol [app evil]"));
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        RIG_TEST(lives),
        RIG_TEST(spawner_output_is_forwarded),
        RIG_TEST(starts_fail_with_reasons),
        RIG_TEST(strangers_are_not_taken_for_workers),
        RIG_TEST(missing_program_is_told),
        RIG_TEST(another_process_may_serve),
        RIG_TEST(nobody_else_is_taken_for_the_server),
        RIG_TEST(ready_may_come_first),
        RIG_TEST(term_becomes_kill),
        RIG_TEST(workers_survive_their_spawner),
        RIG_TEST(idle_spawner_leaves),
        RIG_TEST(old_spawner_stays_until_the_new_one_is_good),
        RIG_TEST(server_death_ends_its_workers),
        RIG_TEST(reload_keeps_apps_that_are_the_same),
        RIG_TEST(another_user_is_another_app),
        RIG_TEST(stragglers_of_removed_apps_are_ended),
        RIG_TEST(stop_leaves_no_stray),
        RIG_TEST(killed_workers_take_their_family_along),
        RIG_TEST(normal_exits_end_children_when_told_so),
        RIG_TEST(second_term_kills_stubborn_workers),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
