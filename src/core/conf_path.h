// SPDX-License-Identifier: Apache-2.0
// conf_path -- paths of URLs as directives take them. They are held against paths of requests,
// which are decoded and have neither dot segments nor double slashes: what is written otherwise
// would never fit, and is refused with what was meant.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "conf/tree.h"

// conf_path_check tells whether `path`, which stands at `pos` in `directive`, is written as
// requests have it; reports it otherwise. "%2F" is let through: encoded_slash can keep it.
MUST_USE bool conf_path_check(const char *directive, struct str path, struct tree_pos pos,
                              struct arena *a, struct err *err);

// conf_path_has_slash tells whether a slash that is kept stands in it.
bool conf_path_has_slash(struct str path);
