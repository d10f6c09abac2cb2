// SPDX-License-Identifier: Apache-2.0
// limit_body -- a body that comes no faster than a rate, which it shares with the other bodies of
// its client: a source around another one.
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "core/body.h"
#include "event/loop.h"

// limit_body_new wraps `inner`, which it closes, into a source of at most `bytes_per_s` (> 0) for
// all bodies of `key` together, which take turns. Memory is the arena's; timers are of `loop`.
struct body *limit_body_new(struct arena *a, struct loop *loop, struct body *inner, uint64_t key,
                            uint64_t bytes_per_s);
