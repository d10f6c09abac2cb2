// SPDX-License-Identifier: Apache-2.0
// sig_test -- signals arrive on a descriptor; a reset brings the defaults back.
#include "os/sig.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "os/fd.h"

static void blocked_signals_are_read_one_by_one(void **state)
{
    (void)state;
    static const int SIGNALS[] = {SIGUSR1, SIGTERM};
    int fd = sig_open(SIGNALS, 2);
    assert_true(fd >= 0);
    assert_int_equal(sig_next(fd), 0);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    int first = sig_next(fd);
    int second = sig_next(fd);
    assert_int_equal(first + second, SIGUSR1 + SIGTERM);
    assert_int_not_equal(first, second);
    assert_int_equal(sig_next(fd), 0);
    fd_close(&fd);
}

static void a_reset_makes_signals_deadly_again(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        static const int TERM = SIGTERM;
        sig_ignore_pipe();
        int fd = sig_open(&TERM, 1);
        sig_reset();
        raise(SIGPIPE);
        _exit(fd >= 0 ? 1 : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGPIPE);
}

static void names_are_those_of_the_manual(void **state)
{
    (void)state;

    static const struct {
        int signal;
        const char *name;
    } CASES[] = {
        {SIGTERM, "SIGTERM"}, {SIGSEGV, "SIGSEGV"}, {SIGHUP, "SIGHUP"}, {SIGKILL, "SIGKILL"},
        {0, "SIG?"},          {-1, "SIG?"},         {99, "SIG?"},       {100000, "SIG?"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_string_equal(sig_name(CASES[i].signal), CASES[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_signals_are_read_one_by_one),
        cmocka_unit_test(a_reset_makes_signals_deadly_again),
        cmocka_unit_test(names_are_those_of_the_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
