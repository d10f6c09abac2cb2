// SPDX-License-Identifier: Apache-2.0
// map -- see map.h. Linear probing; removal moves the following run back, so there are no marks.
#include "base/map.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/mem.h"

#define SIZE_FIRST 16

uint64_t map_hash(const struct map *m, struct str key)
{
    return m->nocase ? hash_fold(key) : hash_str(key);
}

static bool same(const struct map *m, struct str a, struct str b)
{
    return m->nocase ? str_eq_nocase(a, b) : str_eq(a, b);
}

static struct map_entry *place_of(const struct map *m, struct str key, uint64_t hash)
{
    size_t at = (size_t)hash & (m->size - 1);
    while (m->entries[at].key.ptr
           && (m->entries[at].hash != hash || !same(m, m->entries[at].key, key)))
        at = (at + 1) & (m->size - 1);
    return &m->entries[at];
}

static void grow(struct map *m)
{
    struct map old = *m;
    m->size = old.size ? old.size * 2 : SIZE_FIRST;
    m->entries = mem_array(m->size, sizeof *m->entries);
    for (size_t i = 0; i < old.size; i++)
        if (old.entries[i].key.ptr)
            *place_of(m, old.entries[i].key, old.entries[i].hash) = old.entries[i];
    mem_free(old.entries);
}

void *map_find(const struct map *m, struct str key)
{
    return m->count ? map_find_hashed(m, key, map_hash(m, key)) : NULL;
}

void *map_find_hashed(const struct map *m, struct str key, uint64_t hash)
{
    return m->count ? place_of(m, key, hash)->value : NULL;
}

void *map_put(struct map *m, struct str key, void *value)
{
    ASSERT(value);
    if (!key.ptr)
        key.ptr = "";
    if ((m->count + 1) * 4 > m->size * 3)
        grow(m);
    uint64_t hash = map_hash(m, key);
    struct map_entry *entry = place_of(m, key, hash);
    void *replaced = entry->value;
    if (!replaced)
        m->count++;
    *entry = (struct map_entry){key, value, hash};
    return replaced;
}

void *map_remove(struct map *m, struct str key)
{
    if (!m->count)
        return NULL;
    struct map_entry *entry = place_of(m, key, map_hash(m, key));
    void *value = entry->value;
    if (!value)
        return NULL;
    m->count--;
    size_t hole = (size_t)(entry - m->entries);
    for (size_t at = (hole + 1) & (m->size - 1); m->entries[at].key.ptr;
         at = (at + 1) & (m->size - 1)) {
        size_t home = (size_t)m->entries[at].hash & (m->size - 1);
        if (((at - home) & (m->size - 1)) >= ((at - hole) & (m->size - 1))) {
            m->entries[hole] = m->entries[at];
            hole = at;
        }
    }
    m->entries[hole] = (struct map_entry){0};
    return value;
}

size_t map_count(const struct map *m)
{
    return m->count;
}

struct map_entry *map_next(const struct map *m, size_t *at)
{
    while (*at < m->size)
        if (m->entries[(*at)++].key.ptr)
            return &m->entries[*at - 1];
    return NULL;
}

void map_done(struct map *m)
{
    mem_free(m->entries);
    m->entries = NULL;
    m->size = m->count = 0;
}
