// SPDX-License-Identifier: Apache-2.0
// signals -- handlers, mask and alarm that a script sets end with its request: another script must
// not be struck by them, nor a worker become deaf to its server. Only a request that has called one
// of the functions in question pays for it. See php_runtime.h.
#include <php.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "php_runtime.h"

#define SIGNALS 32 // the classic ones; the others are the process's own

static bool touched;
static struct sigaction before[SIGNALS];
static sigset_t mask_before;
static zif_handler real_signal, real_mask, real_alarm;

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
}

void signals_reset(void)
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
