// SPDX-License-Identifier: Apache-2.0
// try_paths_test -- which of the paths is taken, with which query.
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
#include "core/exchange.h"
#include "core/target.h"
#include "feature/index.h"
#include "feature/try_paths.h"

static struct stage stage;

// Stands for an app and for files: says what would be served, and how.
static enum phase_result handle(struct exchange *ex)
{
    enum target_kind kind = target_need(ex);
    if (kind != TARGET_FILE && kind != TARGET_SCRIPT)
        return PHASE_NEXT;
    ex->resp.status = 200;
    ex->resp.body =
        body_text(&ex->arena, arena_fmt(&ex->arena, "%.*s|%.*s|%.*s|%.*s",
                                        STR_ARG(str_skip(ex->target.file, strlen(stage.dir))),
                                        STR_ARG(ex->target.path_info), STR_ARG(ex->req.query),
                                        STR_ARG(ex->req.target)));
    exchange_respond(ex);
    return PHASE_DONE;
}

static bool runs_script(const struct exchange *ex, struct str name)
{
    (void)ex;
    return str_ends(name, STR(".php"));
}

static struct module app_module = {
    .name = "app",
    .hooks = {[PHASE_HANDLE] = handle},
    .runs_script = runs_script,
};

static void the_first_that_is_there_is_taken(void **state)
{
    (void)state;

    static const struct {
        const char *directive, *path;
        int status;
        const char *body;
    } CASES[] = {
        {"try {path} {path}/ /index.php", "/a.txt?q", 200, "/a.txt||q|/a.txt?q"},
        {"try {path} {path}/ /index.php", "/", 200, "/i.html|||/"},
        {"try {path} /index.php", "/", 200, "/index.php|||/"},
        {"try {path} {path}/ /index.php", "/no/page?q=1", 200, "/index.php||q=1|/no/page?q=1"},
        {"try {path} {path}/ /index.php", "/dir", 301, NULL},
        {"try {path} {path}/ /index.php", "/dir/", 404, NULL},
        {"try {path} /index.php", "/dir/", 200, "/index.php|||/dir/"},
        {"try {path} /index.php", "/index.php/x/y", 200, "/index.php|/x/y||/index.php/x/y"},
        {"try {path} /index.php", "/a.txt/x", 200, "/index.php|||/a.txt/x"},
        {"try {path} /index.php", "/.hidden", 404, NULL},
        {"try {path} /index.php/front", "/x", 200, "/index.php|/front||/x"},
        {"try {path} /index.php?q={path}", "/x/y z&a=b", 200,
         "/index.php||q=/x/y%20z%26a%3Db|/x/y z&a=b"},
        {"try {path} /index.php?q={path}&r", "/x?s", 200, "/index.php||q=/x&r&s|/x?s"},
        {"try {path} /missing.php", "/x", 404, NULL},
        {"try {path} 410", "/x", 410, NULL},
        {"try {path} 410", "/a.txt", 200, "/a.txt|||/a.txt"},
        {"try /cache{path}.html {path} /index.php", "/page?q", 200, "/cache/page.html||q|/page?q"},
        {"try /cache{path}.html {path} /index.php", "/a.txt", 200, "/a.txt|||/a.txt"},
        {"try /other/b.txt {path} /index.php", "/x", 200, "/elsewhere/b.txt|||/x"},
        {"try off", "/x", 404, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        stage_config(&stage, arena_fmt(&arena,
                                       "site _ { root $D; index i.html; %s;"
                                       "path /other/ { root $D/elsewhere; try off; } }",
                                       CASES[i].directive)
                                 .ptr);
        if (ask(&a, &stage, CASES[i].path, NULL) != CASES[i].status)
            fail_msg("%s: %s: %d", CASES[i].directive, CASES[i].path, a.status);
        if (CASES[i].body)
            assert_string_equal(ask_body(&a), CASES[i].body);
        ask_done(&a);
        arena_done(&arena);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&try_paths_module, &index_module, &app_module};
    static const char *const FILES[] = {"a.txt",   "i.html",          "index.php",      "dir/x",
                                        ".hidden", "cache/page.html", "elsewhere/b.txt"};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    for (size_t i = 0; i < ARRAY_LEN(FILES); i++)
        stage_file(&stage, FILES[i], "x");
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
        cmocka_unit_test(the_first_that_is_there_is_taken),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
