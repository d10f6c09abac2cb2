// SPDX-License-Identifier: Apache-2.0
// help_text -- the facts of a directive in words, for every form of the manual: taken from its row,
// so that the manual can't say anything else than the program does.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "conf/key.h"

// Rows that belong together: a module's, a block's, or the structure's.
struct help_group {
    const char *name;  // "server", "app"
    const char *title; // more about the place; may be NULL
    const struct key *keys;
    size_t count;
};

#define HELP_GROUPS_MAX 128

// help_text_groups lists the groups that have rows, in the order of the modules; the structure
// first. Returns how many.
size_t help_text_groups(struct help_group groups[static HELP_GROUPS_MAX]);

// help_text_syntax appends how the directive is written: "root PATH;".
void help_text_syntax(const struct key *key, struct buf *out);

// help_text_values appends what may stand for the value ("time, 1s to 1h"); nothing when the syntax
// says it all.
void help_text_values(const struct key *key, struct buf *out);

// help_text_default appends the default, nothing when there is none; true when it is written as a
// directive, false when in words.
bool help_text_default(const struct key *key, struct buf *out);

// help_text_example appends an example, a whole directive; false when there is none.
bool help_text_example(const struct key *key, struct buf *out);

// help_text_effect says what a changed value needs.
const char *help_text_effect(const struct key *key);
