// SPDX-License-Identifier: Apache-2.0
// key -- see key.h. What all types share; the types are in key_number.c and key_text.c.
#include "conf/key.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

static const struct {
    unsigned scope;
    const char *name;   // in lists
    const char *phrase; // in sentences
} SCOPES[] = {
    {KEY_TOP, "top level", "at top level"},
    {KEY_SITE, "site", "in site"},
    {KEY_PATH, "path", "in path"},
    {KEY_APP, "app", "in app"},
};

const struct key *key_find(const struct key *keys, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(str_c(keys[i].name), name))
            return &keys[i];
    }
    return NULL;
}

const char *key_scopes_text(unsigned scopes, char room[static 64])
{
    size_t len = 0;
    room[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(SCOPES); i++) {
        if (scopes & SCOPES[i].scope)
            len += (size_t)snprintf(room + len, 64 - len, "%s%s", len ? ", " : "", SCOPES[i].name);
    }
    ASSERT(len < 64);
    return room;
}

const char *key_places(const struct key *key, char room[static KEY_PLACES_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(SCOPES); i++) {
        if (key->scopes & SCOPES[i].scope) {
            len += (size_t)snprintf(room + len, KEY_PLACES_BYTES - len, "%s%s", len ? " or " : "",
                                    SCOPES[i].phrase);
        }
    }
    ASSERT(len && len < KEY_PLACES_BYTES);
    return room;
}

bool key_scope_check(const struct key *key, const struct tree_node *node, unsigned scope,
                     struct err *err)
{
    if (key->scopes & scope)
        return true;
    char places[KEY_PLACES_BYTES];
    const char *here = "here";
    for (size_t i = 0; i < ARRAY_LEN(SCOPES); i++)
        if (scope == SCOPES[i].scope)
            here = SCOPES[i].phrase;
    return tree_error(err, node->pos, "\"%s\" may stand %s, not %s", key->name,
                      key_places(key, places), here);
}

// A directive without ";" swallows the next one. The first argument from `from` on that begins a
// line shows that; false when there is none.
static bool report_missing_end(const struct key *key, const struct tree_node *node, size_t from,
                               struct err *err)
{
    for (size_t i = from; i < node->arg_count; i++) {
        unsigned before = i ? node->arg_pos[i - 1].line : node->pos.line;
        if (node->arg_pos[i].line == before)
            continue;
        tree_error(err, node->arg_pos[i],
                   "\"%.*s\" still belongs to \"%s\" in line %u, \";\" was expected before it",
                   STR_ARG(node->args[i]), key->name, node->pos.line);
        return true;
    }
    return false;
}

static bool report_count(const struct key *key, const struct tree_node *node, size_t min,
                         size_t max, struct err *err)
{
    char expected[48];
    if (report_missing_end(key, node, max, err))
        return false;
    if (min == max) {
        (void)snprintf(expected, sizeof expected, "%zu", min);
    } else if (max >= TREE_ARGS_MAX) {
        (void)snprintf(expected, sizeof expected, "at least %zu", min);
    } else {
        (void)snprintf(expected, sizeof expected, "%zu to %zu", min, max);
    }
    return tree_error(err, node->pos, "\"%s\" has %zu argument%s, %s %s expected", key->name,
                      node->arg_count, node->arg_count == 1 ? "" : "s", expected,
                      min == 1 && max == 1 ? "was" : "were");
}

bool key_args_check(const struct key *key, const struct tree_node *node, size_t min, size_t max,
                    struct err *err)
{
    if (node->has_block) {
        if (report_missing_end(key, node, min, err))
            return false;
        return tree_error(err, node->pos, "\"%s\" takes no block, \";\" was expected", key->name);
    }
    if (node->arg_count < min || node->arg_count > max)
        return report_count(key, node, min, max, err);
    return true;
}

struct str key_path(const struct tree_node *node, struct str path, struct arena *a)
{
    if (!node->dir || (path.len && path.ptr[0] == '/'))
        return arena_dup(a, path);
    while (str_starts(path, STR("./")))
        path = str_skip(path, 2);
    if (!path.len || str_eq(path, STR(".")))
        return arena_dup(a, str_c(node->dir));
    const char *slash = str_ends(str_c(node->dir), STR("/")) ? "" : "/";
    return arena_fmt(a, "%s%s%.*s", node->dir, slash, STR_ARG(path));
}

bool key_apply(const struct key *key, const struct tree_node *node, unsigned scope, struct arena *a,
               void *conf, struct err *err)
{
    if (!key_scope_check(key, node, scope, err))
        return false;
    return key->type->parse(key, node, a, (char *)conf + key->offset, err);
}

// The words of a default text: white space separates, there are no quotes.
static size_t split_words(struct str text, struct str *words, struct tree_pos *places, size_t max)
{
    size_t count = 0;
    while (text.len) {
        struct str word = str_cut(&text, ' ');
        if (!word.len)
            continue;
        ASSERT(count < max);
        places[count] = (struct tree_pos){"default", 1, 1};
        words[count++] = word;
    }
    return count;
}

void key_defaults(const struct key *keys, size_t count, struct arena *a, void *conf)
{
    struct str words[16];
    struct tree_pos places[ARRAY_LEN(words)];
    for (size_t i = 0; i < count; i++) {
        const struct key *key = &keys[i];
        if (!key->def)
            continue;
        struct tree_node node = {
            .name = str_c(key->name),
            .pos = {"default", 1, 1},
            .args = words,
            .arg_pos = places,
        };
        node.arg_count = split_words(str_c(key->def), words, places, ARRAY_LEN(words));
        struct err err = {0};
        bool is_valid = key->type->parse(key, &node, a, (char *)conf + key->offset, &err);
        ASSERT(is_valid);
        err_done(&err);
    }
}
