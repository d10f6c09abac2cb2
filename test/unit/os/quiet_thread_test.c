// SPDX-License-Identifier: Apache-2.0
// quiet_thread_test -- what a thread is started with.
#include "os/quiet_thread.h"

#include <signal.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

static void *look(void *arg)
{
    sigset_t *blocked = arg;
    pthread_sigmask(SIG_SETMASK, NULL, blocked);
    return arg;
}

// Any size of stack will do, if the system thinks so or not.
static void no_signal_reaches_it(void **state)
{
    static const int SIGNALS[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR2};
    static const size_t STACKS[] = {0, 1, (size_t)256 * 1024};
    (void)state;
    for (size_t i = 0; i < sizeof STACKS / sizeof *STACKS; i++) {
        sigset_t blocked;
        sigset_t ours;
        pthread_t thread;
        void *result;
        sigemptyset(&blocked);
        assert_int_equal(quiet_thread_start(&thread, STACKS[i], look, &blocked), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, &blocked);
        pthread_sigmask(SIG_SETMASK, NULL, &ours);
        for (size_t j = 0; j < sizeof SIGNALS / sizeof *SIGNALS; j++) {
            assert_int_equal(sigismember(&blocked, SIGNALS[j]), 1);
            assert_int_equal(sigismember(&ours, SIGNALS[j]), 0);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(no_signal_reaches_it),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
