// SPDX-License-Identifier: Apache-2.0
// auth_cache -- which passwords a thread has found right lately. Holds digests under a secret of
// the process, no passwords.
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "core/thread.h"

#define AUTH_CACHE_KEPT_US     ((uint64_t)60 * 1000000)
#define AUTH_CACHE_ENTRIES_MAX 1024

// auth_cache_has tells whether this password was right for this user and hash within
// AUTH_CACHE_KEPT_US: a changed hash is another question.
bool auth_cache_has(struct thread *t, struct str user, struct str password, struct str hash);

// auth_cache_put remembers that it was right.
void auth_cache_put(struct thread *t, struct str user, struct str password, struct str hash);
