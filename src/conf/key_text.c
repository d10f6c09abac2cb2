// SPDX-License-Identifier: Apache-2.0
// key_text -- the stock types made of words: on|off, string, file, log, choice, words, pairs.
#include <string.h>

#include "base/assert.h"
#include "conf/key.h"

// Reports the first argument as not what was expected.
static bool report(const struct key *key, const struct tree_node *node, const char *expected,
                   struct err *err)
{
    struct buf value = {0};
    tree_quote(node->args[0], &value);
    tree_error(err, node->arg_pos[0], "\"%s\" is %.*s, %s was expected", key->name,
               STR_ARG(buf_view(&value)), expected);
    buf_done(&value);
    return false;
}

static bool flag_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    (void)a;
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    bool on = str_eq(node->args[0], STR("on"));
    if (!on && !str_eq(node->args[0], STR("off")))
        return report(key, node, "on or off", err);
    *(bool *)field = on;
    return true;
}

static void flag_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    buf_fmt(out, "%s", *(const bool *)field ? "on" : "off");
}

static bool str_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                      void *field, struct err *err)
{
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    *(struct str *)field = arena_dup(a, node->args[0]);
    return true;
}

static void str_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    tree_quote(*(const struct str *)field, out);
}

static bool file_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    if (!node->args[0].len || str_has_ctl(node->args[0]))
        return report(key, node, "a path", err);
    *(struct str *)field = key_path(node, node->args[0], a);
    return true;
}

static bool log_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                      void *field, struct err *err)
{
    if (node->arg_count == 1
        && (str_eq(node->args[0], STR("stdout")) || str_eq(node->args[0], STR("stderr"))))
        return str_parse(key, node, a, field, err);
    return file_parse(key, node, a, field, err);
}

// Lists the words of a choice: "plain", "plain or json", "error, warn or info".
static bool report_choice(const struct key *key, const struct tree_node *node, struct err *err)
{
    struct buf list = {0};
    for (const char *const *word = key->words; *word; word++)
        buf_fmt(&list, "%s%s", word == key->words ? "" : word[1] ? ", " : " or ", *word);
    buf_fmt(&list, "%c", '\0');
    report(key, node, buf_view(&list).ptr, err);
    buf_done(&list);
    return false;
}

static bool enum_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    (void)a;
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    for (int i = 0; key->words[i]; i++) {
        if (str_eq(str_c(key->words[i]), node->args[0])) {
            *(int *)field = i;
            return true;
        }
    }
    return report_choice(key, node, err);
}

static void enum_print(const struct key *key, const void *field, struct buf *out)
{
    buf_fmt(out, "%s", key->words[*(const int *)field]);
}

// The list may be the parent scope's: a longer one is always a new one.
static void add_words(struct key_words *words, const struct str *more, size_t count,
                      struct arena *a)
{
    struct str *items = arena_array(a, struct str, words->count + count);
    for (size_t i = 0; i < words->count; i++)
        items[i] = words->items[i];
    for (size_t i = 0; i < count; i++)
        items[words->count + i] = arena_dup(a, more[i]);
    words->items = items;
    words->count += count;
}

static bool words_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                        void *field, struct err *err)
{
    struct key_words *words = field;
    size_t most = key->max ? (size_t)key->max : TREE_ARGS_MAX;
    if (!key_args_check(key, node, 1, most, err))
        return false;
    if (!key->repeats)
        *words = (struct key_words){0};
    add_words(words, node->args, node->arg_count, a);
    return true;
}

static void words_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    const struct key_words *words = field;
    for (size_t i = 0; i < words->count; i++) {
        buf_fmt(out, "%s", i ? " " : "");
        tree_quote(words->items[i], out);
    }
}

static bool has_name(const struct key_pairs *pairs, struct str name)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (str_eq(pairs->items[i].name, name))
            return true;
    return false;
}

// Those of the scope outside keep it.
static void drop_name(struct key_pairs *pairs, struct str name, struct arena *a)
{
    struct key_pairs kept = {0};
    for (size_t i = 0; i < pairs->count; i++) {
        if (str_eq(pairs->items[i].name, name))
            continue;
        kept.items = arena_append(a, kept.items, kept.count, sizeof *kept.items);
        kept.items[kept.count++] = pairs->items[i];
    }
    *pairs = kept;
}

static bool pairs_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                        void *field, struct err *err)
{
    struct key_pairs *pairs = field;
    if (!key_args_check(key, node, 2, 2, err))
        return false;
    if (has_name(pairs, node->args[0]))
        drop_name(pairs, node->args[0], a);
    pairs->items = arena_append(a, pairs->items, pairs->count, sizeof *pairs->items);
    pairs->items[pairs->count++] =
        (struct key_pair){arena_dup(a, node->args[0]), arena_dup(a, node->args[1])};
    return true;
}

// One pair a line, each as its directive would be written.
static void pairs_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    const struct key_pairs *pairs = field;
    for (size_t i = 0; i < pairs->count; i++) {
        buf_fmt(out, "%s", i ? "\n" : "");
        tree_quote(pairs->items[i].name, out);
        buf_fmt(out, " ");
        tree_quote(pairs->items[i].value, out);
    }
}

const struct key_type KEY_FLAG = {"on or off", "on|off", flag_parse, flag_print};
const struct key_type KEY_STR = {"text", NULL, str_parse, str_print};
const struct key_type KEY_FILE = {"path", NULL, file_parse, str_print};
const struct key_type KEY_LOG = {"log", "PATH|stderr|stdout", log_parse, str_print};
const struct key_type KEY_ENUM = {"choice", NULL, enum_parse, enum_print};
const struct key_type KEY_WORDS = {"words", "WORD...", words_parse, words_print};
const struct key_type KEY_PAIRS = {"pair", "NAME VALUE", pairs_parse, pairs_print};
