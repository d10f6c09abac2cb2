// SPDX-License-Identifier: Apache-2.0
// header_test -- known names, lists of fields and values that are lists.
#include "http/header.h"

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

#define TRANSFER "Transfer-Encoding"

// The scan reads eight bytes at a time: each byte value must be seen at each place of a word, and
// the place before and behind it must not matter.
static void text_ends_at_each_byte_at_each_place(void **state)
{
    (void)state;
    char room[24];
    for (int least = 0x20; least <= 0x21; least++) {
        for (int byte = 0; byte < 256; byte++) {
            for (size_t at = 0; at < sizeof room; at++) {
                for (size_t i = 0; i < sizeof room; i++)
                    room[i] = (char)(i % 2 ? 0x80 : 0x21);
                room[at] = (char)byte;
                bool ends = byte < least || byte == 0x7f;
                struct str text = guard_copy(str_n(room, sizeof room));
                size_t end = header_text_end(text, 0, (unsigned char)least);
                assert_int_equal(end, ends ? at : sizeof room);
            }
        }
    }
}

static void a_line_is_a_field_as_it_is_written(void **state)
{
    (void)state;
    char room[32];
    struct header h = header_line(HEADER_ETAG, STR("\"a\tb\""), room);
    assert_true(h.is_line);
    assert_int_equal(h.id, HEADER_ETAG);
    assert_true(str_eq(h.name, STR("ETag")));
    assert_true(str_eq(h.value, STR("\"a\tb\"")));
    size_t len = h.name.len + h.value.len + HEADER_LINE_EXTRA_BYTES;
    assert_true(str_eq(str_n(h.name.ptr, len), STR("ETag: \"a\tb\"\r\n")));
    h = header_line(HEADER_VARY, STR(""), room);
    assert_true(str_eq(str_n(room, 8), STR("Vary: \r\n")));
    assert_int_equal(h.value.len, 0);
}

static void each_known_name_is_found_in_any_case(void **state)
{
    (void)state;
    for (int id = HEADER_OTHER + 1; id < HEADER_ID_COUNT; id++) {
        struct str name = header_id_name((enum header_id)id);
        char upper[64], lower[64];
        assert_true(name.len > 0 && name.len <= sizeof upper);
        for (size_t i = 0; i < name.len; i++) {
            bool is_upper = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z';
            bool is_lower = name.ptr[i] >= 'a' && name.ptr[i] <= 'z';
            lower[i] = (char)(name.ptr[i] + (is_upper ? 32 : 0));
            upper[i] = (char)(name.ptr[i] - (is_lower ? 32 : 0));
        }
        assert_int_equal(header_id_find(name), id);
        assert_int_equal(header_id_find(str_n(lower, name.len)), id);
        assert_int_equal(header_id_find(str_n(upper, name.len)), id);
    }
}

static void near_names_are_other(void **state)
{
    (void)state;
    static const struct str NAMES[] = {
        STR_INIT(""),           STR_INIT("Hos"),           STR_INIT("Hosts"), STR_INIT("Hast"),
        STR_INIT("Set_Cookie"), STR_INIT("Content\rType"), STR_INIT("X"),
    };
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        assert_int_equal(header_id_find(NAMES[i]), HEADER_OTHER);
}

// LSAPI's header index has these in its slots 0, 8, 10 and 24.
static void the_first_ids_are_in_the_order_of_lsapi(void **state)
{
    (void)state;
    assert_int_equal(HEADER_ACCEPT, 1);
    assert_int_equal(HEADER_COOKIE, 9);
    assert_int_equal(HEADER_HOST, 11);
    assert_int_equal(HEADER_TRANSFER_ENCODING, 25);
}

// RFC 9110 §7.6.1.
static void hop_by_hop_fields_are_known(void **state)
{
    (void)state;
    int count = 0;
    for (int id = HEADER_OTHER; id < HEADER_ID_COUNT; id++)
        count += header_id_is_hop_by_hop((enum header_id)id);
    assert_int_equal(count, 7);
    assert_true(header_id_is_hop_by_hop(HEADER_TRANSFER_ENCODING));
    assert_false(header_id_is_hop_by_hop(HEADER_CONTENT_LENGTH));
}

// The list as "name=value;" for each field.
static struct str show(struct arena *a, const struct header_list *l)
{
    struct str text = STR("");
    for (size_t i = 0; i < l->count; i++) {
        text = arena_fmt(a, "%.*s%.*s=%.*s;", STR_ARG(text), STR_ARG(l->items[i].name),
                         STR_ARG(l->items[i].value));
    }
    return text;
}

