// SPDX-License-Identifier: Apache-2.0
// proc_file_test -- rows and lines of /proc, whatever the process calls itself.
#include "os/proc_file.h"

#include <sys/prctl.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

// Each of them would move the fields, or be a line, if names were not seen for what they are.
static const char *const NAMES[] = {
    "plain", "a b c", ") Z 1 (", "a\nUid:\t7\t7", "\n", "))) \n",
};

static void names_move_nothing(void **state)
{
    char before[16];
    (void)state;
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char row_room[PROC_FILE_ROW_BYTES];
        char room[PROC_FILE_STATUS_BYTES];
        uint64_t number;
        assert_int_equal(prctl(PR_SET_NAME, NAMES[i]), 0);
        struct str row = proc_file_row(getpid(), row_room);
        assert_true(str_eq(proc_file_field(row, PROC_FILE_STATE), STR("R")));
        assert_true(str_to_u64(proc_file_field(row, PROC_FILE_PARENT), &number));
        assert_int_equal(number, getppid());
        assert_true(str_to_u64(proc_file_field(row, PROC_FILE_START), &number) && number);
        assert_true(str_to_u64(proc_file_field(row, PROC_FILE_EXIT_CODE), &number)); // the last
        struct str status = proc_file_read(getpid(), "status", room, sizeof room);
        struct str uids = proc_file_value(status, STR("Uid:"));
        assert_true(str_to_u64(str_cut(&uids, '\t'), &number));
        assert_int_equal(number, getuid());
    }
    assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

static void what_is_not_there_is_empty(void **state)
{
    char room[PROC_FILE_ROW_BYTES];
    (void)state;
    assert_int_equal(proc_file_row(-1, room).len, 0);
    assert_int_equal(proc_file_read(getpid(), "nothing", room, sizeof room).len, 0);
    assert_int_equal(proc_file_field((struct str){0}, PROC_FILE_STATE).len, 0);
    assert_int_equal(proc_file_field(STR("1 (x) R 2"), PROC_FILE_FLAGS).len, 0);
    assert_int_equal(proc_file_value(STR("Name:\tx\nUid:\t1\n"), STR("Gid:")).len, 0);
}

static void what_does_not_fit_is_cut(void **state)
{
    char room[4];
    (void)state;
    assert_int_equal(proc_file_read(getpid(), "status", room, sizeof room).len, sizeof room);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(names_move_nothing),
        cmocka_unit_test(what_is_not_there_is_empty),
        cmocka_unit_test(what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
