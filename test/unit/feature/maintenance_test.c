// SPDX-License-Identifier: Apache-2.0
// maintenance_test -- closed while the file is there.
#include <stdio.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "../core/ask.h"
#include "base/compiler.h"
#include "feature/maintenance.h"

static struct stage stage;

static void closed_while_the_file_is_there(void **state)
{
    (void)state;

    static const struct {
        bool is_there;
        const char *path;
        int status; // 404: nothing has stopped it
        const char *retry_after;
    } CASES[] = {
        {false, "/", 404, ""},         {true, "/", 503, "60"},       {true, "/in/", 503, "600"},
        {true, "/open/", 404, ""},     {true, "/through/", 404, ""}, {false, "/", 404, ""},
        {false, "/through/", 404, ""},
    };

    char flag[128];
    (void)snprintf(flag, sizeof flag, "%s/flag", stage.dir);
    stage_config(&stage, "file_check 0; site _ { maintenance $D/flag;"
                         "path /in/ { maintenance_retry 10m; } path /open/ { maintenance off; }"
                         "path /through/ { maintenance $D/flag/below/a/file; } }");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        (void)unlink(flag);
        if (CASES[i].is_there)
            stage_file(&stage, "flag", "");
        if (ask(&a, &stage, CASES[i].path, NULL) != CASES[i].status)
            fail_msg("%s: %d", CASES[i].path, a.status);
        if (a.status == 503)
            assert_string_equal(ask_header(&a, "Retry-After"), CASES[i].retry_after);
        ask_done(&a);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&maintenance_module};
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
        cmocka_unit_test(closed_while_the_file_is_there),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
