// SPDX-License-Identifier: Apache-2.0
// condition_test -- conditional requests in the order of RFC 9110 §13.2.2.
#include "http/condition.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

static const int64_t NOW_S = 1750000000;

#define OLD  STR_INIT("Sun, 06 Nov 1994 08:49:36 GMT")
#define SAME STR_INIT("Sun, 06 Nov 1994 08:49:37 GMT")
#define LATE STR_INIT("Sun, 06 Nov 1994 08:49:38 GMT")

static const struct condition_state STRONG = {.exists = true,
                                              .has_mtime = true,
                                              .mtime_s = 784111777,
                                              .etag = STR_INIT("\"a\"")};
static const struct condition_state WEAK = {.exists = true,
                                            .has_mtime = true,
                                            .mtime_s = 784111777,
                                            .etag = STR_INIT("W/\"a\"")};
static const struct condition_state NO_TAG = {.exists = true};
static const struct condition_state ABSENT = {.exists = false};
static const struct condition_state YOUNG = {.exists = true,
                                             .has_mtime = true,
                                             .mtime_s = 1750000000,
                                             .etag = STR_INIT("\"a\"")};

static const struct condition_case {
    const char *name;
    enum http_method method;
    const struct condition_state *state;
    struct condition condition;
    enum condition_result expected;
    bool range_applies;
} CASES[] = {
    {"no condition", HTTP_GET, &STRONG, {.if_match = {NULL, 0}}, CONDITION_PROCEED, true},
    {"RFC 9110 §14.2: ranges are for GET",
     HTTP_HEAD,
     &STRONG,
     {.if_match = {NULL, 0}},
     CONDITION_PROCEED,
     false},
    {"§13.1.1: If-Match holds",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("\"b\", \"a\"")},
     CONDITION_PROCEED,
     false},
    {"§13.1.1: If-Match fails",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("\"b\"")},
     CONDITION_FAILED,
     false},
    {"§13.1.1: If-Match fails for GET too",
     HTTP_GET,
     &STRONG,
     {.if_match = STR_INIT("\"b\"")},
     CONDITION_FAILED,
     true},
    {"§13.1.1: If-Match any",
     HTTP_PUT,
     &NO_TAG,
     {.if_match = STR_INIT(" * ")},
     CONDITION_PROCEED,
     false},
    {"§13.1.1: If-Match any of nothing",
     HTTP_PUT,
     &ABSENT,
     {.if_match = STR_INIT("*")},
     CONDITION_FAILED,
     false},
    {"§13.1.1: If-Match compares strongly",
     HTTP_PUT,
     &WEAK,
     {.if_match = STR_INIT("W/\"a\"")},
     CONDITION_FAILED,
     false},
    {"§13.1.1: an empty If-Match",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("")},
     CONDITION_FAILED,
     false},
    {"§8.8.3: a tag with a comma",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("\"b,\",\"a\"")},
     CONDITION_PROCEED,
     false},
    {"§8.8.3: a tag without quotes",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("a")},
     CONDITION_FAILED,
     false},
    {"§8.8.3: a tag without end",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("\"a")},
     CONDITION_FAILED,
     false},
    {"§8.8.3: no comma between tags",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("\"b\" \"a\"")},
     CONDITION_FAILED,
     false},
    {"§13.1.4: If-Unmodified-Since holds",
     HTTP_PUT,
     &STRONG,
     {.if_unmodified_since = SAME},
     CONDITION_PROCEED,
     false},
    {"§13.1.4: If-Unmodified-Since fails",
     HTTP_PUT,
     &STRONG,
     {.if_unmodified_since = OLD},
     CONDITION_FAILED,
     false},
    {"§13.1.4: no date is no condition",
     HTTP_PUT,
     &STRONG,
     {.if_unmodified_since = STR_INIT("x")},
     CONDITION_PROCEED,
     false},
    {"§13.1.4: nothing to compare with",
     HTTP_PUT,
     &NO_TAG,
     {.if_unmodified_since = OLD},
     CONDITION_PROCEED,
     false},
    {"§13.2.2: If-Match before If-Unmodified-Since",
     HTTP_PUT,
     &STRONG,
     {.if_match = STR_INIT("\"a\""), .if_unmodified_since = OLD},
     CONDITION_PROCEED,
     false},
    {"§13.1.2: If-None-Match",
     HTTP_GET,
     &STRONG,
     {.if_none_match = STR_INIT("\"b\",W/\"a\"")},
     CONDITION_NOT_MODIFIED,
     true},
    {"§13.1.2: If-None-Match compares weakly",
     HTTP_HEAD,
     &WEAK,
     {.if_none_match = STR_INIT("\"a\"")},
     CONDITION_NOT_MODIFIED,
     false},
    {"§13.1.2: If-None-Match of another",
     HTTP_GET,
     &STRONG,
     {.if_none_match = STR_INIT("\"A\"")},
     CONDITION_PROCEED,
     true},
    {"§13.1.2: If-None-Match any, for a first write",
     HTTP_PUT,
     &STRONG,
     {.if_none_match = STR_INIT("*")},
     CONDITION_FAILED,
     false},
    {"§13.1.2: If-None-Match any of nothing",
     HTTP_PUT,
     &ABSENT,
     {.if_none_match = STR_INIT("*")},
     CONDITION_PROCEED,
     false},
    {"§13.1.3: not modified",
     HTTP_GET,
     &STRONG,
     {.if_modified_since = SAME},
     CONDITION_NOT_MODIFIED,
     true},
    {"§13.1.3: not modified since later",
     HTTP_GET,
     &STRONG,
     {.if_modified_since = LATE},
     CONDITION_NOT_MODIFIED,
     true},
    {"§13.1.3: modified", HTTP_GET, &STRONG, {.if_modified_since = OLD}, CONDITION_PROCEED, true},
    {"§13.1.3: for GET and HEAD only",
     HTTP_POST,
     &STRONG,
     {.if_modified_since = SAME},
     CONDITION_PROCEED,
     false},
    {"§13.1.3: no date is no condition",
     HTTP_GET,
     &STRONG,
     {.if_modified_since = STR_INIT("x")},
     CONDITION_PROCEED,
     true},
    {"§13.1.3: nothing to compare with",
     HTTP_GET,
     &NO_TAG,
     {.if_modified_since = SAME},
     CONDITION_PROCEED,
     true},
    {"§13.2.2: If-None-Match before If-Modified-Since",
     HTTP_GET,
     &STRONG,
     {.if_none_match = STR_INIT("\"b\""), .if_modified_since = SAME},
     CONDITION_PROCEED,
     true},
    {"§13.2.2: If-Match before If-None-Match",
     HTTP_GET,
     &STRONG,
     {.if_match = STR_INIT("\"b\""), .if_none_match = STR_INIT("\"a\"")},
     CONDITION_FAILED,
     true},
    {"§13.1.5: If-Range by tag",
     HTTP_GET,
     &STRONG,
     {.if_range = STR_INIT("\"a\"")},
     CONDITION_PROCEED,
     true},
    {"§13.1.5: If-Range by another tag",
     HTTP_GET,
     &STRONG,
     {.if_range = STR_INIT("\"b\"")},
     CONDITION_PROCEED,
     false},
    {"§13.1.5: If-Range by a weak tag",
     HTTP_GET,
     &WEAK,
     {.if_range = STR_INIT("W/\"a\"")},
     CONDITION_PROCEED,
     false},
    {"§13.1.5: If-Range by a list",
     HTTP_GET,
     &STRONG,
     {.if_range = STR_INIT("\"a\", \"b\"")},
     CONDITION_PROCEED,
     false},
    {"§13.1.5: If-Range by date", HTTP_GET, &STRONG, {.if_range = SAME}, CONDITION_PROCEED, true},
    {"§13.1.5: If-Range by a later date",
     HTTP_GET,
     &STRONG,
     {.if_range = LATE},
     CONDITION_PROCEED,
     false},
    {"§8.8.2.2: a date within its second is weak",
     HTTP_GET,
     &YOUNG,
     {.if_range = STR_INIT("Sun, 15 Jun 2025 15:06:40 GMT")},
     CONDITION_PROCEED,
     false},
    {"§13.1.5: If-Range of nothing",
     HTTP_GET,
     &ABSENT,
     {.if_range = STR_INIT("\"a\"")},
     CONDITION_PROCEED,
     false},
    {"§13.1.5: If-Range by neither",
     HTTP_GET,
     &STRONG,
     {.if_range = STR_INIT("x")},
     CONDITION_PROCEED,
     false},
};

static void verdicts_follow_the_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct condition_case *c = &CASES[i];
        bool applies = !c->range_applies;
        enum condition_result result =
            condition_eval(&c->condition, c->method, c->state, NOW_S, &applies);
        if (result != c->expected || applies != c->range_applies)
            fail_msg("%s: %d, range %d", c->name, (int)result, applies);
    }
}

// A tag at the very end of readable memory.
static void reading_stops_at_the_end(void **state)
{
    (void)state;
    static const struct str VALUES[] = {STR_INIT("W/"),     STR_INIT("W"),     STR_INIT("\""),
                                        STR_INIT("W/\""),   STR_INIT("\"b\""), STR_INIT("\"b\","),
                                        STR_INIT("\"b\", ")};
    for (size_t i = 0; i < ARRAY_LEN(VALUES); i++) {
        struct condition c = {.if_none_match = guard_copy(VALUES[i])};
        bool applies;
        assert_int_equal(condition_eval(&c, HTTP_GET, &STRONG, NOW_S, &applies), CONDITION_PROCEED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_follow_the_order),
        cmocka_unit_test(reading_stops_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
