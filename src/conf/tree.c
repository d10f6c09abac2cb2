// SPDX-License-Identifier: Apache-2.0
// tree -- see tree.h. The parser: one loop over tokens with a stack of open blocks. After an error
// it goes on with what is most likely meant, so that one run shows all of them.
#include "conf/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "conf/lex.h"

#define ERRORS_MAX    50   // of one text; then the parser gives up
#define MESSAGE_BYTES 1024 // a longer message is cut

struct parser {
    struct tree_source *source;
    struct lex lex;
    struct err *err;
    struct tree_node **tail; // where the next directive goes

    struct open_block {
        struct tree_node *node;
        struct tree_node **tail; // to go on with behind the block
    } blocks[TREE_DEPTH_MAX];

    unsigned depth;
    struct str args[TREE_ARGS_MAX]; // of the directive being read
    struct tree_pos arg_pos[TREE_ARGS_MAX];
    size_t arg_count;
    bool has_given_up;
};

bool tree_error(struct err *err, struct tree_pos pos, const char *fmt, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return err_set(err, "%s:%u:%u: %s", pos.file, pos.line, pos.column, message);
}

static void *copy(struct arena *a, const void *from, size_t size)
{
    void *to = arena_alloc(a, size);
    if (size)
        memcpy(to, from, size);
    return to;
}

static void add_argument(struct parser *p, struct lex_token token)
{
    if (p->arg_count < TREE_ARGS_MAX) {
        p->args[p->arg_count] = token.text;
        p->arg_pos[p->arg_count] = token.pos;
    } else if (p->arg_count == TREE_ARGS_MAX) {
        tree_error(p->err, token.pos, "too many arguments, at most %d were expected",
                   TREE_ARGS_MAX);
    }
    p->arg_count++;
}

// Reads the arguments that follow `name`; returns the token that ends them.
static struct lex_token read_arguments(struct parser *p, bool *out_bad)
{
    p->arg_count = 0;
    *out_bad = false;
    for (;;) {
        struct lex_token token = lex_next(&p->lex);
        switch (token.kind) {
        case LEX_WORD:
        case LEX_STRING:
            add_argument(p, token);
            break;
        case LEX_BAD:
            *out_bad = true;
            break;
        case LEX_END_OF_DIRECTIVE:
        case LEX_OPEN:
        case LEX_CLOSE:
        case LEX_END:
            if (p->arg_count > TREE_ARGS_MAX)
                p->arg_count = TREE_ARGS_MAX;
            return token;
        }
    }
}

static void link_node(struct parser *p, struct tree_node *node)
{
    *p->tail = node;
    p->tail = &node->next;
}

static void open_block(struct parser *p, struct tree_node *node, struct tree_pos pos)
{
    link_node(p, node);
    if (p->source->block_depth == TREE_DEPTH_MAX) {
        tree_error(p->err, pos, "blocks stand too deep, at most %d levels were expected",
                   TREE_DEPTH_MAX);
        p->has_given_up = true;
        return;
    }
    node->has_block = true;
    p->blocks[p->depth++] = (struct open_block){node, p->tail};
    p->source->block_depth++;
    p->tail = &node->first_child;
}

static void close_block(struct parser *p, struct tree_pos pos)
{
    if (!p->depth) {
        tree_error(p->err, pos, "\"}\" without an open block, a directive was expected");
        return;
    }
    p->tail = p->blocks[--p->depth].tail;
    p->source->block_depth--;
}

static void include(struct parser *p, struct tree_pos pos)
{
    struct tree_source *source = p->source;
    if (p->arg_count != 1) {
        tree_error(p->err, pos,
                   "\"include\" has %zu arguments, one was expected: a file or a pattern",
                   p->arg_count);
    } else if (!source->include) {
        tree_error(p->err, pos, "\"include\" is not possible here, another directive was expected");
    } else if (source->include_depth == TREE_INCLUDE_MAX) {
        tree_error(p->err, pos,
                   "files include each other too deep, at most %d levels were expected",
                   TREE_INCLUDE_MAX);
    } else {
        source->include_depth++;
        (void)source->include(source, p->args[0], p->arg_pos[0], &p->tail, p->err);
        source->include_depth--;
    }
}

