// SPDX-License-Identifier: Apache-2.0
// wards -- see wards.h.
#include "wards.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>

#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"

static struct pollfd *wards; // of the process, which is a spawner
static size_t count, size;

// Waits up to `time_ms` for the end of any; closes those that have ended.
static void let_go_of_ended(int time_ms)
{
    if (poll(wards, count, time_ms) <= 0)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (wards[i].revents)
            fd_close(&wards[i].fd);
        else
            wards[kept++] = wards[i];
    }
    count = kept;
}

void wards_add(int pidfd)
{
    let_go_of_ended(0);
    if (count == size) {
        size = size ? 2 * size : 8;
        wards = mem_grow(wards, size * sizeof *wards);
    }
    wards[count++] = (struct pollfd){.fd = pidfd, .events = POLLIN};
}

void wards_outlive(unsigned time_ms)
{
    uint64_t end_us = clock_mono_us() + (uint64_t)time_ms * 1000;
    for (uint64_t now_us; count > 0 && (now_us = clock_mono_us()) < end_us;)
        let_go_of_ended((int)((end_us - now_us + 999) / 1000));
    for (size_t i = 0; i < count; i++)
        (void)proc_kill(wards[i].fd, SIGKILL);
    wards_forget();
}

void wards_forget(void)
{
    for (size_t i = 0; i < count; i++)
        fd_close(&wards[i].fd);
    mem_free(wards);
    wards = NULL;
    count = size = 0;
}
