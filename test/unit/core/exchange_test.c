// SPDX-License-Identifier: Apache-2.0
// exchange_test -- phases, waiting, rewriting, refusing, aborting, and what is counted.
#include "core/exchange.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "ask.h"
#include "base/compiler.h"
#include "http/status.h"

static struct stage stage;
static char trace[256]; // a letter for each hook called
static unsigned aborts;
static unsigned logs;

static void note(const char *what)
{
    strncat(trace, what, sizeof trace - strlen(trace) - 1);
}

static void on_abort(struct exchange *ex)
{
    (void)ex;
    aborts++;
}

static enum phase_result rewrite(struct exchange *ex)
{
    note("r");
    if (str_starts(ex->req.path, STR("/loop"))) {
        if (exchange_rewrite(ex, STR("/loop"), (struct str){0}))
            return PHASE_DONE;
        exchange_refuse(ex, 500, NULL, "The path was rewritten too often.");
        return PHASE_DONE;
    }
    if (str_eq(ex->req.path, STR("/old")) && exchange_rewrite(ex, STR("//new"), STR("q=1")))
        return PHASE_DONE;
    return PHASE_NEXT;
}

static enum phase_result limit(struct exchange *ex)
{
    note("l");
    ex->on_abort = on_abort;
    return str_starts(ex->req.path, STR("/wait")) ? PHASE_WAIT : PHASE_NEXT;
}

static enum phase_result handle_first(struct exchange *ex)
{
    note("1");
    if (str_eq(ex->req.path, STR("/into/")) && exchange_narrow(ex, STR("/into/file")))
        return PHASE_DONE;
    if (!str_eq(ex->req.path, STR("/first")))
        return PHASE_NEXT;
    exchange_redirect(ex, 302, STR("/elsewhere"));
    return PHASE_DONE;
}

static enum phase_result handle_second(struct exchange *ex)
{
    note("2");
    if (str_eq(ex->req.path, STR("/none")))
        return PHASE_NEXT;
    if (str_eq(ex->req.path, STR("/broken"))) {
        // An answer that was begun leaves nothing in the refusal but what belongs to it.
        header_list_add(&ex->resp.headers, STR("Set-Cookie"), STR("a=b"));
        header_list_add(&ex->resp.headers, STR("Retry-After"), STR("7"));
        exchange_refuse(ex, 503, NULL, "queue_time (%d s) has passed.", 60);
        return PHASE_DONE;
    }
    ex->resp.status = 200;
    ex->resp.body = body_text(&ex->arena, ex->req.path);
    exchange_respond(ex);
    return PHASE_DONE;
}

static void respond(struct exchange *ex)
{
    header_list_add(&ex->resp.headers, STR("X-Filter"), STR("on"));
}

static void on_log(struct exchange *ex)
{
    (void)ex;
    logs++;
}

static struct module one = {
    .name = "one",
    .hooks = {[PHASE_REWRITE] = rewrite, [PHASE_LIMIT] = limit, [PHASE_HANDLE] = handle_first},
    .respond = respond,
    .log = on_log,
};

struct three_conf {
    int64_t number;
};

static const struct key THREE_KEYS[] = {{
    .name = "number",
    .type = &KEY_INT,
    .offset = offsetof(struct three_conf, number),
    .scopes = KEY_SITE | KEY_PATH,
    .def = "0",
    .max = 9,
    .unit = "of them",
    .help = "A number.",
}};

static bool is_zero(const void *arg)
{
    const struct three_conf *conf = arg;
    return conf->number == 0;
}

static enum phase_result limit_three(struct exchange *ex)
{
    (void)ex;
    note("3");
    return PHASE_NEXT;
}

static void respond_three(struct exchange *ex)
{
    (void)ex;
    note("R");
}

static void log_three(struct exchange *ex)
{
    (void)ex;
    note("L");
}

