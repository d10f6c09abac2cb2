// SPDX-License-Identifier: Apache-2.0
// config_file -- a configuration file and the files it includes.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "conf/tree.h"

// config_file_read parses the file at `path` (absolute, kept in the nodes), bringing in what it
// includes: a name, or a pattern with * ? [ whose matches come in the order of their names. A plain
// name that is missing is an error, a pattern without matches is not. All errors are reported.
MUST_USE bool config_file_read(const char *path, struct arena *a, struct tree_node **out_first,
                               struct err *err);
