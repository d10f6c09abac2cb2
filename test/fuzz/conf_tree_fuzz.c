// SPDX-License-Identifier: Apache-2.0
// conf_tree_fuzz -- what parses must survive packing and dumping; any bytes may be unpacked.
#include <stdint.h>

#include "base/assert.h"
#include "conf/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pack(const struct tree_node *first, struct buf *packed)
{
    struct arena arena = {0};
    struct buf again = {0};
    bool ok;
    buf_done(packed);
    tree_pack(first, packed);
    tree_pack(tree_unpack(buf_view(packed), &arena, &ok), &again);
    ASSERT(ok && str_eq(buf_view(packed), buf_view(&again)));
    buf_done(&again);
    arena_done(&arena);
}

static void check_dump(const struct tree_node *first)
{
    struct arena arena = {0};
    struct tree_source source = {.arena = &arena};
    struct buf dump = {0};
    struct buf again = {0};
    struct err err = {0};
    struct tree_node *same = NULL;
    struct tree_node **tail = &same;
    tree_dump(first, &dump);
    bool ok = tree_parse(&source, "dump", buf_view(&dump), &tail, &err);
    ASSERT(ok);
    tree_dump(same, &again);
    ASSERT(str_eq(buf_view(&dump), buf_view(&again)));
    buf_done(&dump);
    buf_done(&again);
    arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct tree_source source = {.arena = &arena, .dir = "/etc"};
    struct str text = str_n((const char *)data, size);
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    struct err err = {0};
    struct buf packed = {0};
    bool ok = tree_parse(&source, "fuzz", text, &tail, &err);
    ASSERT(ok == (err.count == 0));
    if (ok) {
        check_pack(first, &packed);
        check_dump(first);
    }
    // Packed bytes may say the same thing only one way.
    first = tree_unpack(text, &arena, &ok);
    if (ok) {
        buf_done(&packed);
        tree_pack(first, &packed);
        ASSERT(str_eq(buf_view(&packed), text));
    }
    buf_done(&packed);
    err_done(&err);
    arena_done(&arena);
    return 0;
}
