// SPDX-License-Identifier: Apache-2.0
// guard -- copies of test input that end at a page nobody may touch: one byte too far crashes.
#pragma once

#include <stddef.h>

#include "base/str.h"

enum { GUARD_ROOM_BYTES = 256 * 1024 };

// guard_copy copies `s` (at most GUARD_ROOM_BYTES) flush against the forbidden page; valid until
// the next call. Not for several threads.
struct str guard_copy(struct str s);
