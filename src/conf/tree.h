// SPDX-License-Identifier: Apache-2.0
// tree -- a configuration file as directives with arguments and blocks, each knowing where it
// stands. Knows no directive. Syntax: NAME ARG... ;   or   NAME ARG... { ... }   with # comments,
// "..." and '...' strings (backslash escapes \\ \" \' \n \t in double quotes), include GLOB;
// resolved by the loader.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#define TREE_DEPTH_MAX   16  // blocks within blocks
#define TREE_ARGS_MAX    256 // arguments of one directive
#define TREE_INCLUDE_MAX 16  // files including files

struct tree_pos {
    const char *file;      // as the user named it
    unsigned line, column; // from 1; column in bytes
};

struct tree_node {
    struct str name;
    struct tree_pos pos;
    const char *dir; // of tree_source: where relative paths begin; NULL: they stay relative
    struct str *args;
    struct tree_pos *arg_pos;
    size_t arg_count;
    bool has_block;
    struct tree_node *first_child, *next; // in order of the text
};

struct tree_source;

// tree_include_fn brings in what an include names: called with the pattern as written and its
// place, it calls tree_parse for each file (with source->dir set for that file, and restored).
// False: errors were set.
typedef bool tree_include_fn(struct tree_source *source, struct str pattern, struct tree_pos pos,
                             struct tree_node ***tail, struct err *err);

struct tree_source {
    struct arena *arena;      // all nodes and texts live here; file and dir must live as long
    tree_include_fn *include; // NULL: includes are errors
    const char *dir; // absolute directory of the file being parsed, kept in its nodes; may be NULL
    // private
    unsigned include_depth, block_depth; // around the text being parsed
};

// tree_parse reads `text` of file `file` and appends its directives at **tail (advanced). Reports
// all syntax errors it can, each as "file:line:column: what, and what was expected". False if any.
MUST_USE bool tree_parse(struct tree_source *source, const char *file, struct str text,
                         struct tree_node ***tail, struct err *err);

// tree_error adds "file:line:column: message" to err; returns false.
PRINTF_LIKE(3, 4) bool tree_error(struct err *err, struct tree_pos pos, const char *fmt, ...);

// tree_pack appends a binary form of the list starting at `first`; tree_unpack reads it back into
// `a` (NULL when malformed; *out_ok tells). The server gets its configuration this way.
void tree_pack(const struct tree_node *first, struct buf *out);
struct tree_node *tree_unpack(struct str bytes, struct arena *a, bool *out_ok);

// tree_quote appends `arg` as one argument as a file would write it, in quotes where needed.
void tree_quote(struct str arg, struct buf *out);

// tree_dump appends the configuration as canonical text (four spaces a level).
void tree_dump(const struct tree_node *first, struct buf *out);
