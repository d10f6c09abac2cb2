// SPDX-License-Identifier: Apache-2.0
// date_test -- dates written and read, against the calendar of the C library.
#include "http/date.h"

#include <time.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

static const int64_t NOW_S = 1750000000; // June 2025

// RFC 9110 §5.6.7.
static void the_fixed_form_is_written(void **state)
{
    (void)state;

    static const struct format_case {
        int64_t unix_s;
        const char *text;
    } CASES[] = {
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
        {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
        {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
        {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
        {-62167219200, "Sat, 01 Jan 0000 00:00:00 GMT"},
        {INT64_MAX, "Fri, 31 Dec 9999 23:59:59 GMT"},
        {INT64_MIN, "Sat, 01 Jan 0000 00:00:00 GMT"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char room[DATE_BYTES + 1];
        struct str text = date_format(CASES[i].unix_s, room);
        assert_int_equal(text.len, DATE_BYTES);
        assert_string_equal(room, CASES[i].text);
    }
}

// Some moments of each day of four hundred years: a whole turn of the calendar.
static void the_calendar_is_that_of_the_library(void **state)
{
    (void)state;
    const int64_t day_s = 86400;
    for (int64_t day = -1000; day < 146097; day++) {
        time_t moment = (time_t)(day * day_s + day * 7919 % day_s);
        struct tm tm;
        assert_non_null(gmtime_r(&moment, &tm));
        struct date_parts p = date_split(moment);
        if (p.year != tm.tm_year + 1900 || p.month != tm.tm_mon + 1 || p.day != tm.tm_mday
            || p.weekday != tm.tm_wday || p.hour != tm.tm_hour || p.minute != tm.tm_min
            || p.second != tm.tm_sec || date_join(&p) != moment)
            fail_msg("%lld", (long long)moment);
    }
}

// Missing `unix_s` (MUST_FAIL) means refused.
#define MUST_FAIL INT64_MIN

static const struct parse_case {
    struct str text;
    int64_t unix_s;
} CASES[] = {
    {STR_INIT("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777},
    {STR_INIT("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777},
    {STR_INIT("Sun Nov  6 08:49:37 1994"), 784111777},
    {STR_INIT("Sun Nov 16 08:49:37 1994"), 784975777},
    {STR_INIT("Mon, 06 Nov 1994 08:49:37 GMT"), 784111777}, // the weekday need not agree
    {STR_INIT("Tue, 29 Feb 2000 00:00:00 GMT"), 951782400},
    {STR_INIT("Wed, 31 Dec 2008 23:59:60 GMT"), 1230768000},   // a leap second
    {STR_INIT("Tuesday, 01-Jan-75 00:00:00 GMT"), 3313526400}, // 50 years ahead: 2075
    {STR_INIT("Thursday, 01-Jan-76 00:00:00 GMT"), 189302400}, // 51 years ahead: 1976
    {STR_INIT(""), MUST_FAIL},
    {STR_INIT("Sun"), MUST_FAIL},
    {STR_INIT("0"), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 1994 08:49:37"), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 1994 08:49:37 GMT "), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 1994 08:49:37 UTC"), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 1994 08:49:37 +0000"), MUST_FAIL},
    {STR_INIT("sun, 06 nov 1994 08:49:37 gmt"), MUST_FAIL},
    {STR_INIT("Sun, 6 Nov 1994 08:49:37 GMT"), MUST_FAIL},
    {STR_INIT("Sun, 00 Nov 1994 08:49:37 GMT"), MUST_FAIL},
    {STR_INIT("Sun, 31 Nov 1994 08:49:37 GMT"), MUST_FAIL},
    {STR_INIT("Tue, 29 Feb 1900 00:00:00 GMT"), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 1994 24:00:00 GMT"), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 1994 08:60:00 GMT"), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 1994 08:49:61 GMT"), MUST_FAIL},
    {STR_INIT("Sun, 06 Foo 1994 08:49:37 GMT"), MUST_FAIL},
    {STR_INIT("Sun, 06 Nov 19x4 08:49:37 GMT"), MUST_FAIL},
    {STR_INIT("Sunday, 06-Nov-1994 08:49:37 GMT"), MUST_FAIL},
    {STR_INIT("Sun Nov 6 08:49:37 1994"), MUST_FAIL},
};

static void the_three_forms_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int64_t unix_s = MUST_FAIL;
        bool ok = date_parse(guard_copy(CASES[i].text), NOW_S, &unix_s);
        if (unix_s != CASES[i].unix_s || ok != (unix_s != MUST_FAIL))
            fail_msg("%.*s: %lld", STR_ARG(CASES[i].text), (long long)unix_s);
    }
}

static void each_beginning_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t len = 0; len < CASES[i].text.len; len++) {
            int64_t unix_s;
            assert_false(date_parse(guard_copy(str_slice(CASES[i].text, 0, len)), NOW_S, &unix_s));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixed_form_is_written),
        cmocka_unit_test(the_calendar_is_that_of_the_library),
        cmocka_unit_test(the_three_forms_are_read),
        cmocka_unit_test(each_beginning_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
