// SPDX-License-Identifier: Apache-2.0
// wards -- the workers that a spawner has forked, by descriptors that mean them even when their
// numbers pass to others. They are the keeper's children; the spawner ends them when it is gone.
#pragma once

#include "base/compiler.h"

// wards_add takes the pidfd of one more over, and lets go of those that have ended.
void wards_add(int pidfd);

// wards_outlive gives all of them `time_ms` to end and kills those that have not.
void wards_outlive(unsigned time_ms);

// wards_forget closes all: in a worker, which has no wards.
void wards_forget(void);
