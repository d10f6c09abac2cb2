// SPDX-License-Identifier: Apache-2.0
// loader_spool -- whether the server will be able to make its temporary files where `spool_dir`
// says: else the first large upload would be the one to find out.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "conf/tree.h"
#include "keeper/plan.h"

// loader_spool_check makes a file there with the rights of the plan's user, and reports why it
// cannot. Only a directory that is configured is looked at; a full disk is no error.
MUST_USE bool loader_spool_check(const struct tree_node *tree, const struct plan *plan,
                                 struct arena *a, struct err *err);
