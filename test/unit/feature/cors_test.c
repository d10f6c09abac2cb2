// SPDX-License-Identifier: Apache-2.0
// cors_test -- which origins may read, and what is answered to browsers that ask first.
// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "feature/cors.h"

#include "../core/ask.h"
#include "base/compiler.h"
#include "core/exchange.h"

static struct stage stage;

static enum phase_result handle(struct exchange *ex)
{
    ex->resp.status = 200;
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module app_module = {.name = "app", .hooks = {[PHASE_HANDLE] = handle}};

static void origins_are_let_in(void **state)
{
    (void)state;

    static const struct {
        const char *directives, *origin, *allowed, *vary, *credentials;
    } CASES[] = {
        {"cors off;", "https://a.example", "", "", ""},
        {"cors *;", "https://a.example", "*", "", ""},
        {"cors *;", NULL, "", "", ""},
        {"cors https://a.example;", "https://a.example", "https://a.example", "Origin", ""},
        {"cors https://a.example;", "http://a.example", "", "Origin", ""},
        {"cors https://a.example;", "https://a.example:8443", "", "Origin", ""},
        {"cors https://a.example;", "https://a.example.evil.example", "", "Origin", ""},
        {"cors https://a.example;", "null", "", "Origin", ""},
        {"cors https://a.example;", NULL, "", "Origin", ""},
        {"cors https://b.example https://a.example:1;", "https://a.example:1",
         "https://a.example:1", "Origin", ""},
        {"cors https://*.example;", "https://x.y.example", "https://x.y.example", "Origin", ""},
        {"cors https://*.example;", "https://example", "", "Origin", ""},
        {"cors https://*.example;", "https://.example", "", "Origin", ""},
        {"cors https://*.example;", "https://evil/x.example", "", "Origin", ""},
        {"cors https://*.example;", "https://evil:1@x.example", "", "Origin", ""},
        {"cors https://a.example; cors_credentials on;", "https://a.example", "https://a.example",
         "Origin", "true"},
        {"cors https://a.example; cors_credentials on;", "https://b.example", "", "Origin", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        stage_config(&stage, arena_fmt(&arena, "site _ { %s }", CASES[i].directives).ptr);
        const char *headers =
            CASES[i].origin ? arena_fmt(&arena, "Origin: %s", CASES[i].origin).ptr : NULL;
        assert_int_equal(ask(&a, &stage, "/", headers), 200);
        assert_string_equal(ask_header(&a, "Access-Control-Allow-Origin"), CASES[i].allowed);
        assert_string_equal(ask_header(&a, "Vary"), CASES[i].vary);
        assert_string_equal(ask_header(&a, "Access-Control-Allow-Credentials"),
                            CASES[i].credentials);
        ask_done(&a);
        arena_done(&arena);
    }
}

static void questions_are_answered(void **state)
{
    (void)state;

    static const struct {
        const char *headers;
        int status; // 200: the app's
        const char *allow_headers;
    } CASES[] = {
        {"Origin: https://a.example\nAccess-Control-Request-Method: PUT", 204, ""},
        {"Origin: https://a.example\nAccess-Control-Request-Method: PUT\n"
         "Access-Control-Request-Headers: x-one, content-type",
         204, "x-one, content-type"},
        {"Origin: https://a.example\nAccess-Control-Request-Method: PUT\n"
         "Access-Control-Request-Headers: x one",
         204, ""},
        {"Origin: https://b.example\nAccess-Control-Request-Method: PUT", 200, ""},
        {"Origin: https://a.example", 200, ""},
        {"Access-Control-Request-Method: PUT", 200, ""},
    };

    stage_config(&stage, "site _ { cors https://a.example; }");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        ask_begin(&a, &stage, HTTP_OPTIONS, "/", CASES[i].headers);
        ask_end(&a);
        assert_int_equal(a.status, CASES[i].status);
        assert_string_equal(ask_header(&a, "Access-Control-Allow-Headers"), CASES[i].allow_headers);
        if (a.status == 204)
            assert_string_equal(ask_header(&a, "Access-Control-Allow-Origin"), "https://a.example");
        ask_done(&a);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&cors_module, &app_module};
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
        cmocka_unit_test(origins_are_let_in),
        cmocka_unit_test(questions_are_answered),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
