// SPDX-License-Identifier: Apache-2.0
// access_test -- which rule decides. The client of all is 192.0.2.1.
#include "feature/access.h"

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

static struct stage stage;
static struct peer peer;

// Puts the client's address where a front would have it.
static enum phase_result set_peer(struct exchange *ex)
{
    ex->peer = &peer;
    return PHASE_NEXT;
}

static enum phase_result handle(struct exchange *ex)
{
    ex->resp.status = 204;
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module app_module = {
    .name = "app",
    .hooks = {[PHASE_REWRITE] = set_peer, [PHASE_HANDLE] = handle},
};

static void the_first_rule_that_fits_decides(void **state)
{
    (void)state;

    static const struct {
        const char *top, *site, *path;
        bool may_come;
    } CASES[] = {
        {"", "", "", true},
        {"", "deny all;", "", false},
        {"", "deny 192.0.2.1;", "", false},
        {"", "deny 192.0.2.2 192.0.2.0/30;", "", false},
        {"", "deny 192.0.2.2;", "", true},
        {"", "deny unix:;", "", true},
        {"", "allow unix:;", "", false},
        {"", "allow 192.0.2.1; deny all;", "", true},
        {"", "deny all; allow 192.0.2.1;", "", false},
        {"", "allow 192.0.2.2;", "", false}, // no "deny all" is needed
        {"", "allow 192.0.2.2; allow all;", "", true},
        {"", "deny 192.0.2.2; allow 192.0.2.3;", "", false},
        {"", "allow 2001:db8::/32;", "", false},
        {"deny all;", "", "", false},
        {"deny all;", "allow 192.0.2.0/24;", "", true},
        {"deny 192.0.2.1;", "allow all;", "", true},
        {"", "deny all;", "allow all;", true},
        {"", "allow all;", "deny 192.0.2.1;", false},
        {"", "deny 192.0.2.1;", "allow 198.51.100.0/24;", false},
        {"allow 192.0.2.1;", "", "allow 192.0.2.7;", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        long long before = stage_metric(&stage, "access_refused");
        stage_config(&stage, arena_fmt(&arena, "%s site _ { %s path /p/ { %s } }", CASES[i].top,
                                       CASES[i].site, CASES[i].path)
                                 .ptr);
        if ((ask(&a, &stage, "/p/x", NULL) == 204) != CASES[i].may_come)
            fail_msg("%s %s %s: %d", CASES[i].top, CASES[i].site, CASES[i].path, a.status);
        assert_int_equal(a.status, CASES[i].may_come ? 204 : 403);
        assert_int_equal(stage_metric(&stage, "access_refused"), before + !CASES[i].may_come);
        ask_done(&a);
        arena_done(&arena);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&access_module, &app_module};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    return sock_addr_parse(STR("192.0.2.1:1"), &peer.addr) ? 0 : -1;
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
        cmocka_unit_test(the_first_rule_that_fits_decides),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
