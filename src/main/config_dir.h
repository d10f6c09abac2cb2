// SPDX-License-Identifier: Apache-2.0
// config_dir -- the configuration for `godwit serve DIR`: looks what DIR holds and writes the text
// that an operator would have written for it.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "conf/tree.h"

// config_dir_read gives the directives that serve `dir` (absolute) on 127.0.0.1:PORT.
MUST_USE bool config_dir_read(const char *dir, unsigned port, struct arena *a,
                              struct tree_node **out_first, struct err *err);
