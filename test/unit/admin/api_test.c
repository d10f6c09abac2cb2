// SPDX-License-Identifier: Apache-2.0
// api_test -- the control interface: what it answers, and that commands wait for the keeper's word.
#include "admin/api.h"

#include <jansson.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "../core/stage.h"
#include "app/pool.h"
#include "core/exchange.h"
#include "os/clock.h"
#include "os/fd.h"

static struct stage stage;
static struct exchange *ex;
static bool responded;
static unsigned asked;
static enum api_command command;
static uint32_t command_id;

static void count(void *arg)
{
    assert_string_equal(arg, "host");
    atomic_store(&stage.thread.metrics.log_lines_dropped, 7);
}

static struct str *listeners(void *arg, struct arena *a, size_t *out_count)
{
    struct str *names = arena_array(a, struct str, 1);
    assert_string_equal(arg, "host");
    names[0] = STR("127.0.0.1:80");
    *out_count = 1;
    return names;
}

static void on_ask(void *arg, enum api_command what, uint32_t id)
{
    (void)arg;
    assert_true(id != 0 && id != command_id);
    command = what;
    command_id = id;
    asked++;
}

static void respond(struct exchange *done)
{
    assert_ptr_equal(done, ex);
    responded = true;
}

static const struct front_ops FRONT = {.respond = respond};
static struct peer peer = {.is_control = true};

static void begin(const char *method, const char *path, const char *query)
{
    responded = false;
    asked = 0;
    ex = exchange_new(&stage.thread, &peer, &FRONT, NULL);
    ex->req.method_text = str_c(method);
    ex->req.method = method_find(str_c(method));
    ex->req.path = str_c(path);
    ex->req.query = str_c(query);
    exchange_start(ex);
}

// The JSON that was answered; ends the exchange.
static json_t *finish(int status)
{
    struct buf text = {0};
    struct body_chunk chunk;
    assert_true(responded);
    assert_int_equal(ex->resp.status, status);
    assert_true(
        str_eq(header_list_value(&ex->resp.headers, HEADER_CONTENT_TYPE), STR("application/json")));
    while (body_pull(ex->resp.body, 4096, &chunk) == BODY_DATA)
        assert_true(buf_put(&text, chunk.bytes));
    json_t *root = json_loadb(buf_view(&text).ptr, buf_len(&text), 0, NULL);
    assert_non_null(root);
    buf_done(&text);
    exchange_end(ex);
    return root;
}

static const char *first_error(json_t *root)
{
    return json_string_value(json_array_get(json_object_get(root, "errors"), 0));
}

static void status(void **state)
{
    (void)state;
    begin("GET", "/api/status", "");
    json_t *root = finish(200);
    assert_string_equal(json_string_value(json_object_get(root, "instance")), "blog");
    assert_string_equal(json_string_value(json_object_get(root, "version")), GODWIT_VERSION);
    assert_int_equal(json_integer_value(json_object_get(root, "pid")), 17);
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "listeners"), 0)),
                        "127.0.0.1:80");
    json_t *metrics = json_object_get(root, "metrics");
    assert_int_equal(json_integer_value(json_object_get(metrics, "requests_active")), 1);
    assert_int_equal(json_integer_value(json_object_get(metrics, "log_lines_dropped")), 7);
    assert_int_equal(json_integer_value(json_object_get(root, "server_uptime_s")), 3600);
    json_decref(root);
}

static void on_start(void *arg, struct str app, uint32_t id)
{
    (void)arg;
    (void)app;
    command_id = id;
}

static void on_signal(void *arg, uint32_t id, int signal)
{
    (void)arg;
    (void)id;
    (void)signal;
}

static void on_app_idle(void *arg, struct str app)
{
    (void)arg;
    (void)app;
}

