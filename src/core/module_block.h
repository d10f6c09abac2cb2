// SPDX-License-Identifier: Apache-2.0
// module_block -- what every walk over a block's directives reports alike: repetition, unknown
// names, wrong places.
#pragma once

#include "base/err.h"
#include "conf/key.h"

// module_block_repeats reports that an earlier sibling of `node`, from `first` on, has the same
// name; true if so.
bool module_block_repeats(const struct tree_node *first, const struct tree_node *node,
                          struct err *err);

// module_block_unknown reports that `node` is not a directive of this place: where it may stand if
// any module knows it, else the nearest name, and where that may stand if not here. `keys` are the
// rows of the place's own table, NULL for the modules' tables. Returns false.
bool module_block_unknown(const struct tree_node *node, unsigned scope, const struct key *keys,
                          size_t count, struct err *err);

// module_block_suggest is the row whose name is nearest to `name` in all tables, those of blocks
// included; NULL when none is near.
const struct key *module_block_suggest(struct str name);

// module_block_key finds any row of that name: in the modules' tables, in their blocks', and in the
// structure's.
const struct key *module_block_key(struct str name);
