// SPDX-License-Identifier: Apache-2.0
// buf_test -- growing buffers keep their bytes and their ceiling.
#include "base/buf.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static void bytes_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct buf b = {0};
    size_t out_len = 0;
    unsigned next = 0;
    for (int round = 0; round < 2000; round++) {
        char bytes[40];
        size_t len = (size_t)round % sizeof bytes;
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)next++;
        assert_true(buf_put(&b, str_n(bytes, len)));
        size_t take = buf_len(&b) > 300 ? 33 : 7;
        if (take > buf_len(&b))
            take = buf_len(&b);
        for (size_t i = 0; i < take; i++)
            assert_int_equal((unsigned char)buf_view(&b).ptr[i], (out_len + i) & 0xff);
        out_len += take;
        buf_take(&b, take);
    }
    assert_int_equal(out_len + buf_len(&b), next);
    buf_done(&b);
}

static void the_ceiling_refuses_whole_pieces(void **state)
{
    (void)state;

    static const struct {
        size_t held, more;
        bool fits;
    } CASES[] = {{0, 10, true}, {0, 11, false}, {4, 6, true}, {4, 7, false}, {10, 0, true}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct buf b = {.ceiling_bytes = 10};
        assert_true(buf_put(&b, str_n("0123456789", CASES[i].held)));
        assert_int_equal(buf_put(&b, str_n("abcdefghijk", CASES[i].more)), CASES[i].fits);
        assert_int_equal(buf_len(&b), CASES[i].held + (CASES[i].fits ? CASES[i].more : 0));
        buf_done(&b);
    }
}

static void taken_room_can_be_filled_again_under_a_ceiling(void **state)
{
    (void)state;
    struct buf b = {.ceiling_bytes = 10};
    assert_true(buf_put(&b, STR("0123456789")));
    buf_take(&b, 4);
    assert_true(buf_put(&b, STR("abcd")));
    assert_true(str_eq(buf_view(&b), STR("456789abcd")));
    buf_take(&b, 99);
    assert_int_equal(buf_len(&b), 0);
    buf_trim(&b);
    assert_null(buf_view(&b).ptr);
    assert_true(buf_put(&b, STR("again")));
    buf_done(&b);
}

static void room_is_at_least_what_was_asked(void **state)
{
    (void)state;
    struct buf b = {0};
    size_t room = 0;
    char *to = buf_room(&b, 3000, &room);
    assert_non_null(to);
    assert_true(room >= 3000);
    memset(to, 'x', room);
    buf_added(&b, room);
    assert_int_equal(buf_len(&b), room);
    buf_done(&b);
    b.ceiling_bytes = 8;
    assert_null(buf_room(&b, 9, &room));
    assert_non_null(buf_room(&b, 8, &room));
    assert_int_equal(room, 8);
    buf_done(&b);
}

static void formatted_text_is_appended(void **state)
{
    (void)state;
    struct buf b = {.ceiling_bytes = 16};
    assert_true(buf_put(&b, STR("a")));
    assert_true(buf_fmt(&b, "%d:%s", 42, "xyz"));
    assert_true(str_eq(buf_view(&b), STR("a42:xyz")));
    assert_false(buf_fmt(&b, "%s", "0123456789"));
    assert_true(str_eq(buf_view(&b), STR("a42:xyz")));
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_as_they_went_in),
        cmocka_unit_test(the_ceiling_refuses_whole_pieces),
        cmocka_unit_test(taken_room_can_be_filled_again_under_a_ceiling),
        cmocka_unit_test(room_is_at_least_what_was_asked),
        cmocka_unit_test(formatted_text_is_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
