// SPDX-License-Identifier: Apache-2.0
// config -- gets the configuration that a command line names: a file with its includes, or what
// suits a directory. Resolves nothing: core/snapshot.h does.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "conf/tree.h"

struct config_source {
    const char *file; // -c FILE; NULL: a directory is served
    const char *dir;  // DIR
    unsigned port;    // -p PORT
    const char *name; // -n NAME, "" when not given
};

// config_source_read reads the words of main/roles.h from argv[1...].
MUST_USE bool config_source_read(int argc, char **argv, struct config_source *out, struct err *err);

// config_read gives the directives, allocated in `a`. All errors are reported.
MUST_USE bool config_read(const struct config_source *source, struct arena *a,
                          struct tree_node **out_first, struct err *err);
