// SPDX-License-Identifier: Apache-2.0
// lex -- cuts a configuration text into words, strings and punctuation, each with its place. Knows
// no grammar. Reports what can't be a token and goes on behind it.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/tree.h"

enum lex_kind {
    LEX_WORD,             // bare; {name} in it is a part of it
    LEX_STRING,           // was in quotes; may be empty
    LEX_END_OF_DIRECTIVE, // ;
    LEX_OPEN,             // {
    LEX_CLOSE,            // }
    LEX_BAD,              // reported; stands for an argument
    LEX_END               // of the text
};

struct lex_token {
    enum lex_kind kind;
    struct str text; // of words and strings, in the arena
    struct tree_pos pos;
};

struct lex {
    struct str left;     // text not read yet
    struct tree_pos pos; // of left
    struct arena *arena;
    struct err *err;
};

// lex_init starts at the beginning of `text`, which is borrowed; a byte order mark is skipped.
void lex_init(struct lex *l, struct arena *a, const char *file, struct str text, struct err *err);

// lex_next reads one token, skipping white space and # comments before it. At the end always
// LEX_END.
struct lex_token lex_next(struct lex *l);