static void apps(void **state)
{
    (void)state;
    struct pool_link link = {.start = on_start, .signal = on_signal, .app_idle = on_app_idle};
    pool_open(&link, &stage.thread, 1);
    pool_thread_start(&stage.thread);
    struct pool *p = pool_ref(STR("shop"));
    struct pool_settings set = {.name = STR("shop"), .workers_min = 1, .workers_max = 4};
    pool_commit(&set, 1, &(struct pool_limits){0});
    pool_info(STR("shop"), STR("{\"runtime\":\"x\",\"name\":\"forged\",\"ini\":[\"/etc/x.ini\"]}"));
    pool_look();
    pool_failed(STR("shop"), command_id, STR("exited with 3: \xff"));
    begin("GET", "/api/apps", "");
    json_t *root = finish(200);
    json_t *app = json_array_get(json_object_get(root, "apps"), 0);
    assert_string_equal(json_string_value(json_object_get(app, "name")), "shop");
    assert_string_equal(json_string_value(json_object_get(app, "runtime")), "x");
    assert_int_equal(json_array_size(json_object_get(app, "ini")), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(app, "limits"), "workers_max")), 4);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(app, "queue"), "waiting")),
                     0);
    const char *why =
        json_string_value(json_object_get(json_object_get(app, "last_failure"), "text"));
    assert_non_null(strstr(why, "exited with 3"));
    json_decref(root);
    pool_unref(p);
    pool_close();
}

static void commands(void **state)
{
    (void)state;

    static const struct {
        const char *path, *query;
        enum api_command command;
        int status; // when the keeper has agreed
    } CASES[] = {
        {"/api/reload", "", API_RELOAD, 200},           {"/api/stop", "", API_STOP, 202},
        {"/api/stop", "now=0", API_STOP, 202},          {"/api/stop", "now=1", API_STOP_NOW, 202},
        {"/api/reopen-logs", "", API_REOPEN_LOGS, 200},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        begin("POST", CASES[i].path, CASES[i].query);
        assert_int_equal(asked, 1);
        assert_int_equal(command, CASES[i].command);
        assert_false(responded);                // before the keeper has answered
        api_answer(command_id + 1, 0, STR("")); // somebody else's
        assert_false(responded);
        api_answer(command_id, 0, STR(""));
        json_decref(finish(CASES[i].status));
    }
    begin("POST", "/api/reload", "");
    api_answer(command_id, 1, STR("a.conf:1:2: no\nb.conf:3:4: neither\n"));
    json_t *root = finish(422);
    assert_int_equal(json_array_size(json_object_get(root, "errors")), 2);
    assert_string_equal(first_error(root), "a.conf:1:2: no");
    json_decref(root);
}

static void a_client_that_leaves_is_forgotten(void **state)
{
    (void)state;
    begin("POST", "/api/reload", "");
    exchange_abort(ex);
    exchange_end(ex);
    api_answer(command_id, 0, STR(""));
    assert_false(responded);
}

static void refusals(void **state)
{
    (void)state;

    static const struct {
        const char *method, *path, *query;
        int status;
    } CASES[] = {
        {"GET", "/", "", 404},
        {"GET", "/api/nothing", "", 404},
        {"GET", "/api/reload", "", 405},
        {"POST", "/api/status", "", 405},
        {"POST", "/api/stop", "x=1", 400},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        begin(CASES[i].method, CASES[i].path, CASES[i].query);
        assert_int_equal(asked, 0);
        json_t *root = finish(CASES[i].status);
        assert_non_null(first_error(root));
        json_decref(root);
    }
}

static void counters_for_prometheus(void **state)
{
    (void)state;
    char text[32 * 1024];
    struct body_chunk chunk;
    size_t len = 0;
    begin("GET", "/api/metrics", "");
    assert_int_equal(ex->resp.status, 200);
    while (body_pull(ex->resp.body, 4096, &chunk) == BODY_DATA
           && len + chunk.bytes.len < sizeof text) {
        memcpy(text + len, chunk.bytes.ptr, chunk.bytes.len);
        len += chunk.bytes.len;
    }
    text[len] = '\0';
    assert_non_null(strstr(text, "\ngodwit_requests_active 1\n"));
    exchange_end(ex);
}

int main(void)
{
    static char arg[] = "host";
    stage_open(&stage, NULL, 0);
    struct api_host host = {
        .instance = STR("blog"),
        .socket = STR("/run/godwit/blog/control.sock"),
        .keeper_pid = 17,
        .server_pid = 18,
        .began_us = clock_mono_us() - 3600500000,
        .count = count,
        .threads = &stage.thread,
        .thread_count = 1,
        .listeners = listeners,
        .ask = on_ask,
        .arg = arg,
    };
    api_open(&host);
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(status),   cmocka_unit_test(apps),
        cmocka_unit_test(commands), cmocka_unit_test(a_client_that_leaves_is_forgotten),
        cmocka_unit_test(refusals), cmocka_unit_test(counters_for_prometheus),
    };
    int failed = cmocka_run_group_tests(TESTS, NULL, NULL);
    api_close();
    stage_close(&stage);
    return failed;
}
