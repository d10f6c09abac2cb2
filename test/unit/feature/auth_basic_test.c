// SPDX-License-Identifier: Apache-2.0
// auth_basic_test -- who gets in, what is remembered, and what happens to clients that leave while
// their password is checked.
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
#include "core/exchange.h"
#include "feature/auth_basic.h"

#define TURNS_MAX 1000

static struct stage stage;
static char user[64]; // that the app has seen

static enum phase_result handle(struct exchange *ex)
{
    (void)snprintf(user, sizeof user, "%.*s", STR_ARG(ex->facts.user));
    ex->resp.status = 204;
    exchange_respond(ex);
    return PHASE_DONE;
}

static struct module app_module = {.name = "app", .hooks = {[PHASE_HANDLE] = handle}};

static void get(struct ask *a, const char *headers)
{
    user[0] = '\0';
    ask_begin(a, &stage, HTTP_GET, "/", headers);
    for (int i = 0; i < TURNS_MAX && !a->answered; i++)
        stage_turn(&stage, 100);
    ask_end(a);
    assert_true(a->answered);
}

static void names_and_passwords(void **state)
{
    (void)state;

    static const struct {
        const char *headers;
        int status;
        const char *user;
    } CASES[] = {
        {NULL, 401, ""},
        {"Authorization: Basic YW5uOnNlY3JldA==", 204, "ann"}, // ann:secret, {SHA}
        {"Authorization: Basic YW5uOnNlY3JldA==", 204, "ann"}, // now remembered
        {"Authorization: Basic YW5uOlNlY3JldA==", 401, ""},    // ann:Secret
        {"Authorization: Basic Ym9iOnNlY3JldA==", 204, "bob"}, // bob:secret, bcrypt
        {"Authorization: Basic Y2FybDpzZWNyZXQ=", 401, ""},    // carl:secret, in plain text
        {"Authorization: Basic ZGF2ZTpzZWNyZXQ=", 401, ""},    // dave:secret, nobody
        {"Authorization: Basic YW5uOg==", 401, ""},            // ann:
        {"Authorization: Basic !", 401, ""},
        {"Authorization: Bearer YW5uOnNlY3JldA==", 401, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        get(&a, CASES[i].headers);
        if (a.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].headers, a.status);
        assert_string_equal(user, CASES[i].user);
        if (a.status == 401)
            assert_string_equal(ask_header(&a, "WWW-Authenticate"),
                                "Basic realm=\"the \\\"inner\\\" part\", charset=\"UTF-8\"");
        ask_done(&a);
    }
}

static void a_changed_file_counts_at_once(void **state)
{
    (void)state;
    struct ask a;
    stage_file(&stage, "users", "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
    get(&a, "Authorization: Basic YW5uOnNlY3JldA==");
    assert_int_equal(a.status, 204);
    ask_done(&a);
    // Another password: what was remembered of the old one is worth nothing.
    stage_file(&stage, "users", "# changed\nann:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=\n");
    get(&a, "Authorization: Basic YW5uOnNlY3JldA==");
    assert_int_equal(a.status, 401);
    ask_done(&a);
    stage_file(&stage, "users", "");
    get(&a, "Authorization: Basic YW5uOg==");
    assert_int_equal(a.status, 401);
    ask_done(&a);
}

static void without_the_file_nobody_enters(void **state)
{
    (void)state;
    struct ask a;
    char full[256];
    (void)snprintf(full, sizeof full, "%s/users", stage.dir);
    assert_int_equal(unlink(full), 0);
    get(&a, "Authorization: Basic YW5uOnNlY3JldA==");
    assert_int_equal(a.status, 500);
    ask_done(&a);
    stage_file(&stage, "users", "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
    get(&a, "Authorization: Basic YW5uOnNlY3JldA==");
    assert_int_equal(a.status, 204);
    ask_done(&a);
}

static void clients_may_leave_meanwhile(void **state)
{
    (void)state;
    struct ask a;
    ask_begin(&a, &stage, HTTP_GET, "/", "Authorization: Basic YW5uOm90aGVy");
    assert_false(a.answered);
    exchange_abort(a.ex);
    ask_end(&a);
    ask_done(&a);
    // The job ends after its exchange; the next one is not disturbed.
    get(&a, "Authorization: Basic YW5uOnNlY3JldA==");
    assert_int_equal(a.status, 204);
    ask_done(&a);
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&auth_basic_module, &app_module};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    stage_file(&stage, "users",
               "# users\n"
               "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"
               "bob:$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW:Bob\n"
               "carl:secret\n"
               "ann:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=\n");
    stage_config(&stage, "file_check 0; site _ { auth_file $D/users;"
                         "auth_basic 'the \"inner\" part'; }");
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
        cmocka_unit_test(names_and_passwords),
        cmocka_unit_test(a_changed_file_counts_at_once),
        cmocka_unit_test(without_the_file_nobody_enters),
        cmocka_unit_test(clients_may_leave_meanwhile),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
