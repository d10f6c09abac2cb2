// SPDX-License-Identifier: Apache-2.0
// minder -- see minder.h.
#include "minder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/proc.h"

static void on_term(int signal)
{
    (void)signal; // only ends the wait, to look whether the keeper is there
}

void minder_prepare(void)
{
    static const int IGNORED[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
    struct sigaction action = {.sa_handler = on_term};
    for (size_t i = 0; i < ARRAY_LEN(IGNORED); i++)
        (void)signal(IGNORED[i], SIG_IGN);
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
}

int minder_wait(int pidfd, pid_t keeper, unsigned grace_ms)
{
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};
    sigset_t term;
    sigset_t before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    // The signal can come only inside ppoll: none is missed between the look and the wait.
    sigprocmask(SIG_BLOCK, &term, &before);
    while (getppid() == keeper) {
        int ready = ppoll(&entry, 1, NULL, &before);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            break;
    }
    if (poll(&entry, 1, (int)grace_ms) == 0)
        (void)proc_kill(pidfd, SIGKILL);
    return 0;
}
