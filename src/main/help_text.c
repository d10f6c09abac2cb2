// SPDX-License-Identifier: Apache-2.0
// help_text -- see help_text.h.
#include "main/help_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "core/module.h"
#include "core/snapshot.h"

size_t help_text_groups(struct help_group groups[static HELP_GROUPS_MAX])
{
    size_t count = 0;
    struct help_group structure = {.name = "structure"};
    structure.keys = snapshot_keys(&structure.count);
    groups[count++] = structure;
    for (size_t i = 0; i < module_count(); i++) {
        const struct module *m = module_at(i);
        ASSERT(count + 2 <= HELP_GROUPS_MAX);
        if (m->key_count)
            groups[count++] = (struct help_group){m->name, NULL, m->keys, m->key_count};
        if (m->block_key_count) {
            groups[count++] =
                (struct help_group){m->name, "in its block", m->block_keys, m->block_key_count};
        }
    }
    return count;
}

static void put_upper(const char *text, struct buf *out)
{
    for (; *text; text++)
        buf_fmt(out, "%c", *text >= 'a' && *text <= 'z' ? *text - 32 : *text);
}

static void put_words(const struct key *key, struct buf *out)
{
    for (size_t i = 0; key->words[i]; i++)
        buf_fmt(out, "%s%s", i ? "|" : "", key->words[i]);
}

void help_text_syntax(const struct key *key, struct buf *out)
{
    const char *syntax = key->syntax ? key->syntax : key->type->syntax;
    buf_fmt(out, "%s ", key->name);
    if (syntax) {
        buf_fmt(out, "%s", syntax);
    } else if (key->words) {
        put_words(key, out);
    } else {
        put_upper(key->type->name, out);
    }
    if (!syntax || syntax[strlen(syntax) - 1] != '}')
        buf_fmt(out, ";");
}

static void put_bound(const struct key *key, int64_t value, struct buf *out)
{
    if (key->type == &KEY_RANGE) {
        buf_fmt(out, "%" PRId64, value);
    } else {
        key->type->print(key, &value, out);
    }
}

static void put_bounds(const struct key *key, struct buf *out)
{
    bool has_bounds = key->min || key->max;
    if (!has_bounds)
        return;
    buf_fmt(out, ", ");
    if (key->max == INT64_MAX)
        buf_fmt(out, "at least ");
    put_bound(key, key->min, out);
    if (key->max == INT64_MAX)
        return;
    buf_fmt(out, " to ");
    put_bound(key, key->max, out);
}

void help_text_values(const struct key *key, struct buf *out)
{
    if (key->type == &KEY_SIZE) {
        buf_fmt(out, "size in bytes or with k, m, g");
        put_bounds(key, out);
    } else if (key->type == &KEY_TIME) {
        buf_fmt(out, "time in seconds or with ms, s, m, h, d");
        put_bounds(key, out);
    } else if (key->type == &KEY_INT || key->type == &KEY_RANGE) {
        buf_fmt(out, "%s", key->type == &KEY_INT ? "number" : "numbers");
        put_bounds(key, out);
        if (key->unit)
            buf_fmt(out, " %s", key->unit);
    }
}

bool help_text_default(const struct key *key, struct buf *out)
{
    if (key->def)
        buf_fmt(out, "%s %s;", key->name, key->def);
    else if (key->def_words)
        buf_fmt(out, "%s", key->def_words);
    else if (key->type == &KEY_FLAG)
        buf_fmt(out, "%s off;", key->name);
    return !key->def_words;
}

bool help_text_example(const struct key *key, struct buf *out)
{
    if (!key->example)
        return false;
    bool is_block = key->example[strlen(key->example) - 1] == '}';
    buf_fmt(out, "%s %s%s", key->name, key->example, is_block ? "" : ";");
    return true;
}

const char *help_text_effect(const struct key *key)
{
    switch (key->effect) {
    case KEY_RELOAD:
        return "a reload";
    case KEY_WORKERS:
        return "a reload, which changes the app's workers one after another";
    case KEY_RESTART:
        return "a restart of the instance";
    }
    return "";
}
