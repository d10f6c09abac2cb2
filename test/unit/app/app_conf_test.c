// SPDX-License-Identifier: Apache-2.0
// app_conf_test -- the directive `app`: names, limits, mistakes, the keeper's table and which
// requests are an app's.
#include "app/app_conf.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "app/php.h"
#include "core/server_conf.h"
#include "core/site_conf.h"

// A configuration, resolved.
struct config {
    struct snapshot *snapshot; // NULL: it has errors
    struct snapshot *memory;
    struct err err;
    struct app_conf **apps;
    size_t count;
};

static void load(struct config *c, const char *text)
{
    memset(c, 0, sizeof *c);
    c->memory = snapshot_new(1);
    struct tree_source source = {.arena = &c->memory->arena, .dir = "/etc"};
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    bool ok = tree_parse(&source, "test.conf", str_c(text), &tail, &c->err);
    c->snapshot = ok ? snapshot_build(c->memory, first, &c->err) : NULL;
    if (c->snapshot && !app_conf_list(c->snapshot, &c->memory->arena, &c->apps, &c->count, &c->err))
        c->snapshot = NULL;
}

static void unload(struct config *c)
{
    snapshot_unref(c->memory);
    err_done(&c->err);
}

static void names(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        const char *names; // "name@mount ..."
    } CASES[] = {
        {"site a { }", ""},
        {"site a b { app php; }", "a@ "},
        {"site a { app php blog { workers 1..2; } }", "blog@ "},
        {"app php; site a { } site b { }", "php@ "},
        {"app php; site a { app php; } site b { app off; }", "php@ a@ "},
        {"site a { path /x/ { app php; } path /y { app lsapi { command /bin/true; } } }",
         "a/x@/x a/y@/y "},
        {"site a { app php; path /x/ { } path /up/ { app off; } }", "a@ "},
        {"site a { path / { app php; } }", "a@ "},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct config c;
        char seen[256] = "";
        load(&c, CASES[i].text);
        assert_string_equal(err_text(&c.err), "");
        for (size_t j = 0; j < c.count; j++) {
            size_t len = strlen(seen);
            (void)snprintf(seen + len, sizeof seen - len, "%.*s@%.*s ", STR_ARG(c.apps[j]->name),
                           STR_ARG(c.apps[j]->mount));
        }
        assert_string_equal(seen, CASES[i].names);
        unload(&c);
    }
}

static void mistakes(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        const char *error; // a part of it
    } CASES[] = {
        {"site a { app perl; }", "test.conf:1:14: \"app\" is perl, php, lsapi or off was expected"},
        {"site a { app; }", "TYPE [NAME] was expected"},
        {"site a { app lsapi; }", "test.conf:1:10: app lsapi has no command"},
        {"site a { app lsapi { command /x; ini a b; } }", "ini and admin_ini are for app php only"},
        {"site a { app php { ini a=b c; } }", "test.conf:1:24: \"a=b\" is no name of a setting"},
        {"site a { app php { admin_ini a \"b\\nc\"; } }", "test.conf:1:32: the value of \"a\" has"},
        {"site a { app php { workers 0..2000; } }", "1024"},
        {"site a { app php { workres 2; } }", "workers"},
        {"site a { app php { request_time 1ms; } }", "100"},
        {"site a { app php { extensions php; } }", "begins with a dot"},
        {"site a { app php { abort never; } }", "stop or finish"},
        {"site a { app php 'a b'; }", "no name of an app"},
        {"site a { app php x; } site b { app php x; }",
         "there is an app \"x\" already (at test.conf:1:10)"},
        {"site a { workers 2; }", "in app"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct config c;
        load(&c, CASES[i].text);
        if (c.snapshot || !strstr(err_text(&c.err), CASES[i].error))
            fail_msg("%s: %s", CASES[i].text, err_text(&c.err));
        unload(&c);
    }
}

