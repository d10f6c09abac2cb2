// SPDX-License-Identifier: Apache-2.0
// accept_encoding_test -- weights of content codings.
#include "http/accept_encoding.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

static void weights_are_read(void **state)
{
    (void)state;

    static const struct {
        struct str value, coding;
        int quality;
    } CASES[] = {
        {STR_INIT("gzip"), STR_INIT("gzip"), 1000},
        {STR_INIT("deflate, GZip;q=0.5"), STR_INIT("gzip"), 500},
        {STR_INIT("gzip ; q=0.123"), STR_INIT("gzip"), 123},
        {STR_INIT("gzip;Q=1.000"), STR_INIT("gzip"), 1000},
        {STR_INIT("gzip;q=0"), STR_INIT("gzip"), 0},
        {STR_INIT("gzip;q=0.000, *"), STR_INIT("gzip"), 0},
        {STR_INIT("*;q=0.2"), STR_INIT("gzip"), 200},
        {STR_INIT("x-gzip"), STR_INIT("gzip"), 1000},
        {STR_INIT("gzipped, br"), STR_INIT("gzip"), ACCEPT_ENCODING_UNNAMED},
        {STR_INIT(""), STR_INIT("gzip"), ACCEPT_ENCODING_UNNAMED},
        {STR_INIT("identity;q=1, br;q=0.9"), STR_INIT("br"), 900},
        {STR_INIT("gzip;q=1.1"), STR_INIT("gzip"), 0},
        {STR_INIT("gzip;q=0.1234"), STR_INIT("gzip"), 0},
        {STR_INIT("gzip;q=.5"), STR_INIT("gzip"), 0},
        {STR_INIT("gzip;q="), STR_INIT("gzip"), 0},
        {STR_INIT("gzip;q=-1"), STR_INIT("gzip"), 0},
        {STR_INIT("gzip;q=1.x"), STR_INIT("gzip"), 0},
        {STR_INIT("gzip;level=9;q=0.3"), STR_INIT("gzip"), 300},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int quality = accept_encoding_quality(guard_copy(CASES[i].value), CASES[i].coding);
        if (quality != CASES[i].quality)
            fail_msg("%.*s: %d", STR_ARG(CASES[i].value), quality);
    }
    assert_int_equal(accept_encoding_quality((struct str){0}, STR("br")), ACCEPT_ENCODING_UNNAMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
