// SPDX-License-Identifier: Apache-2.0
// timeout -- max_execution_time without system calls per request. See php_runtime.h.
//
// PHP arms an interval timer and sets a signal's handler and mask anew in each request, six system
// calls that most requests never need. PHP calls the C library for these by name, and our
// definitions come before the C library's:
//
//   setitimer    the timer of processor time is one that we keep. One real timer per worker ticks
//                for each second of processor time that the worker has used, and the tick looks
//                whether PHP's time is over. So a script gets up to one second more than its limit.
//   sigaction    SIGPROF is not given the handler that it has.
//   sigprocmask  SIGPROF is not unblocked when it is not blocked.
//
// All other calls pass through.
#include <dlfcn.h>
#include <php.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "php_runtime.h"

#define TICK_S     1
#define MASK_BYTES (_NSIG / 8) // of a sigset_t: what the kernel knows; the rest holds anything

// The tick's, as SIGPROF is PHP's.
#define TICK_SIGNAL (SIGRTMIN + 9)

typedef int setitimer_fn(int which, const struct itimerval *value, struct itimerval *old);
typedef int sigaction_fn(int number, const struct sigaction *action, struct sigaction *old);
typedef int sigprocmask_fn(int how, const sigset_t *set, sigset_t *old);

// The C library's headers have types of their own for some arguments, so the names are given to the
// linker.
setitimer_fn timeout_setitimer __asm__("setitimer");
sigaction_fn timeout_sigaction __asm__("sigaction");
sigprocmask_fn timeout_sigprocmask __asm__("sigprocmask");

static struct {
    timer_t timer;
    bool is_made, is_ticking;
    volatile sig_atomic_t ticks;
    volatile sig_atomic_t limit_s; // 0: none
    volatile sig_atomic_t begun;   // tick at which the limit began
} prof;

static struct sigaction handler; // of SIGPROF
static bool is_handled;          // by that one
static bool is_open;             // SIGPROF is surely not blocked

static void find(const char *name, void *out_function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(out_function, &found, sizeof found);
}

static void on_tick(int signal)
{
    (void)signal;
    int now = ++prof.ticks;
    if (!prof.limit_s || now - prof.begun <= prof.limit_s)
        return;
    prof.limit_s = 0;
    (void)kill(getpid(), SIGPROF); // not raise: a library's thread may have got the tick
}

static void make_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = TICK_SIGNAL};
    prof.is_made = timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &prof.timer) == 0;
}

static bool start_ticking(void)
{
    struct itimerspec span = {.it_value.tv_sec = TICK_S, .it_interval.tv_sec = TICK_S};
    if (!prof.is_ticking && prof.is_made)
        prof.is_ticking = timer_settime(prof.timer, 0, &span, NULL) == 0;
    return prof.is_ticking;
}

// Timers are not inherited: a copy (pcntl_fork) gets its own, and all of its script's limit.
static void on_forked(void)
{
    prof.is_ticking = false;
    prof.begun = prof.ticks;
    make_timer();
    if (prof.limit_s)
        (void)start_ticking();
}

void timeout_worker_start(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(TICK_SIGNAL, &action, NULL) == 0 && pthread_atfork(NULL, NULL, on_forked) == 0)
        make_timer();
}

// True when that is what PHP asks for: whole seconds, once.
static bool is_plain(const struct itimerval *value)
{
    return value && value->it_value.tv_usec == 0 && value->it_value.tv_sec >= 0
           && value->it_value.tv_sec < INT_MAX && !timerisset(&value->it_interval);
}

__attribute__((visibility("default"))) int timeout_setitimer(int which,
                                                             const struct itimerval *value,
                                                             struct itimerval *old)
{
    static setitimer_fn *real;
    if (!real)
        find("setitimer", &real);
    if (which != ITIMER_PROF || old || !is_plain(value))
        return real(which, value, old);
    prof.limit_s = 0; // the tick leaves the rest alone meanwhile
    prof.begun = prof.ticks;
    if (value->it_value.tv_sec == 0)
        return prof.is_made ? 0 : real(which, value, old);
    if (!start_ticking())
        return real(which, value, old);
    prof.limit_s = (sig_atomic_t)value->it_value.tv_sec;
    return 0;
}

static bool is_same(const struct sigaction *one, const struct sigaction *other)
{
    return one->sa_sigaction == other->sa_sigaction && one->sa_flags == other->sa_flags
           && memcmp(&one->sa_mask, &other->sa_mask, MASK_BYTES) == 0;
}

__attribute__((visibility("default"))) int timeout_sigaction(int number,
                                                             const struct sigaction *action,
                                                             struct sigaction *old)
{
    static sigaction_fn *real;
    if (!real)
        find("sigaction", &real);
    if (number != SIGPROF || !action)
        return real(number, action, old);
    if (!old && is_handled && is_same(action, &handler))
        return 0;
    int rc = real(number, action, old);
    handler = *action;
    is_handled = rc == 0;
    return rc;
}

__attribute__((visibility("default"))) int timeout_sigprocmask(int how, const sigset_t *set,
                                                               sigset_t *old)
{
    static sigprocmask_fn *real;
    static sigset_t only_prof; // as sigaddset makes it
    if (!real) {
        find("sigprocmask", &real);
        sigemptyset(&only_prof);
        sigaddset(&only_prof, SIGPROF);
    }
    bool is_unblock = how == SIG_UNBLOCK && set && !old && memcmp(set, &only_prof, MASK_BYTES) == 0;
    if (is_unblock && is_open)
        return 0;
    int rc = real(how, set, old);
    if (set)
        is_open = is_unblock && rc == 0;
    return rc;
}
