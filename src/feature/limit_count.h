// SPDX-License-Identifier: Apache-2.0
// limit_count -- how many of something a key has at once, for all threads together. Holds memory
// for keys that have any.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

// limit_count_take counts one more for `key` unless it has `most` already. Any thread.
MUST_USE bool limit_count_take(uint64_t key, uint64_t most);

// limit_count_give counts one less.
void limit_count_give(uint64_t key);
