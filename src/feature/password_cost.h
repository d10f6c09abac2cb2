// SPDX-License-Identifier: Apache-2.0
// password_cost -- what a check against a hash will cost, as the hash itself says.
#pragma once

#include <stdbool.h>

#include "base/str.h"

// password_cost_is_bearable tells whether a check takes seconds and 256 MiB at most. Hashes can ask
// for hours and gigabytes, of threads that all sites share.
bool password_cost_is_bearable(struct str hash);
