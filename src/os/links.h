// SPDX-License-Identifier: Apache-2.0
// links -- the symbolic links that a path leads through, and where it ends: remembered so that a
// later look costs one readlink for each.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

#define LINKS_PATH_BYTES 256 // longer ones are not remembered
#define LINKS_MAX        2

struct links {
    char resolved[LINKS_PATH_BYTES]; // absolute, without links, "." and ".."

    struct {
        char path[LINKS_PATH_BYTES], target[LINKS_PATH_BYTES];
    } items[LINKS_MAX];

    unsigned count;
};

// links_follow walks the absolute `path`. 0 or -errno: -ENAMETOOLONG for more bytes or links than
// are remembered.
MUST_USE int links_follow(const char *path, struct links *out);

// links_are_unchanged looks at the links again.
bool links_are_unchanged(const struct links *l);
