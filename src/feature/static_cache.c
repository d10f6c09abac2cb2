// SPDX-License-Identifier: Apache-2.0
// static_cache -- see static_cache.h. Of each kind the file used longest ago is dropped first.
#include "feature/static_cache.h"

#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/wr.h"
#include "os/fd.h"

struct cache {
    struct thread *thread;
    struct map map; // path -> file
    struct list in_memory, open;
    int64_t bytes;      // in_memory
    int64_t open_count; // open
    struct loop_timer timer;
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
    if (file->fd == FD_NONE)
        c->bytes -= cost(file);
    else
        c->open_count--;
    static_cache_unref(file);
}

static void free_cache(void *data)
{
    struct cache *c = data;
    loop_timer_stop(&c->timer);
    list_foreach(&c->in_memory, struct static_file, node, file)
        drop(c, file);
    list_foreach(&c->open, struct static_file, node, file)
        drop(c, file);
    map_done(&c->map);
    mem_free(c);
}

static void on_timer(struct loop_timer *timer)
{
    struct cache *c = CONTAINER_OF(timer, struct cache, timer);
    uint64_t now_us = loop_now_us(c->thread->loop);
    struct list_node *oldest;
    while ((oldest = list_first(&c->open)) != NULL) {
        struct static_file *file = CONTAINER_OF(oldest, struct static_file, node);
        if (now_us - file->used_us < STATIC_CACHE_OPEN_US)
            break;
        drop(c, file);
    }
    if (oldest)
        loop_timer_start(c->thread->loop, timer, STATIC_CACHE_OPEN_US);
}

static struct cache *cache_of(struct thread *t)
{
    struct cache *c = thread_attached(t, &CACHE_OWNER);
    if (!c) {
        c = mem_new(struct cache);
        c->thread = t;
        c->timer.on_expired = on_timer;
        list_init(&c->in_memory);
        list_init(&c->open);
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

// A date to come would be no date of a change (RFC 9110 §8.8.2.1): a copy, an archive or another
// machine's clock made it.
static void set_fields(struct static_file *file, int64_t now_s)
{
    int64_t changed_s = file->facts.mtime_s < now_s ? file->facts.mtime_s : now_s;
    char etag[STATIC_CACHE_ETAG_BYTES];
    char date[DATE_BYTES + 1];
    struct header *fields = file->fields;
    char *room = file->fields_room;
    fields[0] = header_line(HEADER_LAST_MODIFIED, date_format(changed_s, date), room);
    room += fields[0].name.len + fields[0].value.len + HEADER_LINE_EXTRA_BYTES;
    fields[1] = header_line(HEADER_ETAG, make_etag(etag, &file->facts), room);
    file->etag = fields[1].value;
}

static bool read_content(int fd, char *room, size_t size)
{
    size_t len = 0;
    while (len < size) {
        ssize_t n = fd_read(fd, room + len, size - len);
        if (n <= 0)
            return false;
        len += (size_t)n;
    }
    return true;
}

struct static_file *static_cache_new(struct str path, const struct look *facts, int fd,
                                     int64_t now_s)
{
    bool is_small = facts->size <= STATIC_CACHE_FILE_BYTES_MAX;
    size_t content_len = is_small ? (size_t)facts->size : 0;
    struct static_file *file = mem_alloc(sizeof *file + path.len + content_len);
    char *room = (char *)(file + 1);
    memcpy(room, path.ptr, path.len);
    file->refs = 1;
    file->facts = *facts;
    file->fd = fd;
    file->path = str_n(room, path.len);
    if (is_small && read_content(fd, room + path.len, content_len)) {
        file->content = str_n(room + path.len, content_len);
        fd_close(&file->fd);
    }
    set_fields(file, now_s);
    return file;
}

static void drop_oldest(struct cache *c, struct list *list)
{
    struct list_node *oldest = list_first(list);
    ASSERT(oldest);
    drop(c, CONTAINER_OF(oldest, struct static_file, node));
}

static void keep(struct cache *c, struct static_file *file, struct list *list)
{
    file->refs++;
    file->used_us = loop_now_us(c->thread->loop);
    map_put(&c->map, file->path, file);
    list_push_back(list, &file->node);
}

static void put_in_memory(struct cache *c, struct static_file *file, int64_t bytes_max)
{
    if (cost(file) > bytes_max)
        return;
    while (c->bytes + cost(file) > bytes_max)
        drop_oldest(c, &c->in_memory);
    c->bytes += cost(file);
    keep(c, file, &c->in_memory);
}

static void put_open(struct cache *c, struct static_file *file, int64_t open_max)
{
    if (open_max == 0)
        return;
    while (c->open_count >= open_max)
        drop_oldest(c, &c->open);
    c->open_count++;
    keep(c, file, &c->open);
    if (!loop_timer_is_armed(&c->timer))
        loop_timer_start(c->thread->loop, &c->timer, STATIC_CACHE_OPEN_US);
}

void static_cache_put(struct thread *t, struct static_file *file, int64_t bytes_max,
                      int64_t open_max)
{
    struct cache *c = cache_of(t);
    struct static_file *old = map_find(&c->map, file->path);
    if (old)
        drop(c, old);
    if (file->fd == FD_NONE)
        put_in_memory(c, file, bytes_max);
    else
        put_open(c, file, open_max);
}

static bool is_same(const struct look *a, const struct look *b)
{
    return a->size == b->size && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns
           && a->inode == b->inode;
}

struct static_file *static_cache_find(struct thread *t, struct str path, uint64_t hash,
                                      const struct look *facts)
{
    struct cache *c = cache_of(t);
    struct static_file *file = map_find_hashed(&c->map, path, hash);
    if (!file || !is_same(&file->facts, facts))
        return NULL;
    list_remove(&file->node);
    list_push_back(file->fd == FD_NONE ? &c->in_memory : &c->open, &file->node);
    file->used_us = loop_now_us(t->loop);
    file->refs++;
    return file;
}

void static_cache_unref(struct static_file *file)
{
    ASSERT(file->refs > 0);
    if (--file->refs > 0)
        return;
    fd_close(&file->fd);
    mem_free(file->type_room);
    mem_free(file);
}

const struct header *static_cache_type(const struct static_file *file, const void *owner,
                                       uint32_t generation)
{
    bool is_it = file->type_owner == owner && file->type_generation == generation;
    return is_it && file->type_room ? &file->type : NULL;
}

const struct header *static_cache_keep_type(struct static_file *file, const void *owner,
                                            uint32_t generation, struct str value)
{
    // The cache's reference and the caller's.
    if (file->type_room && file->refs > 2)
        return NULL;
    mem_free(file->type_room);
    size_t size = header_id_name(HEADER_CONTENT_TYPE).len + value.len + HEADER_LINE_EXTRA_BYTES;
    file->type_room = mem_alloc(size);
    file->type = header_line(HEADER_CONTENT_TYPE, value, file->type_room);
    file->type_owner = owner;
    file->type_generation = generation;
    return &file->type;
}
