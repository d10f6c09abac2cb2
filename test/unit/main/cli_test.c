// SPDX-License-Identifier: Apache-2.0
// cli_test -- command lines as people type them.
#include "main/cli.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

#define ARGS_MAX 8

struct row {
    const char *args[ARGS_MAX];
    const char *error; // part of it; NULL: it is understood
    struct cli cli;
};

static const struct row ROWS[] = {
    {{"serve"}, NULL, {.command = CLI_SERVE}},
    {{"serve", "dir", "-p", "81"}, NULL, {.command = CLI_SERVE, .operand = "dir", .port = "81"}},
    {{"serve", "--config=a", "--name", "b"},
     NULL,
     {.command = CLI_SERVE, .file = "a", .name = "b"}},
    {{"serve", "--", "-dir"}, NULL, {.command = CLI_SERVE, .operand = "-dir"}},
    {{"serve", "-"}, NULL, {.command = CLI_SERVE, .operand = "-"}},
    {{"serve", "--runtime", "/r"}, NULL, {.command = CLI_SERVE, .runtime = "/r"}},
    {{"check", "-c", "a"}, NULL, {.command = CLI_CHECK, .file = "a"}},
    {{"status", "-n", "a", "--json"}, NULL, {.command = CLI_STATUS, .name = "a", .json = true}},
    {{"stop", "--now"}, NULL, {.command = CLI_STOP, .now = true}},
    {{"help", "listen"}, NULL, {.command = CLI_HELP, .operand = "listen"}},
    {{"--help"}, NULL, {.command = CLI_HELP}},
    {{"-V"}, NULL, {.command = CLI_VERSION}},
    {{NULL}, "a command is needed", {0}},
    {{"sevre"}, "did you mean \"serve\"?", {0}},
    {{"dance"}, "commands are serve, check", {0}},
    {{"serve", "-x"}, "no option -x", {0}},
    {{"serve", "--now"}, "no option --now", {0}},
    {{"reload", "dir"}, "does not take \"dir\"", {0}},
    {{"serve", "a", "b"}, "does not take \"b\"", {0}},
    {{"serve", "-c"}, "-c needs a value", {0}},
    {{"serve", "--name="}, "needs a value", {0}},
    {{"stop", "--now=1"}, "takes no value", {0}},
    {{"serve", "a", "-c", "b"}, "not both", {0}},
    {{"serve", "-c", "b", "-p", "1"}, "\"listen\" says it", {0}},
    {{"serve", "-p", "0"}, "not a port", {0}},
    {{"serve", "-p", "65536"}, "not a port", {0}},
    {{"serve", "-p", "8o"}, "not a port", {0}},
};

static void assert_same(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_ptr_equal(a, b);
}

static void check_row(const struct row *row)
{
    char room[ARGS_MAX][32];
    char *argv[ARGS_MAX];
    int argc = 0;
    for (; argc < ARGS_MAX && row->args[argc]; argc++) {
        strncpy(room[argc], row->args[argc], sizeof room[argc] - 1);
        room[argc][sizeof room[argc] - 1] = '\0';
        argv[argc] = room[argc];
    }
    struct cli cli;
    struct err err = {0};
    bool good = cli_parse(argc, argv, &cli, &err);
    if (row->error) {
        assert_false(good);
        if (!strstr(err_text(&err), row->error))
            fail_msg("\"%s\" is not in \"%s\"", row->error, err_text(&err));
    } else {
        assert_true(good);
        assert_int_equal(cli.command, row->cli.command);
        assert_same(cli.operand, row->cli.operand);
        assert_same(cli.file, row->cli.file);
        assert_same(cli.port, row->cli.port);
        assert_same(cli.name, row->cli.name);
        assert_same(cli.runtime, row->cli.runtime);
        assert_int_equal(cli.json, row->cli.json);
        assert_int_equal(cli.now, row->cli.now);
    }
    err_done(&err);
}

static void command_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        check_row(&ROWS[i]);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {cmocka_unit_test(command_lines)};
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
