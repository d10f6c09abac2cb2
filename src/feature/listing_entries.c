// SPDX-License-Identifier: Apache-2.0
// listing_entries -- see listing_entries.h.
#include "feature/listing_entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define SIZE_FIRST 64

struct reading {
    struct listing_entries *out;
    const struct listing_order *order;
    struct buf path; // "DIR/"
};

static void add(struct listing_entries *e, struct str name, const struct look *look)
{
    if (e->count == e->size) {
        e->size = e->size ? e->size * 2 : SIZE_FIRST;
        e->items = mem_grow(e->items, e->size * sizeof *e->items);
    }
    e->items[e->count++] = (struct listing_entry){
        .name_at = buf_len(&e->names),
        .name_len = name.len,
        .is_dir = look->kind == LOOK_DIR,
        .size = look->size,
        .mtime_s = look->mtime_s,
    };
    bool ok = buf_put(&e->names, name);
    ASSERT(ok); // no ceiling
}

static void on_name(void *arg, const char *name, bool is_dir)
{
    struct reading *r = arg;
    struct look look;
    (void)is_dir; // what a link leads to counts
    if (name[0] == '.')
        return;
    if (r->out->count >= LISTING_ENTRIES_MAX) {
        r->out->is_cut = true;
        return;
    }
    struct buf path = {0};
    buf_fmt(&path, "%.*s%s%c", STR_ARG(buf_view(&r->path)), name, '\0');
    // What a link must not lead to shows neither its size nor its date.
    int rc = look_below_at(buf_view(&path).ptr, r->order->root_len, r->order->links, &look);
    if (rc == 0 && look.kind != LOOK_OTHER)
        add(r->out, str_c(name), &look);
    buf_done(&path);
}

struct comparison {
    const struct listing_entries *entries;
    const struct listing_order *order;
};

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right, void *arg)
{
    const struct listing_entry *a = left;
    const struct listing_entry *b = right;
    const struct comparison *c = arg;
    if (a->is_dir != b->is_dir)
        return a->is_dir ? -1 : 1;
    int result = 0;
    switch (c->order->sort) {
    case LISTING_NAME:
        break;
    case LISTING_SIZE:
        result = a->is_dir ? 0 : by_number(a->size, b->size);
        break;
    case LISTING_DATE:
        result = by_number(a->mtime_s, b->mtime_s);
        break;
    }
    const char *names = buf_view(&c->entries->names).ptr;
    if (result == 0)
        result =
            str_cmp(str_n(names + a->name_at, a->name_len), str_n(names + b->name_at, b->name_len));
    return c->order->descending ? -result : result;
}

int listing_entries_read(const struct listing_order *order, struct listing_entries *out)
{
    struct reading r = {.out = out, .order = order};
    buf_fmt(&r.path, "%s/", order->dir);
    int rc = look_list(order->dir, on_name, &r);
    buf_done(&r.path);
    if (rc == 0 && out->count > 1) {
        struct comparison c = {out, order};
        qsort_r(out->items, out->count, sizeof *out->items, compare, &c);
    }
    return rc;
}

struct str listing_entries_name(const struct listing_entries *e, size_t at)
{
    return str_n(buf_view(&e->names).ptr + e->items[at].name_at, e->items[at].name_len);
}

size_t listing_entries_bytes(const struct listing_entries *e)
{
    return e->size * sizeof *e->items + e->names.size;
}

void listing_entries_done(struct listing_entries *e)
{
    mem_free(e->items);
    buf_done(&e->names);
    *e = (struct listing_entries){0};
}
