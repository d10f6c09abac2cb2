// SPDX-License-Identifier: Apache-2.0
// method_test -- method names and their promises.
#include "http/method.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

static void names_lead_back_to_their_methods(void **state)
{
    (void)state;
    for (int m = HTTP_GET; m < HTTP_METHOD_COUNT; m++) {
        struct str name = method_name((enum http_method)m);
        assert_true(name.len > 0);
        assert_int_equal(method_find(name), m);
    }
}

static void other_tokens_are_other(void **state)
{
    (void)state;
    static const struct str TOKENS[] = {
        STR_INIT(""),     STR_INIT("get"), // RFC 9110 §9.1: case matters
        STR_INIT("GETS"), STR_INIT("GE"),  STR_INIT("Get"), STR_INIT("BREW"),
    };
    for (size_t i = 0; i < ARRAY_LEN(TOKENS); i++)
        assert_int_equal(method_find(TOKENS[i]), HTTP_METHOD_OTHER);
}

// RFC 9110 §9.2, RFC 4918 §9, RFC 5789 §2.
static void promises_are_those_of_the_registry(void **state)
{
    (void)state;

    static const struct promise_case {
        enum http_method method;
        bool is_safe, is_idempotent;
    } CASES[] = {
        {HTTP_GET, true, true},
        {HTTP_HEAD, true, true},
        {HTTP_POST, false, false},
        {HTTP_PUT, false, true},
        {HTTP_DELETE, false, true},
        {HTTP_CONNECT, false, false},
        {HTTP_OPTIONS, true, true},
        {HTTP_TRACE, true, true},
        {HTTP_PATCH, false, false},
        {HTTP_PROPFIND, true, true},
        {HTTP_MKCOL, false, true},
        {HTTP_LOCK, false, false},
        {HTTP_METHOD_OTHER, false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_int_equal(method_is_safe(CASES[i].method), CASES[i].is_safe);
        assert_int_equal(method_is_idempotent(CASES[i].method), CASES[i].is_idempotent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lead_back_to_their_methods),
        cmocka_unit_test(other_tokens_are_other),
        cmocka_unit_test(promises_are_those_of_the_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
