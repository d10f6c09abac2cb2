// SPDX-License-Identifier: Apache-2.0
// trusted_proxies_test -- who is taken for the client.
#include <stdio.h>

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
#include "feature/trusted_proxies.h"

static struct stage stage;
static struct peer peer;
static char seen[256]; // "ip port scheme local-port" as handlers see it

static enum phase_result set_peer(struct exchange *ex)
{
    ex->peer = &peer;
    return PHASE_NEXT;
}

static enum phase_result handle(struct exchange *ex)
{
    (void)snprintf(seen, sizeof seen, "%s %u %s %u", ex->peer->ip, ex->peer->port,
                   ex->peer->is_tls ? "https" : "http", ex->peer->local_port);
    ex->resp.status = 204;
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module peer_module = {.name = "peer", .hooks = {[PHASE_REWRITE] = set_peer}};
static struct module app_module = {.name = "app", .hooks = {[PHASE_HANDLE] = handle}};

#define TRUST "trusted_proxies 192.0.2.0/24 2001:db8::/32;"
#define RFC   TRUST "trusted_proxies_header forwarded;"

static void clients_behind_proxies(void **state)
{
    (void)state;

    static const struct {
        const char *directives, *from, *headers, *seen;
    } CASES[] = {
        {"", "192.0.2.1:7", "X-Forwarded-For: 198.51.100.1", "192.0.2.1 7 http 8080"},
        {TRUST, "203.0.113.1:7", "X-Forwarded-For: 198.51.100.1\nX-Forwarded-Proto: https",
         "203.0.113.1 7 http 8080"},
        {TRUST, "192.0.2.1:7", NULL, "192.0.2.1 7 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: 198.51.100.1", "198.51.100.1 0 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: 198.51.100.1:99", "198.51.100.1 99 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: 1.1.1.1, 198.51.100.1, 192.0.2.9",
         "198.51.100.1 0 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: 1.1.1.1\nX-Forwarded-For: 198.51.100.1",
         "198.51.100.1 0 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: 192.0.2.7, 192.0.2.8", "192.0.2.7 0 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: 1.1.1.1, unknown, 192.0.2.9",
         "192.0.2.9 0 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: 1.1.1.1, garbage", "192.0.2.1 7 http 8080"},
        {TRUST, "[2001:db8::5]:7", "X-Forwarded-For: 2001:db9::1", "2001:db9::1 0 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-For: ::ffff:198.51.100.1", "198.51.100.1 0 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-Proto: https", "192.0.2.1 7 https 443"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-Proto: http, HTTPS", "192.0.2.1 7 https 443"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-Proto: http", "192.0.2.1 7 http 80"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-Proto: gopher", "192.0.2.1 7 http 8080"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-Proto: https\nX-Forwarded-Port: 8443",
         "192.0.2.1 7 https 8443"},
        {TRUST, "192.0.2.1:7", "X-Forwarded-Port: 0", "192.0.2.1 7 http 8080"},
        {TRUST, "192.0.2.1:7", "Forwarded: for=198.51.100.1;proto=https", "192.0.2.1 7 http 8080"},
        {RFC, "192.0.2.1:7", "Forwarded: for=198.51.100.1;proto=https", "198.51.100.1 0 https 443"},
        {RFC, "192.0.2.1:7",
         "Forwarded: for=1.1.1.1;proto=http, for=198.51.100.1;proto=https, for=192.0.2.4",
         "198.51.100.1 0 https 443"},
        {RFC, "192.0.2.1:7", "Forwarded: for=198.51.100.1;proto", "192.0.2.1 7 http 8080"},
        {RFC, "192.0.2.1:7", "X-Forwarded-For: 198.51.100.1", "192.0.2.1 7 http 8080"},
        {"trusted_proxies unix:;", "unix:/x", "X-Forwarded-For: 198.51.100.1",
         "198.51.100.1 0 http 8080"},
        {TRUST, "unix:/x", "X-Forwarded-For: 198.51.100.1", "unix: 0 http 8080"},
        {"trusted_proxies off;", "192.0.2.1:7", "X-Forwarded-For: 198.51.100.1",
         "192.0.2.1 7 http 8080"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct ask a;
        stage_config(&stage, arena_fmt(&arena, "%s site _ { }", CASES[i].directives).ptr);
        peer = (struct peer){.local_port = 8080};
        assert_true(sock_addr_parse(str_c(CASES[i].from), &peer.addr));
        (void)sock_addr_ip(&peer.addr, peer.ip, &peer.port);
        assert_int_equal(ask(&a, &stage, "/", CASES[i].headers), 204);
        assert_string_equal(seen, CASES[i].seen);
        ask_done(&a);
        arena_done(&arena);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&peer_module, &trusted_proxies_module, &app_module};
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
        cmocka_unit_test(clients_behind_proxies),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
