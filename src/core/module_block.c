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
    const char *best;
    unsigned distance;
};

static void look_at(struct nearest *n, const struct key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned distance = key_distance(n->name, str_c(keys[i].name));
        if (distance >= n->distance || (n->scope && !(keys[i].scopes & n->scope)))
            continue;
        n->best = keys[i].name;
        n->distance = distance;
    }
}

const char *module_block_suggest(struct str name, unsigned scope, const struct key *keys,
                                 size_t count)
{
    // One slip in three letters is a slip; more is another word.
    struct nearest n = {.name = name, .scope = scope, .distance = (unsigned)(name.len / 3 + 2)};
    look_at(&n, keys, count);
    if (keys)
        return n.best;
    size_t structure_count;
    const struct key *structure = snapshot_keys(&structure_count);
    look_at(&n, structure, structure_count);
    for (size_t i = 0; i < module_count(); i++) {
        look_at(&n, module_at(i)->keys, module_at(i)->key_count);
        look_at(&n, module_at(i)->block_keys, module_at(i)->block_key_count);
    }
    return n.best;
}

bool module_block_unknown(const struct tree_node *node, unsigned scope, const struct key *keys,
                          size_t count, struct err *err)
{
    const struct key *elsewhere = module_block_key(node->name);
    if (elsewhere && !(elsewhere->scopes & scope))
        return key_scope_check(elsewhere, node, scope, err);
    const char *near = module_block_suggest(node->name, scope, keys, count);
    if (!near)
        near = module_block_suggest(node->name, 0, NULL, 0);
    if (near) {
        return tree_error(err, node->pos, "unknown directive \"%.*s\", did you mean \"%s\"?",
                          STR_ARG(node->name), near);
    }
    return tree_error(err, node->pos,
                      "unknown directive \"%.*s\", one of `godwit help` was expected",
                      STR_ARG(node->name));
}
