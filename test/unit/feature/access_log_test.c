// SPDX-License-Identifier: Apache-2.0
// access_log_test -- the lines, their escaping, and where they go.
#include "feature/access_log.h"

#include <fcntl.h>
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

#include "../core/ask.h"
#include "base/compiler.h"
#include "os/fd.h"
#include "os/file.h"

static struct stage stage;
static struct buf text;

static enum phase_result handle(struct exchange *ex)
{
    if (str_eq(ex->req.path, STR("/gone")))
        return PHASE_DONE; // never answers
    if (str_eq(ex->req.path, STR("/full"))) {
        exchange_refuse(ex, 503, NULL, "queue (4) is \"full\".");
        return PHASE_DONE;
    }
    ex->resp.status = 200;
    ex->facts.app = STR("blog");
    ex->facts.worker_pid = 77;
    ex->facts.queue_us = 5;
    ex->facts.backend_us = 6000;
    ex->facts.body_sent_bytes = 12;
    ex->facts.user = STR("eve\"\n");
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module app = {.name = "app", .hooks = {[PHASE_HANDLE] = handle}};

// The line that a request leaves, with id, times and durations made equal.
static const char *line_of(const char *path, const char *headers)
{
    static char line[4096];
    char file[256];
    struct ask a;
    (void)snprintf(file, sizeof file, "%s/access.log", stage.dir);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    struct sink *sink = sink_new(fd);
    access_log_sink(file, sink);
    ask_begin(&a, &stage, HTTP_GET, path, headers);
    memcpy(a.ex->id, "0123456789abcdef", 17);
    a.ex->facts.start_wall_us = INT64_C(1796062801123456);
    a.ex->facts.start_us = loop_now_us(stage.loop) - 1500;
    if (!a.answered)
        exchange_abort(a.ex);
    ask_end(&a);
    ask_done(&a);
    access_log_sink(file, NULL);
    sink_free(sink);
    buf_take(&text, buf_len(&text));
    assert_int_equal(file_read_all(file, &text), 0);
    (void)snprintf(line, sizeof line, "%.*s", STR_ARG(buf_view(&text)));
    return line;
}

#define START "192.0.2.1 - "
#define WHEN  " [30/Nov/2026:18:20:01 +0000] "

static void lines_are_combined_with_names_behind(void **state)
{
    (void)state;

    static const struct {
        const char *path, *headers, *line;
    } CASES[] = {
        {"/x?a=\"b", "Referer: http://r/\nUser-Agent: curl \\ \x80\x01",
         START "eve\\x22\\x0a" WHEN "\"GET /x?a=\\x22b HTTP/1.1\" 200 12 \"http://r/\" "
               "\"curl \\x5c \\x80\\x01\" id=0123456789abcdef site=a.example app=blog "
               "worker_pid=77 queue_us=5 backend_us=6000 duration_us=1500\n"},
        {"/gone", NULL,
         START "-" WHEN "\"GET /gone HTTP/1.1\" 499 0 \"-\" \"-\" id=0123456789abcdef "
               "site=a.example duration_us=1500 aborted\n"},
        {"/full", NULL,
         START "-" WHEN "\"GET /full HTTP/1.1\" 503 0 \"-\" \"-\" id=0123456789abcdef "
               "site=a.example duration_us=1500 cause=\"queue (4) is \\x22full\\x22.\"\n"},
    };

    stage_config(&stage, "access_log $D/access.log; site a.example { }");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_string_equal(line_of(CASES[i].path, CASES[i].headers), CASES[i].line);
}

static void lines_are_json(void **state)
{
    (void)state;
    stage_config(&stage, "site a.example { access_log $D/access.log json; }");
    assert_string_equal(
        line_of("/x?a=\"b", "User-Agent: \xc3\xa9 \x01\xff"),
        "{\"time\":\"2026-11-30T18:20:01.123Z\",\"request_id\":\"0123456789abcdef\","
        "\"client\":\"192.0.2.1\",\"user\":\"eve\\\"\\n\",\"method\":\"GET\","
        "\"target\":\"/x?a=\\\"b\",\"request\":\"GET /x?a=\\\"b HTTP/1.1\",\"host\":\"a.example\","
        "\"site\":\"a.example\",\"status\":200,\"body_bytes\":12,\"referer\":\"\","
        "\"user_agent\":\"\xc3\xa9 \\u0001\\u00ff\",\"app\":\"blog\",\"worker_pid\":77,"
        "\"queue_us\":5,\"backend_us\":6000,\"duration_us\":1500,\"cut\":false,\"aborted\":false,"
        "\"cause\":\"\"}\n");
}

static void it_can_be_off(void **state)
{
    (void)state;
    stage_config(&stage, "access_log $D/access.log; site a.example { access_log off; }");
    assert_string_equal(line_of("/x", NULL), "");
}

static void paths_are_listed_once(void **state)
{
    (void)state;
    struct str paths[8];
    char expected[256];
    stage_config(&stage, "access_log $D/a.log; site a { } site b { access_log $D/b.log json; } "
                         "site c { access_log $D/a.log json; } site d { access_log off; } "
                         "site e { access_log stdout; }");
    struct snapshot *s = snapshot_current();
    assert_int_equal(access_log_paths(s, paths, ARRAY_LEN(paths)), 3);
    (void)snprintf(expected, sizeof expected, "%s/b.log", stage.dir);
    assert_true(str_eq(paths[1], str_c(expected)));
    assert_true(str_eq(paths[2], STR("stdout")));
    assert_int_equal(access_log_paths(s, paths, 2), 2);
    snapshot_unref(s);
}

static void wrong_settings_are_told(void **state)
{
    (void)state;

    static const char *const CASES[] = {
        "access_log;",
        "access_log /a b c;",
        "access_log /a xml;",
        "access_log \"\";",
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct err err = {0};
        struct snapshot *s = snapshot_new(1);
        struct tree_source source = {.arena = &s->arena, .dir = "/"};
        struct tree_node *first = NULL;
        struct tree_node **tail = &first;
        assert_true(tree_parse(&source, "f", str_c(CASES[i]), &tail, &err));
        assert_null(snapshot_build(s, first, &err));
        assert_non_null(strstr(err_text(&err), "access_log"));
        err_done(&err);
        snapshot_unref(s);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&app, &access_log_module};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    buf_done(&text);
    stage_close(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_combined_with_names_behind),
        cmocka_unit_test(lines_are_json),
        cmocka_unit_test(it_can_be_off),
        cmocka_unit_test(paths_are_listed_once),
        cmocka_unit_test(wrong_settings_are_told),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
