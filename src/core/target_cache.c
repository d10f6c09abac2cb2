// SPDX-License-Identifier: Apache-2.0
// target_cache -- see target_cache.h. Entries stand in two lists, present and absent, the one used
// longest ago first; that one goes when the limit is reached.
#include "core/target_cache.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/thread.h"

struct entry {
    struct list_node node; // in present or absent
    uint64_t seen_us;
    size_t root_len;
    enum look_links links;
    struct target_look look;
    size_t path_len;
    char path[];
};

struct cache {
    struct map map; // path -> entry
    struct list present, absent;
    size_t absent_count;
};

static const char CACHE_OWNER;

static void drop(struct cache *c, struct entry *e)
{
    map_remove(&c->map, str_n(e->path, e->path_len));
    list_remove(&e->node);
    if (e->look.seen == TARGET_SEEN_NOTHING)
        c->absent_count--;
    mem_free(e);
}

static void free_cache(void *data)
{
    struct cache *c = data;
    list_foreach(&c->present, struct entry, node, e)
        drop(c, e);
    list_foreach(&c->absent, struct entry, node, e)
        drop(c, e);
    map_done(&c->map);
    mem_free(c);
}

static struct cache *cache_of(struct thread *t)
{
    struct cache *c = thread_attached(t, &CACHE_OWNER);
    if (!c) {
        c = mem_new(struct cache);
        list_init(&c->present);
        list_init(&c->absent);
        thread_attach(t, &CACHE_OWNER, c, free_cache);
    }
    return c;
}

static struct target_look look_of(const struct look *look, size_t part_len)
{
    enum target_seen seen = TARGET_SEEN_SPECIAL;
    if (look->kind == LOOK_FILE)
        seen = TARGET_SEEN_FILE;
    else if (look->kind == LOOK_DIR)
        seen = TARGET_SEEN_DIR;
    return (struct target_look){.seen = seen, .part_len = part_len, .facts = *look};
}

// Walks the segments of the path, in `room`, to the first that is no directory. What the path names
// can only be a regular file with more path behind it: the caller has seen that the whole is
// nothing.
static struct target_look walk(char *room, size_t path_len, size_t root_len, enum look_links links)
{
    struct look look = {.kind = LOOK_DIR};
    for (size_t at = root_len + 1; at < path_len && look.kind == LOOK_DIR; at++) {
        if (room[at] != '/')
            continue;
        room[at] = '\0';
        int rc = look_below_at(room, root_len, links, &look);
        room[at] = '/';
        if (rc < 0)
            break;
        if (look.kind == LOOK_FILE)
            return look_of(&look, at);
    }
    return (struct target_look){.seen = TARGET_SEEN_NOTHING, .part_len = path_len};
}

static struct target_look look_now(struct str path, size_t root_len, enum look_links links)
{
    struct look look;
    int rc = look_below_at(path.ptr, root_len, links, &look);
    if (rc == 0)
        return look_of(&look, path.len);
    struct target_look nothing = {.seen = TARGET_SEEN_NOTHING, .part_len = path.len};
    if (rc == -EACCES || rc == -EPERM || (rc == -ELOOP && links != LOOK_LINKS_FOLLOW))
        nothing.seen = TARGET_SEEN_FORBIDDEN;
    // Only these may come from a file that is followed by more path.
    if (rc != -ENOTDIR && rc != -ENAMETOOLONG)
        return nothing;
    char *room = mem_alloc(path.len + 1);
    memcpy(room, path.ptr, path.len);
    struct target_look found = walk(room, path.len, root_len, links);
    mem_free(room);
    return found;
}

static void make_room(struct cache *c, bool absent)
{
    struct list_node *oldest = NULL;
    if (absent && c->absent_count >= TARGET_CACHE_ABSENT_MAX)
        oldest = list_first(&c->absent);
    else if (map_count(&c->map) >= TARGET_CACHE_ENTRIES_MAX)
        oldest = list_first(list_is_empty(&c->absent) ? &c->present : &c->absent);
    if (oldest)
        drop(c, CONTAINER_OF(oldest, struct entry, node));
}

static void remember(struct cache *c, struct str path, const struct entry *facts)
{
    bool absent = facts->look.seen == TARGET_SEEN_NOTHING;
    make_room(c, absent);
    struct entry *e = mem_alloc(sizeof *e + path.len + 1);
    *e = *facts;
    e->path_len = path.len;
    memcpy(e->path, path.ptr, path.len);
    map_put(&c->map, str_n(e->path, e->path_len), e);
    list_push_back(absent ? &c->absent : &c->present, &e->node);
    c->absent_count += absent;
}

struct target_look target_cache_look(struct thread *t, struct str path, size_t root_len,
                                     enum look_links links, uint64_t check_us)
{
    ASSERT(path.ptr[path.len] == '\0' && root_len <= path.len);
    struct cache *c = cache_of(t);
    uint64_t hash = map_hash(&c->map, path);
    if (check_us == 0 || path.len > TARGET_CACHE_PATH_MAX) {
        struct target_look look = look_now(path, root_len, links);
        look.path_hash = hash;
        return look;
    }
    uint64_t now_us = loop_now_us(t->loop);
    struct entry *e = map_find_hashed(&c->map, path, hash);
    if (e && e->root_len == root_len && e->links == links && now_us - e->seen_us < check_us) {
        list_remove(&e->node);
        list_push_back(e->look.seen == TARGET_SEEN_NOTHING ? &c->absent : &c->present, &e->node);
        return e->look;
    }
    if (e)
        drop(c, e);
    struct entry facts = {
        .seen_us = now_us,
        .root_len = root_len,
        .links = links,
        .look = look_now(path, root_len, links),
    };
    facts.look.path_hash = hash;
    remember(c, path, &facts);
    return facts.look;
}
