// SPDX-License-Identifier: Apache-2.0
// quit -- see quit.h.
//
// The grace time runs on a POSIX timer that kills without a handler, so that an application which
// uses alarm or setitimer, blocks signals or hangs in the kernel is not disturbed and does not
// escape.
#include "quit.h"

#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"

#define GRACE_S 4

static volatile sig_atomic_t wanted, busy, conn_fd = FD_NONE;
static volatile sig_atomic_t abandoned;
static sig_atomic_t wanted_before; // a fork
static pid_t keeper, self;         // 0: no keeper
static timer_t grace;
static bool has_grace;

// Ends an idle wait as if the server had closed. What it sent before is still read and served; what
// it sends later fails over there, unread, and can be sent again elsewhere.
static void end_wait(void)
{
    if (conn_fd >= 0)
        shutdown(conn_fd, SHUT_RD);
}

static void arm_grace(void)
{
    struct itimerspec span = {.it_value.tv_sec = GRACE_S};
    if (has_grace)
        timer_settime(grace, 0, &span, NULL);
}

static void on_term(int signal)
{
    (void)signal;
    // In a copy that has just been forked another process is the parent, too.
    if (keeper && getppid() != keeper && getpid() == self && !wanted && !abandoned) {
        abandoned = 1;
        arm_grace();
        return;
    }
    wanted = 1;
    if (busy)
        arm_grace();
    else
        end_wait();
}

void quit_watch(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    has_grace = timer_create(CLOCK_MONOTONIC, &event, &grace) == 0;
    struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
}

void quit_keeper(pid_t pid)
{
    keeper = pid;
    self = getpid();
}

void quit_on(int fd)
{
    conn_fd = fd;
    if (wanted)
        end_wait();
}

void quit_busy(bool on)
{
    // The signal may come at any place here: whoever sees the other's value acts.
    busy = on;
    if (!wanted)
        return;
    if (on)
        arm_grace();
    else
        end_wait();
}

void quit_copying(void)
{
    wanted_before = wanted;
}

void quit_copied(void)
{
    (void)signal(SIGTERM, SIG_DFL);
    if (wanted && !wanted_before)
        (void)raise(SIGTERM);
    conn_fd = FD_NONE;
    has_grace = false; // timers are not inherited
}

bool quit_wanted(void)
{
    return wanted;
}
