// SPDX-License-Identifier: Apache-2.0
// basic_auth_test -- credentials and lines of password files, good and bad.
#include "http/basic_auth.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static void credentials_are_read(void **state)
{
    (void)state;

    static const struct {
        const char *value, *user, *password; // user NULL: refused
    } CASES[] = {
        {"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"},
        {"basic QWxhZGRpbjpvcGVuIHNlc2FtZQ", "Aladdin", "open sesame"},
        {"BASIC   YTpi", "a", "b"},
        {"Basic YTo=", "a", ""},
        {"Basic YTpiOmM=", "a", "b:c"},
        {"Basic dGVzdDoxMjPCow==", "test", "123\xc2\xa3"},
        {"Basic OmI=", NULL, NULL},     // ":b"
        {"Basic YWI=", NULL, NULL},     // no colon
        {"Basic YTpiAA==", NULL, NULL}, // a NUL
        {"Basic YTpiCg==", NULL, NULL}, // a line feed
        {"Basic YTpi=", NULL, NULL},
        {"Basic YTpi====", NULL, NULL},
        {"Basic YT=pi", NULL, NULL},
        {"Basic YTp-", NULL, NULL},
        {"Basic YTpjZB==", NULL, NULL}, // bits left over
        {"Basic YT pi", NULL, NULL},
        {"Basic", NULL, NULL},
        {"Basic ", NULL, NULL},
        {"BasicYTpi", NULL, NULL},
        {"Bearer YTpi", NULL, NULL},
        {"", NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena arena = {0};
        struct basic_auth who;
        if (basic_auth_parse(str_c(CASES[i].value), &arena, &who) != (CASES[i].user != NULL))
            fail_msg("%s", CASES[i].value);
        if (CASES[i].user) {
            assert_string_equal(who.user.ptr, CASES[i].user);
            assert_string_equal(who.password.ptr, CASES[i].password);
        }
        arena_done(&arena);
    }
}

static void lines_are_read(void **state)
{
    (void)state;

    static const struct {
        const char *line;
        enum basic_auth_line kind;
        const char *user, *hash;
    } CASES[] = {
        {"ann:$2y$05$x", BASIC_AUTH_USER, "ann", "$2y$05$x"},
        {"ann:{SHA}a=\r", BASIC_AUTH_USER, "ann", "{SHA}a="},
        {" ann b:h:Full Name ", BASIC_AUTH_USER, "ann b", "h"},
        {"", BASIC_AUTH_NOTHING, NULL, NULL},
        {" \t\r", BASIC_AUTH_NOTHING, NULL, NULL},
        {"# ann:x", BASIC_AUTH_NOTHING, NULL, NULL},
        {"ann", BASIC_AUTH_BAD, NULL, NULL},
        {"ann:", BASIC_AUTH_BAD, NULL, NULL},
        {":x", BASIC_AUTH_BAD, NULL, NULL},
        {"a\x01:x", BASIC_AUTH_BAD, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct str user;
        struct str hash;
        assert_int_equal(basic_auth_line(str_c(CASES[i].line), &user, &hash), CASES[i].kind);
        if (CASES[i].kind != BASIC_AUTH_USER)
            continue;
        assert_true(str_eq(user, str_c(CASES[i].user)));
        assert_true(str_eq(hash, str_c(CASES[i].hash)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credentials_are_read),
        cmocka_unit_test(lines_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
