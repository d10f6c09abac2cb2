// SPDX-License-Identifier: Apache-2.0
// password_test -- each kind of hash against the password that made it (by crypt(3) and openssl
// passwd) and others.
#include "feature/password.h"

#include "feature/password_cost.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static const struct {
    const char *password, *hash;
} PAIRS[] = {
    {"secret", "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"},
    {"secret", "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"},
    {"secret", "$y$j75$abcdefgh$uMUXG79B2cFpoAYyDccUnsaH/aGTyBYMlnQidzyag01"},
    {"secret", "$6$rounds=1000$saltsalt$LAV5VE5Y7w1d73x1mFNspYWUpazfmwv2SoepNXNKJ/"
               "otop/Zok96Hr8Q13LEv0DRY/x8v0/crpIjl8NJSAqXV/"},
    {"secret", "$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2"},
    {"secret", "$1$saltsalt$9xy1btjgzLYfb7hivXtC//"},
    {"secret", "$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0"},
    {"secret", "$apr1$s$UoSp2veMyXxx3bp9uljYO/"},
    {"secret", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="},
    {"p\xc3\xa4ss w:rd", "$apr1$saltsalt$.Y55M69yx2WvRTLYTKF.50"},
    {"p\xc3\xa4ss w:rd", "$2y$04$abcdefghijklmnopqrstuuCbC.E6R1ytMkbQzLYQTgL2/mXtiBGfa"},
    {"p\xc3\xa4ss w:rd", "{SHA}/8puMXeUPJyUQiPM1c6a7AUPQCg="},
    {"", "$apr1$saltsalt$a8ml/vK5HEjiZ5oypDWA7/"},
    {"", "{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="},
    {"abcdefghijklmnopqrstuvwxyz0123456789", "$apr1$saltsalt$O6vYLaEQZJR73Pxe1H4hr1"},
    {"abcdefghijklmnopqrstuvwxyz0123456789", "{SHA}0phQSaZ3u8S06N6juJxIIOVmjjo="},
};

static void passwords_make_their_hashes(void **state)
{
    (void)state;

    static const char *const OTHERS[] = {"", "Secret", "secret ", "secre", "p\xc3\xa4ss w:re"};

    for (size_t i = 0; i < ARRAY_LEN(PAIRS); i++) {
        struct str hash = str_c(PAIRS[i].hash);
        assert_true(password_is_known(hash));
        if (!password_check(str_c(PAIRS[i].password), hash))
            fail_msg("%s", PAIRS[i].hash);
        for (size_t k = 0; k < ARRAY_LEN(OTHERS); k++) {
            struct str other = str_c(OTHERS[k]);
            if (password_check(other, hash) != str_eq(other, str_c(PAIRS[i].password)))
                fail_msg("%s for %s", OTHERS[k], PAIRS[i].hash);
        }
    }
}

static void nothing_makes_a_bad_hash(void **state)
{
    (void)state;

    static const struct {
        const char *hash;
        bool is_known;
    } CASES[] = {
        {"secret", false},
        {"", false},
        {"rqXexS6ZhobKA", false}, // DES
        {"{PLAIN}secret", false},
        {"*", false},
        {"*0", false},
        {"{SHA}", true},
        {"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ", true},
        {"$apr1$", true},
        {"$apr1$saltsalt$", true},
        {"$apr1$saltsalt", true},
        {"$2y$04$", true},
        {"$6$", true},
        {"$y$", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct str hash = str_c(CASES[i].hash);
        assert_int_equal(password_is_known(hash), CASES[i].is_known);
        assert_false(password_check(STR("secret"), hash));
        assert_false(password_check(STR(""), hash));
        assert_false(password_check(hash, hash));
    }
    // What stands behind a NUL is not left out.
    assert_false(password_check(str_n("secret\0x", 8), str_c(PAIRS[0].hash)));
}

static void what_costs_too_much_is_known_before(void **state)
{
    (void)state;

    static const struct {
        const char *hash;
        bool is_bearable;
    } CASES[] = {
        {"$2y$04$x", true},
        {"$2b$15$x", true},
        {"$2b$16$x", false},
        {"$2a$31$x", false},
        {"$2y$", true}, // no hash at all, so no work
        {"$6$salt$x", true},
        {"$6$rounds=5000000$salt$x", true},
        {"$6$rounds=5000001$salt$x", false},
        {"$5$rounds=999999999$salt$x", false},
        {"$5$rounds=99999999999999999999$salt$x", false},
        {"$5$rounds=x$salt$x", false},
        {"$1$salt$x", true},
        {"$apr1$salt$x", true},
        {"{SHA}x", true},
        {"$y$j75$salt$x", true},   // crypt_gensalt's count 1
        {"$y$j9T$salt$x", true},   // 5, usual
        {"$y$jDT$salt$x", true},   // 9: 256 MiB
        {"$y$jET$salt$x", false},  // 10
        {"$y$jFT$salt$x", false},  // 11
        {"$y$jzz$salt$x", false},  // more than there is
        {"$y$j9T0$salt$x", false}, // ten times as often
        {"$y$", false},
        {"$gy$j9T$salt$x", true},
        {"$gy$jFT$salt$x", false},
        {"$7$CU..../....salt$x", true}, // usual
        {"$7$EU..../....salt$x", true},
        {"$7$FU..../....salt$x", false},
        {"$7$CU..../1...salt$x", false},
        {"$7$CUz.../....salt$x", false},
        {"$7$", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        if (password_cost_is_bearable(str_c(CASES[i].hash)) != CASES[i].is_bearable)
            fail_msg("%s", CASES[i].hash);
    for (size_t i = 0; i < ARRAY_LEN(PAIRS); i++)
        assert_true(password_cost_is_bearable(str_c(PAIRS[i].hash)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_make_their_hashes),
        cmocka_unit_test(nothing_makes_a_bad_hash),
        cmocka_unit_test(what_costs_too_much_is_known_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
