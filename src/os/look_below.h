// SPDX-License-Identifier: Apache-2.0
// look_below -- look_at and look_open for paths below a root, with a say about symbolic links in
// them. The root itself is taken as it is, links and all. May block on a slow disk.
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "os/look.h"

enum look_links {
    LOOK_LINKS_FOLLOW,
    LOOK_LINKS_OWNER, // only those that belong to the owner of what they lead to
    LOOK_LINKS_OFF,
};

// look_below_at tells what stands at `path`, whose first root_len bytes are the root. 0 or -errno;
// -ELOOP: a link that is not to be followed (or a ring of them).
MUST_USE int look_below_at(const char *path, size_t root_len, enum look_links links,
                           struct look *out);

// look_below_open opens a file to read; a pipe put in its place cannot hold us up. Descriptor or
// -errno as of look_below_at.
MUST_USE int look_below_open(const char *path, size_t root_len, enum look_links links);
