// SPDX-License-Identifier: Apache-2.0
// redirect_test -- where clients are sent, and what of their request goes along.
// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "feature/redirect.h"

#include "../core/ask.h"
#include "base/compiler.h"

static struct stage stage;

static void rules_are_tried_in_order(void **state)
{
    (void)state;

    static const struct {
        const char *path;
        int status;
        const char *location;
    } CASES[] = {
        {"/one", 302, "/two"},
        {"/one?q=/&r", 302, "/two?q=/&r"},
        {"/one?", 302, "/two?"},
        {"/one/", 404, ""},
        {"/all/", 301, "https://x.example/y/"},
        {"/all/a b/c", 301, "https://x.example/y/a%20b/c"},
        {"/all/\r\nSet-Cookie: a", 301, "https://x.example/y/%0D%0ASet-Cookie:%20a"},
        {"/all", 404, ""},
        {"/allow", 404, ""},
        {"/asks?b=2", 302, "/x?a=1"},
        {"/part?b=2", 302, "/x?b=2#end"},
        {"/in/a", 302, "/inner"},
        {"/in/b", 302, "/outer/b"},
    };

    stage_config(&stage, "site _ { redirect /one /two; redirect /asks /x?a=1;"
                         "redirect /all/* https://x.example/y/ 301; redirect /part /x#end;"
                         "redirect /in/* /outer/; path /in/ { redirect /in/a /inner; } }");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        if (ask(&a, &stage, CASES[i].path, NULL) != CASES[i].status)
            fail_msg("%s: %d", CASES[i].path, a.status);
        assert_string_equal(ask_header(&a, "Location"), CASES[i].location);
        ask_done(&a);
    }
}

static void sites_have_one_name_and_scheme(void **state)
{
    (void)state;

    static const struct {
        const char *directives, *location; // the request is for http://a.example/x y?q
    } CASES[] = {
        {"redirect_https on;", "https://a.example/x%20y?q"},
        {"redirect_https off;", ""},
        {"redirect_host A.example;", ""},
        {"redirect_host b.example;", "http://b.example/x%20y?q"},
        {"redirect_host b.example; redirect_https on;", "https://b.example/x%20y?q"},
        {"redirect_host a.example; redirect_https on;", "https://a.example/x%20y?q"},
        {"redirect_host a.example:8080;", "http://a.example:8080/x%20y?q"},
        {"redirect_https on; redirect /* https://o.example/;", "https://a.example/x%20y?q"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        stage_config(&stage, arena_fmt(&arena, "site _ { %s }", CASES[i].directives).ptr);
        ask(&a, &stage, "/x y?q", NULL);
        assert_string_equal(ask_header(&a, "Location"), CASES[i].location);
        assert_int_equal(a.status, CASES[i].location[0] ? 301 : 404);
        ask_done(&a);
        ask_begin(&a, &stage, HTTP_PUT, "/x y?q", NULL);
        ask_end(&a);
        if (CASES[i].location[0])
            assert_int_equal(a.status, 308);
        ask_done(&a);
        arena_done(&arena);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&redirect_module};
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
        cmocka_unit_test(rules_are_tried_in_order),
        cmocka_unit_test(sites_have_one_name_and_scheme),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
