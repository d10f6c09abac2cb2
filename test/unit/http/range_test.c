// SPDX-License-Identifier: Apache-2.0
// range_test -- ranges against known sizes.
#include "http/range.h"

#include <stdio.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

// `shown` lists "first+len" of each range.
static const struct range_case {
    const char *name;
    struct str value;
    uint64_t size;
    enum range_result expected;
    const char *shown;
} CASES[] = {
    {"RFC 9110 §14.2: no header", {NULL, 0}, 10000, RANGE_NONE, ""},
    {"RFC 9110 §14.1.2: the first 500", STR_INIT("bytes=0-499"), 10000, RANGE_OK, "0+500"},
    {"RFC 9110 §14.1.2: the second 500", STR_INIT("bytes=500-999"), 10000, RANGE_OK, "500+500"},
    {"RFC 9110 §14.1.2: the last 500", STR_INIT("bytes=-500"), 10000, RANGE_OK, "9500+500"},
    {"RFC 9110 §14.1.2: from 9500 on", STR_INIT("bytes=9500-"), 10000, RANGE_OK, "9500+500"},
    {"RFC 9110 §14.1.2: first and last byte", STR_INIT("bytes=0-0,-1"), 10000, RANGE_OK,
     "0+1 9999+1"},
    {"RFC 9110 §14.1.2: white space", STR_INIT("bytes= 0-0 , 4-5,"), 10000, RANGE_OK, "0+1 4+2"},
    {"RFC 9110 §14.1.1: the unit in any case", STR_INIT("Bytes=0-0"), 10, RANGE_OK, "0+1"},
    {"RFC 9110 §14.1.2: the end is cut", STR_INIT("bytes=5-99"), 10, RANGE_OK, "5+5"},
    {"RFC 9110 §14.1.2: a long suffix is all", STR_INIT("bytes=-99"), 10, RANGE_OK, "0+10"},
    {"RFC 9110 §14.1.2: beyond 64 bits", STR_INIT("bytes=5-99999999999999999999999"), 10, RANGE_OK,
     "5+5"},
    {"RFC 9110 §14.1.2: a suffix beyond 64 bits", STR_INIT("bytes=-99999999999999999999999"), 10,
     RANGE_OK, "0+10"},
    {"RFC 9110 §14.1.2: the greatest size", STR_INIT("bytes=0-18446744073709551615"), UINT64_MAX,
     RANGE_OK, "0+18446744073709551615"},
    {"RFC 9110 §14.2: one of two exists", STR_INIT("bytes=99-,1-2"), 10, RANGE_OK, "1+2"},
    {"RFC 9110 §15.5.17: behind the end", STR_INIT("bytes=10-"), 10, RANGE_UNSATISFIABLE, ""},
    {"RFC 9110 §15.5.17: far behind the end", STR_INIT("bytes=99999999999999999999999-"), 10,
     RANGE_UNSATISFIABLE, ""},
    {"RFC 9110 §15.5.17: an empty suffix", STR_INIT("bytes=-0"), 10, RANGE_UNSATISFIABLE, ""},
    {"RFC 9110 §14.2: nothing is there", STR_INIT("bytes=0-"), 0, RANGE_IGNORED, ""},
    {"RFC 9110 §14.2: the end of nothing", STR_INIT("bytes=-5"), 0, RANGE_IGNORED, ""},
    {"RFC 9110 §14.2: another unit", STR_INIT("lines=0-1"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.2: no ranges", STR_INIT("bytes="), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.2: an empty value", STR_INIT(""), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: backwards", STR_INIT("bytes=5-4"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: backwards behind the end", STR_INIT("bytes=99-98"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: no dash", STR_INIT("bytes=5"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: a dash alone", STR_INIT("bytes=-"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: two dashes", STR_INIT("bytes=1--2"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: a sign", STR_INIT("bytes=+1-2"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: letters", STR_INIT("bytes=a-b"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.1.1: good, then bad", STR_INIT("bytes=0-1,x"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.2: two overlap", STR_INIT("bytes=0-5,3-9"), 10, RANGE_OK, "0+6 3+7"},
    {"RFC 9110 §14.2: many overlap", STR_INIT("bytes=0-,0-,0-"), 10, RANGE_IGNORED, ""},
    {"RFC 9110 §14.2: the most ranges",
     STR_INIT("bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9,10-10,11-11,12-12,13-13,14-14,15-15"),
     99, RANGE_OK, "0+1 1+1 2+1 3+1 4+1 5+1 6+1 7+1 8+1 9+1 10+1 11+1 12+1 13+1 14+1 15+1"},
    {"RFC 9110 §14.2: one too many",
     STR_INIT("bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9,10-10,11-11,12-12,13-13,14-14,15-15,"
              "16-16"),
     99, RANGE_IGNORED, ""},
};

static const char *show(const struct range_set *set)
{
    static char text[1024];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < set->count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%llu+%llu", i ? " " : "",
                                (unsigned long long)set->ranges[i].first,
                                (unsigned long long)set->ranges[i].len);
    }
    return text;
}

static void ranges_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct range_case *c = &CASES[i];
        struct range_set set = {.count = 0};
        struct str value = c->value.ptr ? guard_copy(c->value) : c->value;
        enum range_result result = range_parse(value, c->size, &set);
        if (result != c->expected || strcmp(show(&set), c->shown) != 0)
            fail_msg("%s: %d %s", c->name, (int)result, show(&set));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
