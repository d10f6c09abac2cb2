// SPDX-License-Identifier: Apache-2.0
// sig -- signals as descriptors: blocked, then read with the other events.
#pragma once

#include "base/compiler.h"

// sig_open blocks the `count` signals in this thread (and threads made later) and returns a
// non-blocking descriptor that delivers them, or -errno.
MUST_USE int sig_open(const int *signals, int count);

// sig_next takes one pending signal from the descriptor; 0 when none is left.
int sig_next(int fd);

// sig_reset unblocks all signals and restores default handlers, ignoring none.
void sig_reset(void);

// sig_ignore_pipe makes writes to closed peers fail with EPIPE instead of killing.
void sig_ignore_pipe(void);

// sig_name gives "SIGTERM" and the like; "signal 99" is never needed: unknown gives "SIG?".
const char *sig_name(int signal);
