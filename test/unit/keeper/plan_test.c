// SPDX-License-Identifier: Apache-2.0
// plan_test -- what is written is read again, and nothing else is taken.
#include "keeper/plan.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

#include "wire/scoreboard.h"

static const char *const ARGV[] = {"/usr/bin/php", "-q", "", NULL};
static const char *const ENVP[] = {"A=1", "PATH=/bin", NULL};
static const char *const NOTHING[] = {NULL};
static const char *const RELATIVE[] = {"php", NULL};

static struct plan_listener listeners[] = {
    {STR_INIT("127.0.0.1:80"), 0, true},
    {STR_INIT("unix:/run/a.sock"), 0600, false},
};
static struct plan_log logs[] = {{STR_INIT("/var/log/a")}, {STR_INIT("stderr")}};

// A fresh plan with everything in it.
static struct plan full(struct plan_app apps[static 2])
{
    apps[0] = (struct plan_app){
        .name = STR("blog"),
        .digest = 0x1122334455667788,
        .argv = ARGV,
        .envp = ENVP,
        .dir = "/srv/blog",
        .has_user = true,
        .user = {.uid = 33, .gid = 34, .groups = {34, 4}, .group_count = 2},
        .workers_max = SCOREBOARD_RECORDS_MAX,
        .start_ms = 1000,
        .stop_ms = UINT64_MAX,
        .keep_children = true,
    };
    apps[1] =
        (struct plan_app){.name = STR("shop"), .argv = ARGV, .envp = NOTHING, .workers_max = 1};
    return (struct plan){
        .instance = STR("test-1"),
        .has_user = true,
        .user = {.uid = 1, .gid = 2},
        .threads = 4,
        .drain_ms = 30000,
        .listeners = listeners,
        .listener_count = ARRAY_LEN(listeners),
        .logs = logs,
        .log_count = ARRAY_LEN(logs),
        .error_log = STR("/var/log/a"),
        .log_level = LOG_WARN,
        .log_format = LOG_JOURNALD,
        .apps = apps,
        .app_count = 2,
    };
}

static bool reads(const struct plan *plan)
{
    struct arena a = {0};
    struct buf bytes = {0};
    struct plan out;
    plan_encode(plan, &bytes);
    bool good = plan_decode(buf_view(&bytes), &a, &out);
    buf_done(&bytes);
    arena_done(&a);
    return good;
}

static void assert_app(const struct plan_app *got, const struct plan_app *want)
{
    assert_true(str_eq(got->name, want->name));
    assert_int_equal(got->digest, want->digest);
    for (size_t i = 0; want->argv[i]; i++)
        assert_string_equal(got->argv[i], want->argv[i]);
    for (size_t i = 0; want->envp[i]; i++)
        assert_string_equal(got->envp[i], want->envp[i]);
    assert_int_equal(got->has_user, want->has_user);
    assert_memory_equal(&got->user, &want->user, sizeof got->user);
    assert_int_equal(got->workers_max, want->workers_max);
    assert_int_equal(got->start_ms, want->start_ms);
    assert_int_equal(got->stop_ms, want->stop_ms);
    assert_int_equal(got->keep_children, want->keep_children);
}

