// SPDX-License-Identifier: Apache-2.0
// module -- see module.h. The register, and the walk over a block's directives.
#include "core/module.h"

#include "base/assert.h"
#include "core/exchange.h"
#include "core/module_block.h"
#include "core/snapshot.h"

static struct module *modules[MODULE_MAX];
static size_t registered;
static struct module_lists lists;

static void append(struct module_list *list, struct module *m, bool has_it)
{
    if (!has_it)
        return;
    list->items[list->count++] = m;
    list->mask |= UINT64_C(1) << m->index;
}

void module_register(struct module *m)
{
    ASSERT(registered < MODULE_MAX);
    for (size_t i = 0; i < m->key_count; i++)
        ASSERT(!module_key(str_c(m->keys[i].name), NULL)); // one directive, one owner
    m->index = registered;
    modules[registered++] = m;
    for (size_t i = 0; i < PHASE_COUNT; i++)
        append(&lists.hooks[i], m, m->hooks[i]);
    append(&lists.respond, m, m->respond);
    append(&lists.refuse, m, m->refuse);
    append(&lists.log, m, m->log);
    append(&lists.runs_script, m, m->runs_script);
}

const struct module_lists *module_lists(void)
{
    return &lists;
}

size_t module_count(void)
{
    return registered;
}

struct module *module_at(size_t index)
{
    ASSERT(index < registered);
    return modules[index];
}

const struct key *module_key(struct str name, struct module **out_module)
{
    for (size_t i = 0; i < registered; i++) {
        const struct key *key = key_find(modules[i]->keys, modules[i]->key_count, name);
        if (!key)
            continue;
        if (out_module)
            *out_module = modules[i];
        return key;
    }
    return NULL;
}

const void *module_conf_at(const struct scope *scope, const struct module *m)
{
    return scope->confs[m->index];
}

const void *module_conf(const struct exchange *ex, const struct module *m)
{
    return module_conf_at(ex->path ? &ex->path->scope : &ex->snapshot->top, m);
}

bool module_apply_block(const struct tree_node *block, const struct key *keys, size_t count,
                        struct arena *a, void *conf, struct err *err)
{
    bool ok = true;
    for (const struct tree_node *node = block->first_child; node; node = node->next) {
        const struct key *key = key_find(keys, count, node->name);
        if (!key) {
            ok = module_block_unknown(node, KEY_APP, keys, count, err);
        } else if (!key->repeats && module_block_repeats(block->first_child, node, err)) {
            ok = false;
        } else {
            ok = key_apply(key, node, KEY_APP, a, conf, err) && ok;
        }
    }
    return ok;
}
