// SPDX-License-Identifier: Apache-2.0
// limit_test -- requests and connections of one client, and bodies that come slowly.
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
#include "feature/limit.h"
#include "feature/limit_body.h"
#include "feature/limit_count.h"

#define TURNS_MAX 10000

static struct stage stage;
static struct peer peer;
static char text[100000];

static enum phase_result rewrite(struct exchange *ex)
{
    ex->peer = &peer;
    if (str_eq(ex->req.path, STR("/moved"))
        && exchange_rewrite(ex, STR("/in/moved"), (struct str){0}))
        return PHASE_DONE;
    return PHASE_NEXT;
}

static enum phase_result handle(struct exchange *ex)
{
    if (str_eq(ex->req.path, STR("/slow")))
        return PHASE_WAIT;
    ex->resp.status = 200;
    ex->resp.body = body_text(&ex->arena, str_n(text, sizeof text));
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module app_module = {
    .name = "app",
    .hooks = {[PHASE_REWRITE] = rewrite, [PHASE_HANDLE] = handle},
};

static void be(const char *ip)
{
    struct arena arena = {0};
    assert_true(sock_addr_parse(arena_fmt(&arena, "%s:1", ip), &peer.addr));
    arena_done(&arena);
}

static int get(const char *path, enum http_method method)
{
    struct ask a;
    ask_begin(&a, &stage, method, path, NULL);
    ask_end(&a);
    if (a.status == 429)
        assert_true(strlen(ask_header(&a, "Retry-After")) > 0);
    ask_done(&a);
    return a.status;
}

static void requests_are_limited_by_client(void **state)
{
    (void)state;

    // An hour's rate: no time passes that matters.
    static const struct {
        const char *client, *path;
        int status;
    } STEPS[] = {
        {"192.0.2.1", "/", 200},
        {"192.0.2.1", "/", 200},
        {"192.0.2.1", "/", 429},
        {"192.0.2.1", "/other/", 429}, // counted together
        {"192.0.2.2", "/", 200},
        {"192.0.2.1", "/in/", 200}, // counted apart
        {"192.0.2.1", "/in/", 429},
        {"192.0.2.1", "/free/", 200},
        {"[2001:db8:0:1::1]", "/", 200},
        {"[2001:db8:0:1::2]", "/", 200},
        {"[2001:db8:0:1:9::3]", "/", 429},
        {"[2001:db8:0:2::1]", "/", 200},
        {"192.0.2.3", "/moved", 200},
        {"192.0.2.3", "/in/", 429}, // counted there as well
        {"unix:/x", "/", 200},
        {"unix:/x", "/", 200},
        {"unix:/x", "/", 200},
    };

    stage_config(&stage, "site _ { limit_requests 1/h burst 1; path /in/ { limit_requests 1/h; }"
                         "path /free/ { limit_requests off; } }");
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        if (str_starts(str_c(STEPS[i].client), STR("unix:")))
            assert_true(sock_addr_parse(str_c(STEPS[i].client), &peer.addr));
        else
            be(STEPS[i].client);
        if (get(STEPS[i].path, HTTP_GET) != STEPS[i].status)
            fail_msg("step %zu", i);
    }
    assert_int_equal(stage_metric(&stage, "limited_requests"), 5);
}

static void connections_are_limited_by_client(void **state)
{
    (void)state;
    struct ask held[2];
    stage_config(&stage, "site _ { limit_connections 2; }");
    be("192.0.2.9");
    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        ask_begin(&held[i], &stage, HTTP_GET, "/slow", NULL);
    assert_int_equal(get("/", HTTP_GET), 429);
    be("192.0.2.10");
    assert_int_equal(get("/", HTTP_GET), 200);
    be("192.0.2.9");
    exchange_abort(held[0].ex);
    ask_end(&held[0]);
    assert_int_equal(get("/", HTTP_GET), 200);
    assert_int_equal(get("/", HTTP_GET), 200); // what is over does not count
    exchange_abort(held[1].ex);
    ask_end(&held[1]);
    assert_int_equal(stage_metric(&stage, "limited_connections"), 1);
}

static void counts(void **state)
{
    (void)state;
    assert_false(limit_count_take(7, 0));
    assert_true(limit_count_take(7, 1));
    assert_false(limit_count_take(7, 1));
    assert_true(limit_count_take(7 + 16, 1)); // in the same table
    limit_count_give(7);
    assert_true(limit_count_take(7, 1));
    limit_count_give(7);
    limit_count_give(7 + 16);
}

static void on_more(void *arg)
{
    *(bool *)arg = true;
}

static void bodies_come_at_their_rate(void **state)
{
    (void)state;

    static const uint64_t RATES[] = {400000, 1000000, 100000000};

    for (size_t i = 0; i < ARRAY_LEN(RATES); i++) {
        struct arena arena = {0};
        struct body *body = limit_body_new(
            &arena, stage.loop, body_text(&arena, str_n(text, sizeof text)), i + 1, RATES[i]);
        assert_int_equal(body->length, sizeof text);
        bool more = false;
        body->on_more = on_more;
        body->on_more_arg = &more;
        stage_turn(&stage, 0);
        uint64_t began_us = loop_now_us(stage.loop);
        size_t got = 0;
        struct body_chunk chunk;
        enum body_result result = BODY_DATA;
        while (result != BODY_END) {
            result = body_pull(body, 1 << 20, &chunk);
            if (result == BODY_DATA)
                got += chunk.bytes.len;
            for (int turn = 0; result == BODY_WAIT && !more && turn < TURNS_MAX; turn++)
                stage_turn(&stage, 1000);
            more = false;
        }
        assert_int_equal(got, sizeof text);
        // An eighth of a second's worth comes at once.
        uint64_t paid = RATES[i] / 8 < sizeof text ? sizeof text - RATES[i] / 8 : 0;
        uint64_t least_us = paid * 1000000 / RATES[i];
        assert_true(loop_now_us(stage.loop) - began_us + 2000 >= least_us);
        body_close(body);
        arena_done(&arena);
    }
}

static void head_is_not_slow(void **state)
{
    (void)state;
    stage_config(&stage, "site _ { limit_bandwidth 1k; }");
    be("192.0.2.20");
    struct ask a;
    ask_begin(&a, &stage, HTTP_HEAD, "/", NULL);
    struct body_chunk chunk;
    assert_int_equal(body_pull(a.ex->resp.body, sizeof text, &chunk), BODY_DATA);
    assert_int_equal(chunk.bytes.len, sizeof text);
    ask_end(&a);
    ask_done(&a);
    ask_begin(&a, &stage, HTTP_GET, "/", NULL);
    assert_int_equal(body_pull(a.ex->resp.body, sizeof text, &chunk), BODY_DATA);
    assert_int_equal(chunk.bytes.len, 128);
    assert_int_equal(body_pull(a.ex->resp.body, sizeof text, &chunk), BODY_WAIT);
    exchange_abort(a.ex);
    ask_end(&a);
    ask_done(&a);
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&limit_module, &app_module};
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
        cmocka_unit_test(requests_are_limited_by_client),
        cmocka_unit_test(connections_are_limited_by_client),
        cmocka_unit_test(counts),
        cmocka_unit_test(bodies_come_at_their_rate),
        cmocka_unit_test(head_is_not_slow),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
