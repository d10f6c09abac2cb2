// SPDX-License-Identifier: Apache-2.0
// loader_plan -- what the keeper must know of a configuration.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "core/snapshot.h"
#include "keeper/plan.h"

// loader_plan_make fills the plan from a snapshot that was built without errors; its texts live in
// `a` and in the snapshot. Looks users up and programs up. All errors are reported.
MUST_USE bool loader_plan_make(const struct snapshot *s, const char *instance, struct arena *a,
                               struct plan *out, struct err *err);