static void round_trip(void **state)
{
    (void)state;
    struct plan_app apps[2];
    struct plan plan = full(apps);
    struct arena a = {0};
    struct buf bytes = {0};
    struct plan out;
    plan_encode(&plan, &bytes);
    assert_true(plan_decode(buf_view(&bytes), &a, &out));
    buf_done(&bytes); // nothing borrows from it
    assert_true(str_eq(out.instance, plan.instance));
    assert_memory_equal(&out.user, &plan.user, sizeof out.user);
    assert_int_equal(out.threads, 4);
    assert_int_equal(out.drain_ms, 30000);
    assert_int_equal(out.listener_count, 2);
    assert_true(str_eq(out.listeners[1].address, listeners[1].address));
    assert_int_equal(out.listeners[1].mode, 0600);
    assert_true(out.listeners[0].is_tls && !out.listeners[1].is_tls);
    assert_int_equal(out.log_count, 2);
    assert_true(str_eq(out.logs[0].name, logs[0].name));
    assert_true(str_eq(out.error_log, plan.error_log));
    assert_int_equal(out.log_level, LOG_WARN);
    assert_int_equal(out.log_format, LOG_JOURNALD);
    assert_int_equal(out.app_count, 2);
    assert_app(&out.apps[0], &apps[0]);
    assert_app(&out.apps[1], &apps[1]);
    assert_string_equal(out.apps[0].dir, "/srv/blog");
    assert_null(out.apps[1].dir);
    assert_ptr_equal(plan_app_find(&out, STR("shop")), &out.apps[1]);
    assert_null(plan_app_find(&out, STR("sho")));
    arena_done(&a);
}

static void truncations_are_refused(void **state)
{
    (void)state;
    struct plan_app apps[2];
    struct plan plan = full(apps);
    struct buf bytes = {0};
    plan_encode(&plan, &bytes);
    struct str whole = buf_view(&bytes);
    for (size_t len = 0; len < whole.len; len++) {
        struct arena a = {0};
        struct plan out;
        assert_false(plan_decode(str_slice(whole, 0, len), &a, &out));
        arena_done(&a);
    }
    assert_true(buf_put(&bytes, STR("\0")));
    struct arena a = {0};
    struct plan out;
    assert_false(plan_decode(buf_view(&bytes), &a, &out));
    arena_done(&a);
    buf_done(&bytes);
}

// Counts that lie must not be believed before the bytes are there.
static void wild_bytes_are_survived(void **state)
{
    (void)state;
    struct plan_app apps[2];
    struct plan plan = full(apps);
    struct buf bytes = {0};
    plan_encode(&plan, &bytes);
    struct str whole = buf_view(&bytes);
    char copy[1024];
    assert_true(whole.len <= sizeof copy);
    for (size_t at = 0; at < whole.len; at++) {
        struct arena a = {0};
        struct plan out;
        memcpy(copy, whole.ptr, whole.len);
        copy[at] = (char)0xff;
        if (plan_decode(str_n(copy, whole.len), &a, &out))
            assert_int_equal(out.app_count, 2);
        arena_done(&a);
    }
    buf_done(&bytes);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct plan_app apps[2];
    struct plan plan = full(apps);
    assert_true(reads(&plan));
    plan.error_log = STR("stderr"); // always there
    plan.log_count = 0;
    assert_true(reads(&plan));
    plan.error_log = STR("/var/log/a"); // is none of the logs
    assert_false(reads(&plan));
    plan = full(apps);
    plan.log_level = (enum log_level)(LOG_DEBUG + 1);
    assert_false(reads(&plan));
    plan = full(apps);
    plan.log_format = (enum log_format)(LOG_JOURNALD + 1);
    assert_false(reads(&plan));
    plan = full(apps);
    static const struct str NAMES[] = {STR_INIT(""), STR_INIT(".hidden"), STR_INIT("a/b"),
                                       STR_INIT("a b")};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        plan.instance = NAMES[i];
        assert_false(reads(&plan));
    }
    plan = full(apps);
    apps[1].name = apps[0].name;
    assert_false(reads(&plan));
    plan = full(apps);
    apps[1].name = STR("");
    assert_false(reads(&plan));
    plan = full(apps);
    apps[1].argv = RELATIVE;
    assert_false(reads(&plan));
    plan = full(apps);
    apps[1].argv = NOTHING;
    assert_false(reads(&plan));
    plan = full(apps);
    apps[1].workers_max = 0;
    assert_false(reads(&plan));
    apps[1].workers_max = SCOREBOARD_RECORDS_MAX + 1;
    assert_false(reads(&plan));
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(truncations_are_refused),
        cmocka_unit_test(wild_bytes_are_survived),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