static void defaults(void **state)
{
    (void)state;
    struct config c;
    load(&c, "site a { app php { workers 3; } } site b { app php; }");
    const struct app_conf *given = c.apps[0];
    const struct app_conf *open = c.apps[1];
    assert_int_equal(given->workers.min, 3);
    assert_int_equal(given->workers.max, 3);
    assert_int_equal(open->workers.min, 0);
    assert_true(open->workers.max >= 4);
    assert_int_equal(open->request_ms, 60000);
    assert_int_equal(open->queue_max, 10000);
    assert_int_equal(open->response_buffer_bytes, 256 * 1024);
    assert_true(php_is_script(open, STR("index.php")));
    assert_false(php_is_script(open, STR("index.php.txt")));
    unload(&c);
}

static uint64_t digest_of(const char *body)
{
    struct config c;
    char text[256];
    (void)snprintf(text, sizeof text, "site a { root /srv/a; app php { %s } }", body);
    load(&c, text);
    assert_string_equal(err_text(&c.err), "");
    uint64_t digest = app_conf_digest(c.apps[0]);
    unload(&c);
    return digest;
}

// A change of what a worker depends on must be seen, a change of limits must not restart it.
static void digests(void **state)
{
    (void)state;
    uint64_t plain = digest_of("");
    static const char *const SAME[] = {
        "workers 1..3;", "queue 5;",    "request_time 5s;", "idle 5s;",
        "abort finish;", "requests 9;", "extensions .inc;",
    };
    static const char *const OTHER[] = {
        "env A 1;",           "ini a 1;",        "admin_ini a 1;",
        "command /bin/true;", "directory /srv;", "keep_children off;",
    };
    for (size_t i = 0; i < ARRAY_LEN(SAME); i++)
        assert_true(digest_of(SAME[i]) == plain);
    for (size_t i = 0; i < ARRAY_LEN(OTHER); i++)
        assert_true(digest_of(OTHER[i]) != plain);
    assert_true(digest_of("env AB C;") != digest_of("env A BC;"));
}

static bool has_word(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static void the_keepers_table(void **state)
{
    (void)state;
    struct config c;
    struct plan_app *plans;
    size_t count;
    load(&c, "site a { app lsapi { command sh -c 'exit 3'; env LANG C; env X 'a b'; workers 2; "
             "start_time 5s; directory /srv; } }");
    assert_true(app_conf_plan(c.snapshot, &c.memory->arena, &plans, &count, &c.err));
    assert_int_equal(count, 1);
    const struct plan_app *plan = &plans[0];
    assert_true(str_eq(plan->name, STR("a")));
    assert_true(strcmp(plan->argv[0], "/usr/bin/sh") == 0 || strcmp(plan->argv[0], "/bin/sh") == 0);
    assert_string_equal(plan->argv[1], "-c");
    assert_string_equal(plan->argv[2], "exit 3");
    assert_null(plan->argv[3]);
    assert_true(has_word(plan->envp, "LANG=C"));
    assert_false(has_word(plan->envp, "LANG=C.UTF-8"));
    assert_true(has_word(plan->envp, "X=a b"));
    assert_string_equal(plan->dir, "/srv");
    assert_int_equal(plan->workers_max, 2);
    assert_int_equal(plan->start_ms, 5000);
    assert_int_equal(plan->has_user, geteuid() == 0);
    assert_true(!plan->has_user || plan->user.uid != 0);
    unload(&c);
}

static void what_the_machine_lacks(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        const char *error;
    } CASES[] = {
        {"site a { app lsapi { command /no/such/program; } }", "/no/such/program"},
        {"site a { app lsapi { command no-such-program-either; } }", "no-such-program-either"},
        {"site a { app lsapi { command /etc/passwd; } }", "a program that exists was expected"},
        {"site a { app lsapi { command sh; user root; } }", "root"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct config c;
        struct plan_app *plans;
        size_t count;
        load(&c, CASES[i].text);
        assert_non_null(c.snapshot);
        assert_false(app_conf_plan(c.snapshot, &c.memory->arena, &plans, &count, &c.err));
        if (!strstr(err_text(&c.err), CASES[i].error))
            fail_msg("%s: %s", CASES[i].text, err_text(&c.err));
        unload(&c);
    }
}

int main(void)
{
    module_register(&server_conf_module);
    module_register(&site_conf_module);
    module_register(&app_conf_module);
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(defaults),
        cmocka_unit_test(digests),
        cmocka_unit_test(the_keepers_table),
        cmocka_unit_test(what_the_machine_lacks),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
