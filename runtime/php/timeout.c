// SPDX-License-Identifier: Apache-2.0
// timeout -- max_execution_time without system calls per request. See php_runtime.h.
//
// PHP arms an interval timer, a signal handler and the signal mask anew in each request, five
// system calls that most requests never need. Instead one timer per worker ticks for each second of
// processor time that the worker has used, and the tick looks whether the script is over its limit.
// So a script gets up to one second more than its limit.
//
// The two functions replace PHP's own: the library calls them by name, and a program's definition
// comes before a library's. Were PHP built to bind its own, everything would work as without this
// file.
#include <php.h>
#include <php_main.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "php_runtime.h"

#define TICK_S            1
#define EXIT_HARD_TIMEOUT 124 // as PHP

// PHP turns to its own handler of SIGPROF when a script has timed out, so the tick has another one.
#define TICK_SIGNAL (SIGRTMIN + 9)

static struct {
    timer_t timer;
    bool is_made, is_ticking;
    volatile sig_atomic_t ticks;
    volatile sig_atomic_t limit_s; // 0: none
    volatile sig_atomic_t begun;   // tick at which the limit began
    volatile sig_atomic_t expired; // tick at which PHP was told; 0: was not
} clock_state;

// The script did not come to an end after it was told: the engine is stuck in something.
static void die(void)
{
    char text[160];
    int len = snprintf(text, sizeof text,
                       "PHP Fatal error:  Maximum execution time of " ZEND_LONG_FMT
                       "+" ZEND_LONG_FMT " seconds exceeded (terminated)\n",
                       EG(timeout_seconds), EG(hard_timeout));
    ssize_t sent = write(2, text, (size_t)len);
    (void)sent;
    _exit(EXIT_HARD_TIMEOUT);
}

static void on_tick(int signal)
{
    (void)signal;
    int now = ++clock_state.ticks;
    if (!clock_state.limit_s)
        return;
    if (clock_state.expired) {
        if (!zend_atomic_bool_load_ex(&EG(timed_out)))
            clock_state.limit_s = 0; // the engine has taken notice; shutdown functions may run
        else if (EG(hard_timeout) > 0 && now - clock_state.expired >= EG(hard_timeout))
            die();
        return;
    }
    if (now - clock_state.begun <= clock_state.limit_s)
        return;
    clock_state.expired = now;
    if (zend_on_timeout)
        zend_on_timeout((int)EG(timeout_seconds));
    zend_atomic_bool_store_ex(&EG(timed_out), true);
    zend_atomic_bool_store_ex(&EG(vm_interrupt), true);
}

static void make_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = TICK_SIGNAL};
    clock_state.is_made = timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &clock_state.timer) == 0;
}

static void start_ticking(void)
{
    struct itimerspec span = {.it_value.tv_sec = TICK_S, .it_interval.tv_sec = TICK_S};
    if (clock_state.is_made && timer_settime(clock_state.timer, 0, &span, NULL) == 0)
        clock_state.is_ticking = true;
}

// Timers are not inherited: a copy (pcntl_fork) gets its own, and all of its script's limit.
static void on_forked(void)
{
    clock_state.is_ticking = false;
    clock_state.begun = clock_state.ticks;
    make_timer();
    if (clock_state.limit_s)
        start_ticking();
}

void timeout_worker_start(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(TICK_SIGNAL, &action, NULL) == 0 && pthread_atfork(NULL, NULL, on_forked) == 0)
        make_timer();
}

ZEND_API void zend_set_timeout(zend_long seconds, bool reset_signals)
{
    (void)reset_signals;
    EG(timeout_seconds) = seconds;
    clock_state.limit_s = 0; // the handler leaves the rest alone meanwhile
    clock_state.begun = clock_state.ticks;
    clock_state.expired = 0;
    zend_atomic_bool_store_ex(&EG(timed_out), false);
    if (seconds <= 0 || seconds > INT_MAX)
        return;
    clock_state.limit_s = (sig_atomic_t)seconds;
    if (!clock_state.is_ticking)
        start_ticking();
}

ZEND_API void zend_unset_timeout(void)
{
    clock_state.limit_s = 0;
    zend_atomic_bool_store_ex(&EG(timed_out), false);
}