static void lists_keep_their_order(void **state)
{
    (void)state;
    struct arena a = {0};
    struct header_list l = {.arena = &a};
    header_list_add(&l, STR("A"), STR("1"));
    header_list_add(&l, STR("host"), STR("h"));
    header_list_add(&l, STR("a"), STR("2"));
    header_list_add_id(&l, HEADER_VIA, STR("v"));
    assert_true(str_eq(show(&a, &l), STR("A=1;host=h;a=2;Via=v;")));
    assert_true(str_eq(header_list_find(&l, STR("a"))->value, STR("1")));
    assert_true(str_eq(header_list_find_id(&l, HEADER_HOST)->value, STR("h")));
    assert_null(header_list_find(&l, STR("b")));
    assert_null(header_list_find_id(&l, HEADER_RANGE));
    header_list_set(&l, STR("A"), STR("3"));
    header_list_set(&l, STR("B"), STR("4"));
    header_list_set_id(&l, HEADER_HOST, STR("i"));
    assert_true(str_eq(show(&a, &l), STR("A=3;Host=i;Via=v;B=4;")));
    assert_int_equal(header_list_remove(&l, STR("a")), 1);
    assert_int_equal(header_list_remove_id(&l, HEADER_VIA), 1);
    assert_int_equal(header_list_remove(&l, STR("a")), 0);
    assert_true(str_eq(show(&a, &l), STR("Host=i;B=4;")));
    arena_done(&a);
}

static void set_leaves_one_of_several(void **state)
{
    (void)state;
    struct arena a = {0};
    struct header_list l = {.arena = &a};
    header_list_add(&l, STR("X"), STR("0"));
    for (int i = 0; i < 40; i++)
        header_list_add_id(&l, HEADER_VARY, STR("v"));
    header_list_add(&l, STR("Y"), STR("1"));
    assert_int_equal(l.count, 42);
    header_list_set_id(&l, HEADER_VARY, STR("w"));
    assert_true(str_eq(show(&a, &l), STR("X=0;Vary=w;Y=1;")));
    arena_done(&a);
}

static void lists_are_copied(void **state)
{
    (void)state;
    struct arena a = {0};
    struct header fields[3] = {header_make(STR("A"), STR("1")), header_make(STR("Via"), STR("2")),
                               header_make(STR("C"), STR("3"))};
    struct header_list l = {.arena = &a};
    header_list_copy(&l, fields, 0);
    header_list_copy(&l, fields, 3);
    header_list_copy(&l, fields, 1);
    assert_true(str_eq(show(&a, &l), STR("A=1;Via=2;C=3;A=1;")));
    assert_int_equal(l.items[1].id, HEADER_VIA);
    arena_done(&a);
}

// RFC 9110 §5.3.
static void values_of_one_name_are_joined(void **state)
{
    (void)state;
    struct arena a = {0};
    struct header_list l = {.arena = &a};
    assert_null(header_list_value(&l, HEADER_ACCEPT).ptr);
    assert_null(header_list_joined(&l, HEADER_ACCEPT).ptr);
    header_list_add_id(&l, HEADER_ACCEPT, STR("a"));
    assert_true(str_eq(header_list_joined(&l, HEADER_ACCEPT), STR("a")));
    header_list_add_id(&l, HEADER_HOST, STR("h"));
    header_list_add_id(&l, HEADER_ACCEPT, STR("b, c"));
    assert_true(str_eq(header_list_joined(&l, HEADER_ACCEPT), STR("a, b, c")));
    assert_true(str_eq(header_list_value(&l, HEADER_ACCEPT), STR("a")));
    arena_done(&a);
}

// RFC 9110 §5.6.1.
static void members_of_a_list_are_found(void **state)
{
    (void)state;
    assert_true(header_has_token(STR("close"), STR("close")));
    assert_true(header_has_token(STR(" , keep-alive ,\tUPGRADE,"), STR("upgrade")));
    assert_false(header_has_token(STR("closed, enclose"), STR("close")));
    assert_false(header_has_token(STR(""), STR("close")));
    assert_false(header_has_token(STR("trailers;q=1"), STR("trailers")));
    struct str rest = STR(" a ,, b"), member;
    assert_true(header_next_member(&rest, &member) && str_eq(member, STR("a")));
    assert_true(header_next_member(&rest, &member) && str_eq(member, STR("b")));
    assert_false(header_next_member(&rest, &member));
}

// RFC 9110 §5.6.2: tchar, for each byte.
static void tokens_and_values_know_their_bytes(void **state)
{
    (void)state;
    static const char MARKS[] = "!#$%&'*+-.^_`|~";
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_mark = byte && strchr(MARKS, c);
        assert_int_equal(header_is_token(str_n(&c, 1)), is_alnum || is_mark);
        assert_int_equal(header_value_ok(str_n(&c, 1)),
                         (byte >= 0x20 && byte != 0x7f) || byte == '\t');
    }
    assert_false(header_is_token(STR("")));
    assert_true(header_value_ok(STR("")));
    assert_int_equal(header_token_end(STR(TRANSFER ": x"), 2), sizeof TRANSFER - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_ends_at_each_byte_at_each_place),
        cmocka_unit_test(a_line_is_a_field_as_it_is_written),
        cmocka_unit_test(each_known_name_is_found_in_any_case),
        cmocka_unit_test(near_names_are_other),
        cmocka_unit_test(the_first_ids_are_in_the_order_of_lsapi),
        cmocka_unit_test(hop_by_hop_fields_are_known),
        cmocka_unit_test(lists_keep_their_order),
        cmocka_unit_test(set_leaves_one_of_several),
        cmocka_unit_test(lists_are_copied),
        cmocka_unit_test(values_of_one_name_are_joined),
        cmocka_unit_test(members_of_a_list_are_found),
        cmocka_unit_test(tokens_and_values_know_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
