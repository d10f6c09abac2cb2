// SPDX-License-Identifier: Apache-2.0
// quiet_thread -- see quiet_thread.h.
#include "os/quiet_thread.h"

#include <errno.h>
#include <signal.h>

static int create(pthread_t *out_thread, size_t stack_bytes, void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc)
        return rc;
    if (stack_bytes)
        rc = pthread_attr_setstacksize(&attr, stack_bytes);
    if (!rc)
        rc = pthread_create(out_thread, &attr, fn, arg);
    pthread_attr_destroy(&attr);
    return rc;
}

int quiet_thread_start(pthread_t *out_thread, size_t stack_bytes, void *(*fn)(void *), void *arg)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = create(out_thread, stack_bytes, fn, arg);
    if (rc == EINVAL && stack_bytes) // too small for the system
        rc = create(out_thread, 0, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}
