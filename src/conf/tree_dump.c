// SPDX-License-Identifier: Apache-2.0
// tree_dump -- the tree as text again: what it parses to is the same tree, but for places.
#include "base/assert.h"
#include "conf/tree.h"

static bool is_plain(struct str arg)
{
    if (!arg.len || arg.ptr[0] == '#')
        return false;
    for (size_t i = 0; i < arg.len; i++) {
        char c = arg.ptr[i];
        if ((unsigned char)c <= ' ' || c == 0x7f || c == ';' || c == '{' || c == '}' || c == '"'
            || c == '\'')
            return false;
    }
    return true;
}

static void put(struct buf *out, struct str text)
{
    bool fits = buf_put(out, text);
    ASSERT(fits); // our buffers have no ceiling here
}

void tree_quote(struct str arg, struct buf *out)
{
    if (is_plain(arg)) {
        put(out, arg);
        return;
    }
    put(out, STR("\""));
    for (size_t i = 0; i < arg.len; i++) {
        char c = arg.ptr[i];
        if (c == '\n') {
            put(out, STR("\\n"));
        } else if (c == '\t') {
            put(out, STR("\\t"));
        } else {
            if (c == '"' || c == '\\')
                put(out, STR("\\"));
            put(out, str_n(&c, 1));
        }
    }
    put(out, STR("\""));
}

static void indent(unsigned depth, struct buf *out)
{
    for (unsigned i = 0; i < depth; i++)
        put(out, STR("    "));
}

static void dump_head(const struct tree_node *node, unsigned depth, struct buf *out)
{
    indent(depth, out);
    put(out, node->name);
    for (size_t i = 0; i < node->arg_count; i++) {
        put(out, STR(" "));
        tree_quote(node->args[i], out);
    }
    put(out, node->has_block ? STR(" {\n") : STR(";\n"));
}

void tree_dump(const struct tree_node *first, struct buf *out)
{
    const struct tree_node *outer[TREE_DEPTH_MAX];
    unsigned depth = 0;
    const struct tree_node *node = first;
    while (node || depth) {
        if (!node) { // the end of a block
            node = outer[--depth]->next;
            indent(depth, out);
            put(out, STR("}\n"));
            continue;
        }
        dump_head(node, depth, out);
        if (node->has_block) {
            ASSERT(depth < TREE_DEPTH_MAX);
            outer[depth++] = node;
            node = node->first_child;
        } else {
            node = node->next;
        }
    }
}