static struct tree_node *new_node(struct parser *p, struct lex_token name)
{
    struct arena *a = p->source->arena;
    struct tree_node *node = arena_new(a, struct tree_node);
    node->name = name.text;
    node->pos = name.pos;
    node->dir = p->source->dir;
    node->args = copy(a, p->args, p->arg_count * sizeof p->args[0]);
    node->arg_pos = copy(a, p->arg_pos, p->arg_count * sizeof p->arg_pos[0]);
    node->arg_count = p->arg_count;
    return node;
}

static bool is_name(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9')
            && c != '_')
            return false;
    }
    return true;
}

// Reads one directive from behind its name.
static void directive(struct parser *p, struct lex_token name)
{
    bool is_bad;
    struct lex_token end = read_arguments(p, &is_bad);
    bool is_include = str_eq(name.text, STR("include")) && name.kind == LEX_WORD;
    switch (end.kind) {
    case LEX_END_OF_DIRECTIVE:
        if (is_include && !is_bad) {
            include(p, name.pos);
        } else if (!is_include) {
            link_node(p, new_node(p, name));
        }
        break;
    case LEX_OPEN:
        if (is_include)
            tree_error(p->err, end.pos, "\"include\" takes no block, \";\" was expected");
        open_block(p, new_node(p, name), end.pos);
        break;
    case LEX_CLOSE:
        if (!is_bad) {
            tree_error(p->err, end.pos, "\"}\" before the end of \"%.*s\", \";\" was expected",
                       STR_ARG(name.text));
        }
        close_block(p, end.pos);
        break;
    case LEX_END:
        if (!is_bad) {
            tree_error(p->err, name.pos, "\"%.*s\" has no end, \";\" was expected",
                       STR_ARG(name.text));
        }
        break;
    case LEX_WORD:
    case LEX_STRING:
    case LEX_BAD:
        break; // read_arguments never ends with one
    }
}

// Reads one directive or the end of a block; false at the end of the text.
static bool step(struct parser *p)
{
    struct lex_token token = lex_next(&p->lex);
    switch (token.kind) {
    case LEX_WORD:
        if (!is_name(token.text)) {
            tree_error(p->err, token.pos,
                       "\"%.*s\" is no directive, a name of letters, digits and _ was expected",
                       STR_ARG(token.text));
        }
        directive(p, token);
        return true;
    case LEX_BAD:
        directive(p, token);
        return true;
    case LEX_STRING:
        tree_error(p->err, token.pos, "string where the name of a directive was expected");
        directive(p, token);
        return true;
    case LEX_OPEN:
        tree_error(p->err, token.pos, "\"{\" without a name, a directive was expected");
        p->arg_count = 0;
        open_block(p, new_node(p, token), token.pos);
        return true;
    case LEX_END_OF_DIRECTIVE:
        tree_error(p->err, token.pos, "\";\" without a name, a directive was expected");
        return true;
    case LEX_CLOSE:
        close_block(p, token.pos);
        return true;
    case LEX_END:
        return false;
    }
    return false;
}

bool tree_parse(struct tree_source *source, const char *file, struct str text,
                struct tree_node ***tail, struct err *err)
{
    struct parser *p = mem_new(struct parser);
    unsigned block_depth = source->block_depth;
    int errors_before = err->count;
    p->source = source;
    p->err = err;
    p->tail = *tail;
    lex_init(&p->lex, source->arena, file, text, err);
    while (!p->has_given_up && step(p)) {
        if (err->count - errors_before < ERRORS_MAX)
            continue;
        tree_error(err, p->lex.pos, "too many errors, the rest of the file was not read");
        p->has_given_up = true;
    }
    for (; p->depth; p->depth--) {
        const struct open_block *block = &p->blocks[p->depth - 1];
        if (!p->has_given_up) {
            tree_error(err, block->node->pos, "block of \"%.*s\" is not closed, \"}\" was expected",
                       STR_ARG(block->node->name));
        }
        p->tail = block->tail;
    }
    source->block_depth = block_depth;
    *tail = p->tail;
    mem_free(p);
    return err->count == errors_before;
}
