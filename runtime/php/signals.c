// SPDX-License-Identifier: Apache-2.0
// signals -- handlers, mask and alarm that a script sets end with its request: another script must
// not be struck by them, nor a worker become deaf to its server. Only a request that has called one
// of the functions in question pays for it. A nice value that a script has set ends with it too:
// with the worker where that must not be set back. See php_runtime.h.
#include <php.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "php_runtime.h"

#define SIGNALS 32 // the classic ones; the others are the process's own

static bool touched;
static struct sigaction before[SIGNALS];
static sigset_t mask_before;
static bool may_be_nice; // perhaps not as before
static int nice_before;
static zif_handler real_signal, real_mask, real_alarm, real_nice, real_priority;

// Keeps how things stand, before the first change of a request.
static void keep(void)
{
    if (touched)
        return;
    touched = true;
    for (int i = 1; i < SIGNALS; i++)
        if (sigaction(i, NULL, &before[i]) < 0)
            before[i].sa_handler = SIG_ERR;
    sigprocmask(SIG_BLOCK, NULL, &mask_before);
}

static ZEND_FUNCTION(watched_signal)
{
    keep();
    real_signal(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_FUNCTION(watched_mask)
{
    keep();
    real_mask(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_FUNCTION(watched_alarm)
{
    keep();
    real_alarm(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void keep_nice(void)
{
    if (!may_be_nice)
        nice_before = getpriority(PRIO_PROCESS, 0);
    may_be_nice = true;
}

static ZEND_FUNCTION(watched_nice)
{
    keep_nice();
    real_nice(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_FUNCTION(watched_priority)
{
    keep_nice();
    real_priority(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void watch(const char *name, zif_handler ours, zif_handler *out_real)
{
    zend_function *function = zend_hash_str_find_ptr(CG(function_table), name, strlen(name));
    if (!function)
        return;
    *out_real = function->internal_function.handler;
    function->internal_function.handler = ours;
}

void signals_watch(void)
{
    watch("pcntl_signal", ZEND_FN(watched_signal), &real_signal);
    watch("pcntl_sigprocmask", ZEND_FN(watched_mask), &real_mask);
    watch("pcntl_alarm", ZEND_FN(watched_alarm), &real_alarm);
    watch("proc_nice", ZEND_FN(watched_nice), &real_nice);
    watch("pcntl_setpriority", ZEND_FN(watched_priority), &real_priority);
}

static void reset_nice(void)
{
    if (!may_be_nice)
        return;
    may_be_nice = false;
    if (getpriority(PRIO_PROCESS, 0) == nice_before)
        return;
    // The way back is for the privileged; else this was the worker's last request.
    if (setpriority(PRIO_PROCESS, 0, nice_before) < 0)
        (void)raise(SIGTERM);
}

static void reset_signals(void)
{
    if (!touched)
        return;
    touched = false;
    alarm(0);
    for (int i = 1; i < SIGNALS; i++)
        if (i != SIGKILL && i != SIGSTOP && before[i].sa_handler != SIG_ERR)
            sigaction(i, &before[i], NULL);
    // Last: what waits now meets the server's handlers.
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

void signals_reset(void)
{
    reset_signals();
    reset_nice(); // with the server's handler of SIGTERM in place again
}
