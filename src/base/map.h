// SPDX-License-Identifier: Apache-2.0
// map -- a hash table from byte strings to pointers, open addressing, keys borrowed. Not for
// sharing between threads while it changes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct map_entry {
    struct str key; // borrowed; key.ptr NULL: free place
    void *value;
    uint64_t hash;
};

// {0} is an empty map. With `nocase`, ASCII letters are folded.
struct map {
    bool nocase;
    // private
    struct map_entry *entries;
    size_t size, count;
};

// map_find returns the value of `key`, NULL when absent.
void *map_find(const struct map *m, struct str key);

// map_hash is the hash of a key in this map, for several looks with one key: other maps with the
// same `nocase` have the same.
uint64_t map_hash(const struct map *m, struct str key);

// map_find_hashed is map_find for a key whose map_hash is known.
void *map_find_hashed(const struct map *m, struct str key, uint64_t hash);

// map_put sets `key` (borrowed until removed or map_done) to `value` (not NULL); returns the value
// that it replaced, or NULL.
void *map_put(struct map *m, struct str key, void *value);

// map_remove removes `key` and returns its value, NULL when absent.
void *map_remove(struct map *m, struct str key);

// map_count is the count of keys.
size_t map_count(const struct map *m);

// map_next walks: start with *at = 0; NULL at the end. The map must not change meanwhile.
struct map_entry *map_next(const struct map *m, size_t *at);

// map_done frees the table, not keys and values.
void map_done(struct map *m);
