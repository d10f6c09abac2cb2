// SPDX-License-Identifier: Apache-2.0
// minder -- the life of a process that stands for a foreign one: a worker that is no child of the
// keeper has one of these beside it, which is, and which ends when it ends.
#pragma once

#include <sys/types.h>

// minder_prepare ignores the signals that are meant for the worker: asked to end, it still waits,
// since the end of its connection is what ends the worker in an orderly way.
void minder_prepare(void);

// minder_wait returns when the process behind `pidfd` has ended. Without the keeper, whose death is
// a SIGTERM, it has `grace_ms` left, then it is killed. 0, the exit status.
int minder_wait(int pidfd, pid_t keeper, unsigned grace_ms);
