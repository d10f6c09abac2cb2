// SPDX-License-Identifier: Apache-2.0
// error_page_test -- refusals with pages of the site's own, and fixed answers.
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "../core/ask.h"
#include "base/compiler.h"
#include "feature/answer.h"
#include "feature/error_page.h"
#include "feature/static.h"

static struct stage stage;

// The page comes at the end of the turn.
static void get(struct ask *a, const char *path, const char *headers)
{
    ask_begin(a, &stage, HTTP_GET, path, headers);
    stage_turn(&stage, 0);
    ask_end(a);
    assert_true(a->answered);
}

static void refusals_get_pages(void **state)
{
    (void)state;

    static const struct {
        const char *path, *headers;
        int status;
        const char *body; // NULL: the server's own
    } CASES[] = {
        {"/none", NULL, 404, "missing"},
        {"/none", "Range: bytes=0-1", 404, "missing"},
        {"/none", "If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT", 404, "missing"},
        {"/.none", NULL, 403, NULL},     // no page is named
        {"/busy/", NULL, 503, NULL},     // the page is not there
        {"/gone/a", NULL, 410, "inner"}, // replaced in the path
        {"/text/", NULL, 404, "own"},
        {"/missing.html", NULL, 200, "missing"},
        {"/fine/", NULL, 204, ""},
    };

    stage_config(&stage, "site _ { root $D; error_page 404 410 /missing.html;"
                         "error_page 503 /nowhere.html; path /busy/ { return 503; }"
                         "path /gone/ { error_page 410 /inner.html; return 410; }"
                         "path /text/ { return 404 own; } path /fine/ { return 204; } }");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        get(&a, CASES[i].path, CASES[i].headers);
        if (a.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].path, a.status);
        if (CASES[i].body)
            assert_string_equal(ask_body(&a), CASES[i].body);
        else
            assert_non_null(strstr(ask_body(&a), "Request ID"));
        ask_done(&a);
    }
}

static void clients_may_leave_before_the_page(void **state)
{
    (void)state;
    stage_config(&stage, "site _ { root $D; error_page 404 /missing.html; }");
    struct ask a;
    ask_begin(&a, &stage, HTTP_GET, "/none", NULL);
    assert_false(a.answered);
    exchange_abort(a.ex);
    ask_end(&a);
    ask_done(&a);
    stage_turn(&stage, 0); // nothing is left to run
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&answer_module, &static_module, &error_page_module};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    stage_file(&stage, "missing.html", "missing");
    stage_file(&stage, "inner.html", "inner");
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
        cmocka_unit_test(refusals_get_pages),
        cmocka_unit_test(clients_may_leave_before_the_page),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