// Idle wherever its number is 0.
static struct module three = {
    .name = "three",
    .keys = THREE_KEYS,
    .key_count = ARRAY_LEN(THREE_KEYS),
    .conf_size = sizeof(struct three_conf),
    .idle = is_zero,
    .hooks = {[PHASE_LIMIT] = limit_three},
    .respond = respond_three,
    .log = log_three,
};

static struct module two = {
    .name = "two",
    .hooks = {[PHASE_HANDLE] = handle_second},
};

static void phases_are_walked(void **state)
{
    (void)state;

    static const struct {
        const char *path, *trace, *body;
        int status;
    } CASES[] = {
        {"/x", "rl12", "/x", 200},      {"//x///y/", "rl12", "/x/y/", 200},
        {"/first", "rl1", NULL, 302},   {"/none", "rl12", NULL, 404},
        {"/old", "rrl12", "/new", 200}, {"/loop", "rrrrrrrrrrr", NULL, 500},
        {"/broken", "rl12", NULL, 503},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        trace[0] = '\0';
        unsigned before = logs;
        assert_int_equal(ask(&a, &stage, CASES[i].path, NULL), CASES[i].status);
        assert_string_equal(trace, CASES[i].trace);
        if (CASES[i].body)
            assert_string_equal(ask_body(&a), CASES[i].body);
        assert_string_equal(ask_header(&a, "X-Filter"), "on");
        assert_int_equal(logs, before + 1);
        ask_done(&a);
    }
}

static void refusals_explain_themselves_to_the_log_only(void **state)
{
    (void)state;
    struct ask a;
    ask_begin(&a, &stage, HTTP_GET, "/broken", NULL);
    char id[17];
    memcpy(id, a.ex->id, sizeof id);
    assert_int_equal(strspn(id, "0123456789abcdef"), 16);
    assert_true(str_eq(a.ex->facts.cause, STR("queue_time (60 s) has passed.")));
    ask_end(&a);
    assert_string_equal(ask_header(&a, "Set-Cookie"), "");
    assert_string_equal(ask_header(&a, "Retry-After"), "7");
    assert_non_null(strstr(ask_body(&a), id));
    assert_null(strstr(ask_body(&a), "queue_time"));
    ask_done(&a);

    stage_config(&stage, "development on; site _ { }");
    assert_int_equal(ask(&a, &stage, "/broken", NULL), 503);
    assert_non_null(strstr(ask_body(&a), "queue_time (60 s) has passed."));
    ask_done(&a);
    stage_config(&stage, "site _ { }");
}

static void waiting_is_resumed_with_the_next_hook(void **state)
{
    (void)state;
    struct ask a;
    trace[0] = '\0';
    ask_begin(&a, &stage, HTTP_GET, "/wait", NULL);
    assert_string_equal(trace, "rl");
    assert_false(a.answered);
    exchange_resume(a.ex);
    assert_string_equal(trace, "rl12");
    ask_end(&a);
    assert_int_equal(a.status, 200);
    ask_done(&a);
}

static void aborts_reach_the_handler_once(void **state)
{
    (void)state;
    struct ask a;
    aborts = 0;
    ask_begin(&a, &stage, HTTP_GET, "/wait", NULL);
    exchange_abort(a.ex);
    assert_int_equal(aborts, 1);
    // Who comes late is not heard.
    a.ex->resp.status = 200;
    exchange_respond(a.ex);
    exchange_refuse(a.ex, 500, NULL, "late");
    assert_false(a.answered);
    ask_end(&a);
    assert_int_equal(aborts, 1);
    ask_done(&a);
}

static void methods_for_the_server_itself(void **state)
{
    (void)state;

    static const struct {
        enum http_method method;
        const char *path;
        int status;
    } CASES[] = {
        {HTTP_TRACE, "/x", 405},
        {HTTP_CONNECT, "", 405},
        {HTTP_OPTIONS, "", 204},
        {HTTP_OPTIONS, "/x", 200},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        ask_begin(&a, &stage, CASES[i].method, CASES[i].path, NULL);
        ask_end(&a);
        assert_int_equal(a.status, CASES[i].status);
        ask_done(&a);
    }
}

