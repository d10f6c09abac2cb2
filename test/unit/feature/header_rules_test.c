// SPDX-License-Identifier: Apache-2.0
// header_rules_test -- fields set, added and removed; what expires says; and in which order.
// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "feature/header_rules.h"

#include "../core/ask.h"
#include "base/compiler.h"
#include "core/exchange.h"
#include "feature/expires.h"

static struct stage stage;

// Stands for an app: answers with the status that the query says.
static enum phase_result handle(struct exchange *ex)
{
    uint64_t status;
    if (!str_to_u64(ex->req.query, &status))
        status = 200;
    ex->resp.status = (int)status;
    header_list_add(&ex->resp.headers, STR("X-App"), STR("one"));
    header_list_add(&ex->resp.headers, STR("X-App"), STR("two"));
    if (str_starts(ex->req.path, STR("/own")))
        header_list_add(&ex->resp.headers, STR("cache-control"), STR("no-store"));
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module app_module = {.name = "app", .hooks = {[PHASE_HANDLE] = handle}};

static void rules_apply_in_order(void **state)
{
    (void)state;

    static const struct {
        const char *directives, *path, *headers;
    } CASES[] = {
        {"", "/", "X-App: one\nX-App: two\n"},
        {"header set x-app three;", "/", "x-app: three\n"},
        {"header set A b;", "/?302", "X-App: one\nX-App: two\nA: b\n"},
        {"header set A b;", "/?404", "X-App: one\nX-App: two\n"},
        {"header set A b always;", "/?404", "X-App: one\nX-App: two\nA: b\n"},
        {"header remove X-APP;", "/", ""},
        {"header remove X-App always;", "/?500", ""},
        {"header remove X-App; header add X-App z; header add X-App ' y ';", "/",
         "X-App: z\nX-App: y\n"},
        {"header set X-App 1; path /p { header add X-App 2; }", "/p", "X-App: 1\nX-App: 2\n"},
        {"header set X-App always;", "/", "X-App: always\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        stage_config(&stage, arena_fmt(&arena, "site _ { %s }", CASES[i].directives).ptr);
        ask(&a, &stage, CASES[i].path, NULL);
        assert_string_equal(a.headers, CASES[i].headers);
        ask_done(&a);
        arena_done(&arena);
    }
}

static void expiry_is_told_once(void **state)
{
    (void)state;

    static const struct {
        const char *directives, *path, *cache_control;
        bool expires;
    } CASES[] = {
        {"expires 1h;", "/", "max-age=3600", true},
        {"expires 0;", "/", "max-age=0", true},
        {"expires 1h;", "/?304", "max-age=3600", true},
        {"expires 1h;", "/?404", "", false},
        {"expires 1h;", "/?302", "", false},
        {"expires 1h;", "/own", "no-store", false},
        {"expires off;", "/", "", false},
        {"expires 1h; header set Cache-Control private;", "/", "private", true},
        {"expires 1h; path /p { expires off; }", "/p", "", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        stage_config(&stage, arena_fmt(&arena, "site _ { %s }", CASES[i].directives).ptr);
        ask(&a, &stage, CASES[i].path, NULL);
        assert_string_equal(ask_header(&a, "Cache-Control"), CASES[i].cache_control);
        assert_int_equal(ask_header(&a, "Expires")[0] != '\0', CASES[i].expires);
        ask_done(&a);
        arena_done(&arena);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&app_module, &expires_module, &header_rules_module};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    stage_close(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_apply_in_order),
        cmocka_unit_test(expiry_is_told_once),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
