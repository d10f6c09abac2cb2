// SPDX-License-Identifier: Apache-2.0
// ipc_test -- messages between Godwit's processes survive the trip; damaged ones are refused.
#include "wire/ipc.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"

static char room[IPC_BYTES_MAX];
static char letters[IPC_TEXT_MAX + 1];

static void every_field_survives(void **state)
{
    (void)state;
    static const struct ipc_msg CASES[] = {
        {.type = IPC_PLAN},
        {.type = IPC_FAILED,
         .id = UINT32_MAX,
         .gen = 2,
         .index = 3,
         .pid = -4,
         .status = INT32_MIN,
         .stage = IPC_STAGE_IDENTITY,
         .name = STR_INIT("blog"),
         .text = STR_INIT("no such\0file\n")},
        {.type = IPC_HELLO, .text = STR_INIT("{}")},
        {.type = IPC_START, .id = 7, .name = STR_INIT("shop")},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct ipc_msg *in = &CASES[i];
        struct ipc_msg out;
        size_t len = ipc_encode(in, room);
        assert_true(ipc_decode(str_n(room, len), &out));
        assert_int_equal(out.type, in->type);
        assert_int_equal(out.id, in->id);
        assert_int_equal(out.gen, in->gen);
        assert_int_equal(out.index, in->index);
        assert_int_equal(out.pid, in->pid);
        assert_int_equal(out.status, in->status);
        assert_int_equal(out.stage, in->stage);
        assert_true(str_eq(out.name, in->name));
        assert_true(str_eq(out.text, in->text));
    }
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    struct ipc_msg msg = {.type = IPC_READY, .name = STR("app"), .text = STR("text")};
    size_t len = ipc_encode(&msg, room);
    for (size_t cut = 0; cut < len; cut++)
        assert_false(ipc_decode(str_n(room, cut), &msg));
    room[len] = 0;
    assert_false(ipc_decode(str_n(room, len + 1), &msg));
}

static void values_outside_the_enums_are_refused(void **state)
{
    (void)state;

    static const struct {
        size_t at;
        char value;
    } CASES[] = {{0, 0}, {0, IPC_APP_SETTLE + 1}, {3, 1}, {24, IPC_STAGE_IDENTITY + 1}, {27, 1}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ipc_msg msg = {.type = IPC_READY};
        size_t len = ipc_encode(&msg, room);
        room[CASES[i].at] = CASES[i].value;
        assert_false(ipc_decode(str_n(room, len), &msg));
    }
}

static void text_has_a_limit(void **state)
{
    (void)state;

    static const struct {
        size_t name, text;
        bool fits;
    } CASES[] = {{0, IPC_TEXT_MAX, true},     {0, IPC_TEXT_MAX + 1, false},
                 {IPC_TEXT_MAX, 0, true},     {IPC_TEXT_MAX + 1, 0, false},
                 {1, IPC_TEXT_MAX - 1, true}, {1, IPC_TEXT_MAX, false}};

    memset(letters, 'x', sizeof letters);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ipc_msg msg = {.type = IPC_HELLO,
                              .name = str_n(letters, CASES[i].name),
                              .text = str_n(letters, CASES[i].text)};
        assert_int_equal(ipc_encode(&msg, room) > 0, CASES[i].fits);
    }
}

static void stages_have_words(void **state)
{
    (void)state;
    for (int stage = IPC_STAGE_EXEC; stage <= IPC_STAGE_IDENTITY; stage++)
        assert_true(strlen(ipc_stage_text((enum ipc_stage)stage)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_survives),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(values_outside_the_enums_are_refused),
        cmocka_unit_test(text_has_a_limit),
        cmocka_unit_test(stages_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
