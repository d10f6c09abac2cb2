// SPDX-License-Identifier: Apache-2.0
// snapshot -- see snapshot.h. Life, the current one, and lookups; snapshot_build.c makes one from a
// tree.
#include "core/snapshot.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/module.h"

#define BLOCK_BYTES ((size_t)(16 * 1024)) // of the arena: a small configuration takes one or two

static atomic_uint alive;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards: current
static struct snapshot *current;

struct snapshot *snapshot_new(uint32_t generation)
{
    struct snapshot *s = mem_new(struct snapshot);
    s->generation = generation;
    s->arena.block_bytes = BLOCK_BYTES;
    atomic_init(&s->refs, 1);
    atomic_fetch_add(&alive, 1);
    return s;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void snapshot_unref(struct snapshot *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    map_done(&s->hosts);
    arena_done(&s->arena);
    mem_free(s);
    atomic_fetch_sub(&alive, 1);
}

struct snapshot *snapshot_current(void)
{
    pthread_mutex_lock(&lock);
    struct snapshot *s = current ? snapshot_ref(current) : NULL;
    pthread_mutex_unlock(&lock);
    return s;
}

void snapshot_commit(struct snapshot *s)
{
    pthread_mutex_lock(&lock);
    struct snapshot *old = current;
    current = s;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; s && i < module_count(); i++) {
        if (module_at(i)->commit)
            module_at(i)->commit(s);
    }
    snapshot_unref(old);
}

bool snapshot_start(struct snapshot *s, struct err *err)
{
    for (size_t i = 0; i < module_count(); i++) {
        if (module_at(i)->start && !module_at(i)->start(s, err))
            return false;
    }
    return true;
}

unsigned snapshot_alive(void)
{
    return atomic_load(&alive);
}

const struct site *snapshot_site(const struct snapshot *s, struct str host)
{
    if (!s->site_count)
        return NULL;
    if (str_ends(host, STR(".")))
        host.len--; // a fully qualified name means the same site
    const struct site *site = map_find(&s->hosts, host);
    struct str rest = host;
    while (!site && s->has_wildcards && rest.len) { // "a.b.c" is asked for as ".b.c", then as ".c"
        rest = str_skip(rest, 1);
        rest = str_skip(rest, str_find(rest, '.'));
        if (rest.len)
            site = map_find(&s->hosts, rest);
    }
    return site ? site : s->fallback;
}

bool snapshot_is_below(struct str prefix, struct str url_path)
{
    if (str_ends(prefix, STR("/")))
        prefix.len--;
    return str_starts(url_path, prefix)
           && (url_path.len == prefix.len || url_path.ptr[prefix.len] == '/');
}

const struct path *snapshot_path(const struct site *site, struct str url_path)
{
    const struct path *path = site->paths;
    const struct path *last = site->paths + site->path_count - 1; // "/": for whatever is left
    while (path != last && !snapshot_is_below(path->prefix, url_path))
        path++;
    return path;
}
