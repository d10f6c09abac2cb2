// SPDX-License-Identifier: Apache-2.0
// site_conf_test -- roots that are named after the host: who gets one, and who must not.
#include "core/site_conf.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "ask.h"
#include "base/compiler.h"

static struct stage stage;
static const char *host;

static enum phase_result handle(struct exchange *ex)
{
    ex->req.host = str_c(host);
    struct str root = site_conf_root(ex, site_conf(ex));
    ex->resp.status = 200;
    ex->resp.body = body_text(&ex->arena, root);
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module app_module = {.name = "app", .hooks = {[PHASE_REWRITE] = handle}};

static void roots_are_named_after_hosts(void **state)
{
    (void)state;

    static const struct {
        const char *root, *host, *made;
    } CASES[] = {
        {"/srv/x", "a.example", "/srv/x"},
        {"/srv/x", "..", "/srv/x"},
        {"/srv/{host}/public", "a.example", "/srv/a.example/public"},
        {"/srv/{host}", "a-1.b.example", "/srv/a-1.b.example"},
        {"/srv/{host}/www-{host}/x", "a.b", "/srv/a.b/www-a.b/x"},
        {"/srv/{host}", "xn--bcher-kva.example", "/srv/xn--bcher-kva.example"},
        {"/srv/{host}", "", ""},
        {"/srv/{host}", ".", ""},
        {"/srv/{host}", "..", ""},
        {"/srv/{host}", ".example", ""},
        {"/srv/{host}", "a..example", ""},
        {"/srv/{host}", "example.", ""},
        {"/srv/{host}", "a/b", ""},
        {"/srv/{host}", "A.example", ""}, // the front makes it lower case
        {"/srv/{host}", "a_b.example", ""},
        {"/srv/{host}", "[::1]", ""},
        {"/srv/{host}", "a%2fb", ""},
        {"/srv/{host}", "{host}", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        stage_config(&stage, arena_fmt(&arena, "site _ { root %s; }", CASES[i].root).ptr);
        host = CASES[i].host;
        assert_int_equal(ask(&a, &stage, "/", NULL), 200);
        assert_string_equal(ask_body(&a), CASES[i].made);
        ask_done(&a);
        arena_done(&arena);
    }
}

static void the_part_that_is_the_same_for_all(void **state)
{
    (void)state;

    static const struct {
        const char *root, *fixed;
    } CASES[] = {
        {"/srv/x", "/srv/x"}, {"/srv/{host}/public", "/srv"}, {"/srv/www-{host}", "/srv"},
        {"/{host}", "/"},     {"/srv/a/{host}", "/srv/a"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_true(str_eq(site_conf_fixed_root(str_c(CASES[i].root)), str_c(CASES[i].fixed)));
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&app_module};
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
        cmocka_unit_test(roots_are_named_after_hosts),
        cmocka_unit_test(the_part_that_is_the_same_for_all),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
