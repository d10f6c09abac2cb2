// SPDX-License-Identifier: Apache-2.0
// key -- the table that makes the parser, the defaults, the inheritance, the manual and the forms:
// one row a directive. Knows no directive itself; modules bring their tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "conf/tree.h"

enum { // where a directive may stand
    KEY_TOP = 1,
    KEY_SITE = 2,
    KEY_PATH = 4,
    KEY_APP = 8,
};

enum key_effect { // what a changed value needs on reload
    KEY_RELOAD,   // takes effect with the new snapshot
    KEY_WORKERS,  // rolling restart of the app's workers
    KEY_RESTART   // only a restart of the instance
};

struct key;

// A type of value. parse fills the field from the node's arguments; it reports errors itself with
// tree_error (what was wrong, what was expected, bounds with unit). print writes the value as it
// would be written in a file.
struct key_type {
    const char *name;   // "size", "time", "on|off", ... shown in the manual
    const char *syntax; // arguments as shown in the manual, e.g. "SIZE"; NULL: upper-cased name
    bool (*parse)(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err);
    void (*print)(const struct key *key, const void *field, struct buf *out);
};

struct key {
    const char *name;
    const struct key_type *type;
    size_t offset;            // of the field in the module's conf struct
    unsigned scopes;          // KEY_* bits
    const char *def;          // default as text, parsed by `type`; NULL: the zeroed field
    int64_t min, max;         // for numbers, sizes, times; both 0: no bounds
    const char *unit;         // "bytes", "ms", "requests", ...; NULL for none
    const char *help;         // one or more full sentences
    const char *example;      // NULL, or arguments as one would write them
    const char *const *words; // for KEY_ENUM: NULL-terminated, the field is the index (int)
    bool repeats;             // may stand more than once in one block; parse appends
    enum key_effect effect;
    const char *syntax;    // NULL: the type's; else arguments as shown in the manual
    const char *def_words; // NULL, or what holds without `def`, for the manual
};

// Stock types and their fields.
extern const struct key_type KEY_FLAG; // bool: on | off
extern const struct key_type KEY_INT;  // int64_t
extern const struct key_type KEY_SIZE; // int64_t bytes: 512, 64k, 256m, 2g
extern const struct key_type
    KEY_TIME; // int64_t milliseconds: 500ms, 30s, 10m, 2h, 7d (bare number: s)
extern const struct key_type KEY_STR; // struct str
extern const struct key_type
    KEY_FILE; // struct str: a path, made absolute against the file it stands in
extern const struct key_type KEY_LOG;   // struct str: stdout, stderr, or a path as KEY_FILE
extern const struct key_type KEY_ENUM;  // int: index in key->words
extern const struct key_type KEY_WORDS; // struct key_words: one or more strings, at most `max` if
                                        // set; replaces the parent scope's unless `repeats`
extern const struct key_type
    KEY_PAIRS; // struct key_pairs: NAME VALUE, repeatable; a later equal name replaces
extern const struct key_type KEY_RANGE; // struct key_range: MIN..MAX or N

struct key_words {
    struct str *items;
    size_t count;
};

struct key_pair {
    struct str name, value;
};

struct key_pairs {
    struct key_pair *items;
    size_t count;
};

struct key_range {
    int64_t min, max;
};

// key_args_check refuses a block, and fewer than min or more than max arguments: for `parse` of a
// type that takes none.
MUST_USE bool key_args_check(const struct key *key, const struct tree_node *node, size_t min,
                             size_t max, struct err *err);

// key_path makes `path` absolute against the node's directory, into the arena (NUL behind). No file
// system access.
struct str key_path(const struct tree_node *node, struct str path, struct arena *a);

// key_defaults fills `conf` (conf_size bytes, zeroed) from the table's default texts. A bad default
// is our bug (ASSERT).
void key_defaults(const struct key *keys, size_t count, struct arena *a, void *conf);

// key_apply parses `node` into `conf` by the row `key`, checking the scope. False: reported.
// Repetition is seen by whoever walks the block (module_apply_block).
MUST_USE bool key_apply(const struct key *key, const struct tree_node *node, unsigned scope,
                        struct arena *a, void *conf, struct err *err);

// key_find returns the row named `name`, NULL if there is none.
const struct key *key_find(const struct key *keys, size_t count, struct str name);

#define KEY_PLACES_BYTES 96

// key_places writes "in site or in path" into `room`, which it returns.
const char *key_places(const struct key *key, char room[static KEY_PLACES_BYTES]);

// key_scope_check reports a directive that may not stand in `scope`.
MUST_USE bool key_scope_check(const struct key *key, const struct tree_node *node, unsigned scope,
                              struct err *err);

// key_distance is the edit distance (insert, delete, replace, swap of neighbours), for suggestions.
unsigned key_distance(struct str a, struct str b);

// key_scopes_text writes the scopes in words ("top level, site, path").
const char *key_scopes_text(unsigned scopes, char room[static 64]);
