// SPDX-License-Identifier: Apache-2.0
// tree_pack -- a tree as bytes for another process, and back. Strict: what was not packed here is
// refused.
//
//   packed = "GWT1" list
//   list   = { node } END
//   node   = (SAME_FILE | NEW_FILE str:file (0 | 1 str:dir)) place str:name u32:count { place
//   str:arg } (0 | 1 list) place  = u32:line u32:column
// Integers are little-endian; str is a u32 length and its bytes. The text of a list's end has one
// form only, so that packing what was unpacked gives the same bytes.
#include "base/assert.h"
#include "base/rd.h"
#include "base/wr.h"
#include "conf/tree.h"

#define MAGIC     STR("GWT1")
#define ARG_BYTES 12 // the least that an argument takes

enum mark { MARK_END, MARK_SAME_FILE, MARK_NEW_FILE };

static void put(struct buf *out, struct str bytes)
{
    bool fits = buf_put(out, bytes);
    ASSERT(fits); // our buffers have no ceiling here
}

static void put_u8(struct buf *out, unsigned value)
{
    char byte = (char)value;
    put(out, str_n(&byte, 1));
}

static void put_u32(struct buf *out, size_t value)
{
    char room[4];
    struct wr w = {.ptr = room, .size = sizeof room};
    ASSERT(value <= UINT32_MAX);
    wr_u32le(&w, (uint32_t)value);
    put(out, wr_view(&w));
}

static void put_str(struct buf *out, struct str s)
{
    put_u32(out, s.len);
    put(out, s);
}

static void put_place(struct buf *out, struct tree_pos pos)
{
    put_u32(out, pos.line);
    put_u32(out, pos.column);
}

static void put_file(struct buf *out, const struct tree_node *node, const struct tree_node *last)
{
    if (last && node->pos.file == last->pos.file && node->dir == last->dir) {
        put_u8(out, MARK_SAME_FILE);
        return;
    }
    put_u8(out, MARK_NEW_FILE);
    put_str(out, str_c(node->pos.file));
    put_u8(out, node->dir != NULL);
    if (node->dir)
        put_str(out, str_c(node->dir));
}

static void put_node(struct buf *out, const struct tree_node *node)
{
    put_place(out, node->pos);
    put_str(out, node->name);
    put_u32(out, node->arg_count);
    for (size_t i = 0; i < node->arg_count; i++) {
        put_place(out, node->arg_pos[i]);
        put_str(out, node->args[i]);
    }
    put_u8(out, node->has_block);
}

void tree_pack(const struct tree_node *first, struct buf *out)
{
    const struct tree_node *outer[TREE_DEPTH_MAX];
    const struct tree_node *last = NULL;
    unsigned depth = 0;
    const struct tree_node *node = first;
    put(out, MAGIC);
    while (node || depth) {
        if (!node) {
            put_u8(out, MARK_END);
            node = outer[--depth]->next;
            continue;
        }
        put_file(out, node, last);
        put_node(out, node);
        last = node;
        if (node->has_block) {
            ASSERT(depth < TREE_DEPTH_MAX);
            outer[depth++] = node;
            node = node->first_child;
        } else {
            node = node->next;
        }
    }
    put_u8(out, MARK_END);
}

// A text that other code will use as a C string.
static const char *get_cstr(struct rd *r, struct arena *a)
{
    const char *text = arena_cstr(a, rd_str(r));
    r->failed = r->failed || !text;
    return text;
}

static bool get_bool(struct rd *r)
{
    uint8_t value = rd_u8(r);
    r->failed = r->failed || value > 1;
    return value == 1;
}

static struct tree_pos get_place(struct rd *r, const char *file)
{
    struct tree_pos pos = {.file = file};
    pos.line = rd_u32le(r);
    pos.column = rd_u32le(r);
    return pos;
}

static void get_args(struct rd *r, struct arena *a, struct tree_node *node)
{
    size_t count = rd_u32le(r);
    if (count > TREE_ARGS_MAX || count > r->left.len / ARG_BYTES) {
        r->failed = true;
        return;
    }
    node->args = arena_array(a, struct str, count);
    node->arg_pos = arena_array(a, struct tree_pos, count);
    node->arg_count = count;
    for (size_t i = 0; i < count; i++) {
        node->arg_pos[i] = get_place(r, node->pos.file);
        node->args[i] = arena_dup(a, rd_str(r));
    }
}

// Reads one node whose mark was read; `last` is the node before it in the bytes, NULL at the start.
static struct tree_node *get_node(struct rd *r, struct arena *a, uint8_t mark,
                                  const struct tree_node *last)
{
    struct tree_node *node = arena_new(a, struct tree_node);
    const char *file = last ? last->pos.file : NULL;
    node->dir = last ? last->dir : NULL;
    if (mark == MARK_NEW_FILE) {
        file = get_cstr(r, a);
        node->dir = get_bool(r) ? get_cstr(r, a) : NULL;
    } else {
        r->failed = r->failed || mark != MARK_SAME_FILE || !last;
    }
    node->pos = get_place(r, file);
    node->name = arena_dup(a, rd_str(r));
    get_args(r, a, node);
    node->has_block = get_bool(r);
    return node;
}

static struct tree_node *get_list(struct rd *r, struct arena *a)
{
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    struct tree_node **outer[TREE_DEPTH_MAX];
    const struct tree_node *last = NULL;
    unsigned depth = 0;
    while (rd_ok(r)) {
        uint8_t mark = rd_u8(r);
        if (mark == MARK_END && depth) {
            tail = outer[--depth];
            continue;
        }
        if (mark == MARK_END || !rd_ok(r))
            break;
        struct tree_node *node = get_node(r, a, mark, last);
        last = *tail = node;
        tail = &node->next;
        if (!node->has_block)
            continue;
        r->failed = r->failed || depth == TREE_DEPTH_MAX;
        if (rd_ok(r))
            outer[depth++] = tail;
        tail = &node->first_child;
    }
    return first;
}

struct tree_node *tree_unpack(struct str bytes, struct arena *a, bool *out_ok)
{
    struct rd r = {.left = bytes};
    r.failed = !str_eq(rd_bytes(&r, MAGIC.len), MAGIC);
    struct tree_node *first = get_list(&r, a);
    *out_ok = rd_end(&r);
    return *out_ok ? first : NULL;
}
