// SPDX-License-Identifier: Apache-2.0
// quiet_thread -- threads that no signal reaches: signals are for those that wait for them, and
// SIGPIPE must not kill.
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "base/compiler.h"

// quiet_thread_start runs `fn` in a new thread, to be joined or detached. `stack_bytes` 0, or too
// few for the system: as many as is usual. 0 or -errno.
MUST_USE int quiet_thread_start(pthread_t *out_thread, size_t stack_bytes, void *(*fn)(void *),
                                void *arg);
