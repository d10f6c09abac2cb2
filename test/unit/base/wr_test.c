// SPDX-License-Identifier: Apache-2.0
// wr_test -- what wr writes, rd reads; both stop at the end of their bytes.
#include "base/wr.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/rd.h"

static const char BYTES[] = "\x01\x02\x03\x04\x05\x06\x07\x08"
                            "\x09\x0a\x0b\x0c\x0d\x0e\x0f"
                            "\x10\x11\x12\x13\x14\x15"
                            "\x02\x00\x00\x00hi";

static void put_all(struct wr *w)
{
    wr_u8(w, 0x01);
    wr_u16be(w, 0x0203);
    wr_u32be(w, 0x04050607);
    wr_u16le(w, 0x0908);
    wr_u32le(w, 0x0d0c0b0a);
    wr_u64le(w, 0x1514131211100f0eu);
    wr_str(w, STR("hi"));
}

static void get_all(struct rd *r)
{
    assert_int_equal(rd_u8(r), 0x01);
    assert_int_equal(rd_u16be(r), 0x0203);
    assert_int_equal(rd_u32be(r), 0x04050607);
    assert_int_equal(rd_u16le(r), 0x0908);
    assert_int_equal(rd_u32le(r), 0x0d0c0b0a);
    assert_int_equal(rd_u64le(r), 0x1514131211100f0eu);
    assert_true(str_eq(rd_str(r), STR("hi")));
}

static void byte_order_is_as_named(void **state)
{
    (void)state;
    char room[sizeof BYTES - 1];
    struct wr w = {.ptr = room, .size = sizeof room};
    put_all(&w);
    assert_true(wr_ok(&w));
    assert_int_equal(w.len, sizeof room);
    assert_memory_equal(room, BYTES, sizeof room);
    struct rd r = {.left = wr_view(&w)};
    get_all(&r);
    assert_true(rd_end(&r));
}

static void every_cut_fails_and_stays_failed(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof BYTES - 1; size++) {
        char room[sizeof BYTES];
        memset(room, '#', sizeof room);
        struct wr w = {.ptr = room, .size = size};
        put_all(&w);
        assert_false(wr_ok(&w));
        assert_true(w.len <= size);
        assert_int_equal(room[size], '#');

        struct rd r = {.left = str_n(BYTES, size)};
        rd_u8(&r);
        rd_u16be(&r);
        rd_u32be(&r);
        rd_u16le(&r);
        rd_u32le(&r);
        rd_u64le(&r);
        assert_int_equal(rd_str(&r).len, 0);
        assert_false(rd_ok(&r));
        assert_int_equal(rd_u8(&r), 0);
        assert_false(rd_end(&r));
    }
}

static void a_length_beyond_the_end_is_refused(void **state)
{
    (void)state;
    struct rd r = {.left = STR("\xff\xff\xff\xffhi")};
    assert_int_equal(rd_str(&r).len, 0);
    assert_false(rd_ok(&r));
    r = (struct rd){.left = STR("abc")};
    assert_true(str_eq(rd_bytes(&r, 3), STR("abc")));
    assert_true(rd_end(&r));
    assert_int_equal(rd_bytes(&r, SIZE_MAX).len, 0);
    assert_false(rd_ok(&r));
}

static void numbers_become_text(void **state)
{
    (void)state;

    static const struct {
        uint64_t value;
        const char *dec, *hex;
    } CASES[] = {
        {0, "0", "0"},
        {9, "9", "9"},
        {10, "10", "a"},
        {4096, "4096", "1000"},
        {UINT64_MAX, "18446744073709551615", "ffffffffffffffff"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char room[20];
        struct wr w = {.ptr = room, .size = sizeof room};
        wr_dec(&w, CASES[i].value);
        assert_true(str_eq(wr_view(&w), str_c(CASES[i].dec)));
        w = (struct wr){.ptr = room, .size = sizeof room};
        wr_hex(&w, CASES[i].value);
        assert_true(str_eq(wr_view(&w), str_c(CASES[i].hex)));
        w = (struct wr){.ptr = room, .size = strlen(CASES[i].dec) - 1};
        wr_dec(&w, CASES[i].value);
        assert_false(wr_ok(&w));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_order_is_as_named),
        cmocka_unit_test(every_cut_fails_and_stays_failed),
        cmocka_unit_test(a_length_beyond_the_end_is_refused),
        cmocka_unit_test(numbers_become_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
