// SPDX-License-Identifier: Apache-2.0
// hash_test -- SipHash-1-3 gives the values that other programs get.
#include "base/hash.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

// Values under the zero key, as CPython 3.11 computes them for bytes with PYTHONHASHSEED=0. For the
// empty string, for which CPython is special, see hash_depends_on_the_key.
static void values_match_another_implementation(void **state)
{
    (void)state;

    static const struct {
        struct str text;
        uint64_t hash;
    } CASES[] = {
        {STR_INIT("a"), 0x407448d2b89b1813u},
        {STR_INIT("ab"), 0x555508cbc6add439u},
        {STR_INIT("abc"), 0xc03bc3a0042630f2u},
        {STR_INIT("abcd"), 0xe3d1d5fdd52aae89u},
        {STR_INIT("hello"), 0xe2e77b41cb4e1f9eu},
        {STR_INIT("hello1"), 0x19ea57f87209d399u},
        {STR_INIT("hello12"), 0xb142391d44cac1ecu},
        {STR_INIT("12345678"), 0x3489982430560a87u},
        {STR_INIT("0123456789abcde"), 0x26f4d862282d8fcbu},
        {STR_INIT("The godwit flies eleven days"), 0x03185a2f125a78ecu},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_int_equal(hash_fixed(CASES[i].text), CASES[i].hash);
}

static void folding_is_ascii_only(void **state)
{
    (void)state;
    assert_int_equal(hash_fold(STR("Content-TYPE")), hash_fold(STR("content-type")));
    assert_int_equal(hash_fold(STR("abc")), hash_str(STR("abc")));
    assert_int_not_equal(hash_fold(STR("\xc4")), hash_fold(STR("\xe4")));
    assert_int_not_equal(hash_fold(STR("@")), hash_fold(STR("`")));
    // Each byte, in a whole word and in what is left behind one.
    for (int byte = 0; byte < 256; byte++) {
        char text[] = "0123456789abc";
        char folded[sizeof text];
        text[3] = text[10] = (char)byte;
        memcpy(folded, text, sizeof text);
        if (byte >= 'A' && byte <= 'Z')
            folded[3] = folded[10] = (char)(byte + 32);
        assert_int_equal(hash_fold(str_c(text)), hash_str(str_c(folded)));
    }
}

static void hash_depends_on_the_key(void **state)
{
    (void)state;
    hash_key(1, 2);
    uint64_t first = hash_str(STR(""));
    hash_key(1, 3);
    assert_int_not_equal(hash_str(STR("")), first);
    hash_key(0, 0);
    assert_int_equal(hash_str(STR("abc")), hash_fixed(STR("abc")));
    assert_int_equal(hash_str(STR("")), hash_fixed(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_match_another_implementation),
        cmocka_unit_test(folding_is_ascii_only),
        cmocka_unit_test(hash_depends_on_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
