// SPDX-License-Identifier: Apache-2.0
// static_cache -- see static_cache.h. The file used longest ago is dropped first.
#include "feature/static_cache.h"

#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/wr.h"
#include "http/mime.h"

struct cache {
    struct map map; // path -> file
    struct list files;
    int64_t bytes;
};

static const char CACHE_OWNER;

static int64_t cost(const struct static_file *file)
{
    return (int64_t)(sizeof *file + file->path.len + file->content.len);
}

static void drop(struct cache *c, struct static_file *file)
{
    map_remove(&c->map, file->path);
    list_remove(&file->node);
    c->bytes -= cost(file);
    static_cache_unref(file);
}

static void free_cache(void *data)
{
    struct cache *c = data;
    list_foreach(&c->files, struct static_file, node, file)
        drop(c, file);
    map_done(&c->map);
    mem_free(c);
}

static struct cache *cache_of(struct thread *t)
{
    struct cache *c = thread_attached(t, &CACHE_OWNER);
    if (!c) {
        c = mem_new(struct cache);
        list_init(&c->files);
        thread_attach(t, &CACHE_OWNER, c, free_cache);
    }
    return c;
}

// Strong: file, size and moment of the last change in nanoseconds.
static struct str make_etag(char *room, const struct look *facts)
{
    struct wr w = {.ptr = room, .size = STATIC_CACHE_ETAG_BYTES};
    wr_u8(&w, '"');
    wr_hex(&w, facts->inode);
    wr_u8(&w, '-');
    wr_hex(&w, (uint64_t)facts->size);
    wr_u8(&w, '-');
    wr_hex(&w, (uint64_t)facts->mtime_s * 1000000000u + (uint64_t)facts->mtime_ns);
    wr_u8(&w, '"');
    ASSERT(wr_ok(&w));
    return wr_view(&w);
}

struct static_file *static_cache_new(struct str path, const struct look *facts, const char *bytes)
{
    size_t content_len = bytes ? (size_t)facts->size : 0;
    struct static_file *file = mem_alloc(sizeof *file + path.len + content_len);
    char *room = (char *)(file + 1);
    memcpy(room, path.ptr, path.len);
    file->refs = 1;
    file->facts = *facts;
    file->path = str_n(room, path.len);
    if (bytes) {
        if (content_len)
            memcpy(room + path.len, bytes, content_len);
        file->content = str_n(room + path.len, content_len);
    }
    file->etag = make_etag(file->etag_room, facts);
    file->last_modified = date_format(facts->mtime_s, file->date_room);
    file->content_type = mime_content_type(file->path);
    return file;
}

void static_cache_put(struct thread *t, struct static_file *file, int64_t bytes_max)
{
    struct cache *c = cache_of(t);
    struct static_file *old = map_find(&c->map, file->path);
    if (old)
        drop(c, old);
    if (cost(file) > bytes_max)
        return;
    struct list_node *oldest;
    while (c->bytes + cost(file) > bytes_max && (oldest = list_first(&c->files)) != NULL)
        drop(c, CONTAINER_OF(oldest, struct static_file, node));
    file->refs++;
    map_put(&c->map, file->path, file);
    list_push_back(&c->files, &file->node);
    c->bytes += cost(file);
}

static bool is_same(const struct look *a, const struct look *b)
{
    return a->size == b->size && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns
           && a->inode == b->inode;
}

struct static_file *static_cache_find(struct thread *t, struct str path, const struct look *facts)
{
    struct cache *c = cache_of(t);
    struct static_file *file = map_find(&c->map, path);
    if (!file || !is_same(&file->facts, facts))
        return NULL;
    list_remove(&file->node);
    list_push_back(&c->files, &file->node);
    file->refs++;
    return file;
}

void static_cache_unref(struct static_file *file)
{
    ASSERT(file->refs > 0);
    if (--file->refs == 0)
        mem_free(file);
}