static void classes_are_counted(void **state)
{
    (void)state;
    long long ok = stage_metric(&stage, "responses_2xx");
    long long moved = stage_metric(&stage, "responses_3xx");
    long long wrong = stage_metric(&stage, "responses_4xx");
    long long failed = stage_metric(&stage, "responses_5xx");
    long long requests = stage_metric(&stage, "requests");
    static const char *const PATHS[] = {"/x", "/first", "/none", "/broken"};
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        struct ask a;
        ask(&a, &stage, PATHS[i], NULL);
        ask_done(&a);
    }
    assert_int_equal(stage_metric(&stage, "responses_2xx"), ok + 1);
    assert_int_equal(stage_metric(&stage, "responses_3xx"), moved + 1);
    assert_int_equal(stage_metric(&stage, "responses_4xx"), wrong + 1);
    assert_int_equal(stage_metric(&stage, "responses_5xx"), failed + 1);
    assert_int_equal(stage_metric(&stage, "requests"), requests + 4);
    assert_int_equal(stage_metric(&stage, "requests_active"), 0);
}

static void the_snapshot_stays_to_the_end(void **state)
{
    (void)state;
    struct ask a;
    ask_begin(&a, &stage, HTTP_GET, "/wait", NULL);
    struct snapshot *snapshot = a.ex->snapshot;
    stage_config(&stage, "site _ { }");
    assert_int_equal(snapshot_alive(), 2);
    exchange_resume(a.ex);
    assert_ptr_equal(a.ex->snapshot, snapshot);
    ask_end(&a);
    assert_int_equal(snapshot_alive(), 1);
    ask_done(&a);
}

// The path that the exchange is at counts.
static void idle_modules_are_not_called(void **state)
{
    (void)state;

    static const struct {
        const char *path, *trace;
    } CASES[] = {
        {"/x", "rl312RL"},
        {"/y", "rl12"},
        {"/x/none", "rl312RL"},
        {"/x/zero/", "rl12"},
    };

    stage_config(&stage, "site _ { path /x/ { number 1; } path /x/zero/ { number 0; } }");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        trace[0] = '\0';
        (void)ask(&a, &stage, CASES[i].path, NULL);
        ask_done(&a);
        assert_string_equal(trace, CASES[i].trace);
    }
    stage_config(&stage, "site _ { }");
}

// A file that was chosen for its directory is under its own rules, where it has any.
static void a_file_of_a_directory_has_its_own_rules(void **state)
{
    (void)state;

    static const struct {
        const char *config, *trace, *body;
    } CASES[] = {
        {"site _ { path /into/file { number 1; } }", "rl1l312RL", "/into/file"},
        {"site _ { path /into/file { } }", "rl1l12", "/into/file"},
        {"site _ { path /into/ { number 1; } }", "rl312RL", "/into/"},
        {"site _ { path /into/other { number 1; } }", "rl12", "/into/"},
        {"site _ { }", "rl12", "/into/"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        stage_config(&stage, CASES[i].config);
        trace[0] = '\0';
        assert_int_equal(ask(&a, &stage, "/into/", NULL), 200);
        assert_string_equal(ask_body(&a), CASES[i].body);
        ask_done(&a);
        assert_string_equal(trace, CASES[i].trace);
    }
    stage_config(&stage, "site _ { }");
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&one, &two, &three};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    stage_config(&stage, "site _ { }");
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
        cmocka_unit_test(phases_are_walked),
        cmocka_unit_test(refusals_explain_themselves_to_the_log_only),
        cmocka_unit_test(waiting_is_resumed_with_the_next_hook),
        cmocka_unit_test(aborts_reach_the_handler_once),
        cmocka_unit_test(methods_for_the_server_itself),
        cmocka_unit_test(classes_are_counted),
        cmocka_unit_test(the_snapshot_stays_to_the_end),
        cmocka_unit_test(idle_modules_are_not_called),
        cmocka_unit_test(a_file_of_a_directory_has_its_own_rules),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
