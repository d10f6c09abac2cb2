// SPDX-License-Identifier: Apache-2.0
// module_block -- see module_block.h.
#include "core/module_block.h"

#include "core/module.h"
#include "core/snapshot.h"

bool module_block_repeats(const struct tree_node *first, const struct tree_node *node,
                          struct err *err)
{
    for (const struct tree_node *before = first; before != node; before = before->next) {
        if (!str_eq(before->name, node->name))
            continue;
        tree_error(err, node->pos,
                   "\"%.*s\" stands here again, once was expected (first at %s:%u:%u)",
                   STR_ARG(node->name), before->pos.file, before->pos.line, before->pos.column);
        return true;
    }
    return false;
}

const struct key *module_block_key(struct str name)
{
    size_t count;
    const struct key *keys = snapshot_keys(&count);
    const struct key *key = key_find(keys, count, name);
    if (!key)
        key = module_key(name, NULL);
    for (size_t i = 0; !key && i < module_count(); i++)
        key = key_find(module_at(i)->block_keys, module_at(i)->block_key_count, name);
    return key;
}

struct nearest {
    struct str name;
    unsigned scope; // 0: any
    const struct key *best;
    unsigned distance;
};

// One slip in three letters is a slip; more is another word.
static struct nearest nearest_to(struct str name, unsigned scope)
{
    return (struct nearest){.name = name, .scope = scope, .distance = (unsigned)(name.len / 3 + 2)};
}

static void look_at(struct nearest *n, const struct key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned distance = key_distance(n->name, str_c(keys[i].name));
        if (distance >= n->distance || (n->scope && !(keys[i].scopes & n->scope)))
            continue;
        n->best = &keys[i];
        n->distance = distance;
    }
}

static void look_everywhere(struct nearest *n)
{
    size_t count;
    const struct key *structure = snapshot_keys(&count);
    look_at(n, structure, count);
    for (size_t i = 0; i < module_count(); i++) {
        look_at(n, module_at(i)->keys, module_at(i)->key_count);
        look_at(n, module_at(i)->block_keys, module_at(i)->block_key_count);
    }
}

const struct key *module_block_suggest(struct str name)
{
    struct nearest n = nearest_to(name, 0);
    look_everywhere(&n);
    return n.best;
}

bool module_block_unknown(const struct tree_node *node, unsigned scope, const struct key *keys,
                          size_t count, struct err *err)
{
    const struct key *elsewhere = module_block_key(node->name);
    if (elsewhere && !(elsewhere->scopes & scope))
        return key_scope_check(elsewhere, node, scope, err);
    struct nearest n = nearest_to(node->name, scope);
    look_at(&n, keys, count);
    if (!keys)
        look_everywhere(&n);
    // What is nearer but stands in another place is likelier meant than what is far but fits.
    n.scope = 0;
    look_everywhere(&n);
    if (!n.best) {
        return tree_error(err, node->pos,
                          "unknown directive \"%.*s\", one of `godwit help` was expected",
                          STR_ARG(node->name));
    }
    char places[KEY_PLACES_BYTES] = "";
    bool is_here = (n.best->scopes & scope) != 0;
    return tree_error(err, node->pos, "unknown directive \"%.*s\", did you mean \"%s\"%s%s?",
                      STR_ARG(node->name), n.best->name, is_here ? "" : ", which may stand ",
                      is_here ? "" : key_places(n.best, places));
}
