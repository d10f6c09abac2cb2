// SPDX-License-Identifier: Apache-2.0
// config_verify -- checks what a configuration says against the machine: that roots, users and the
// directories of logs exist. Modules check all that needs no look at the machine.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "conf/tree.h"

// config_verify reports everything that is missing, each with its place; false if anything is.
MUST_USE bool config_verify(const struct tree_node *first, struct arena *a, struct err *err);
