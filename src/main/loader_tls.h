// SPDX-License-Identifier: Apache-2.0
// loader_tls -- reads certificate and key while somebody is here who may, and puts them into the
// configuration that the server gets: it opens neither.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "conf/tree.h"
#include "core/snapshot.h"

// loader_tls_read adds what the files hold as a second argument to the directives certificate and
// key of the tree, from which the snapshot was built. False: `err` says which file is missing, or
// what is wrong with it.
MUST_USE bool loader_tls_read(const struct snapshot *s, struct tree_node *tree, struct arena *a,
                              struct err *err);
