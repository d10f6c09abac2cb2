// SPDX-License-Identifier: Apache-2.0
// limit_rate -- see limit_rate.h. The table is set-associative: a key may stand in the places of
// one set. Keys are hashes under a secret, so a stranger cannot choose his neighbours.
#include "feature/limit_rate.h"

#include <pthread.h>
#include <stddef.h>

#define WAYS  8
#define SETS  (LIMIT_RATE_KEYS_MAX / WAYS)
#define LOCKS 64

struct cell {
    uint64_t key;
    uint64_t due_us; // when all that was let through has been paid for
};

// One lock for the sets whose number has these low bits; each on a cache line of its own.
struct shard {
    _Alignas(64) pthread_mutex_t lock; // guards: the cells of its sets
};

static struct cell cells[SETS][WAYS];

static struct shard shards[LOCKS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locks(void)
{
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_init(&shards[i].lock, NULL);
}

static struct cell *find(struct cell *set, uint64_t key)
{
    struct cell *oldest = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].key == key)
            return &set[i];
        if (set[i].due_us < oldest->due_us)
            oldest = &set[i];
    }
    *oldest = (struct cell){.key = key};
    return oldest;
}

static size_t set_of(uint64_t key)
{
    return (size_t)(key % SETS);
}

static pthread_mutex_t *lock_of(uint64_t key)
{
    pthread_once(&once, make_locks);
    return &shards[set_of(key) % LOCKS].lock;
}

bool limit_rate_take(uint64_t key, uint64_t interval_us, uint64_t burst, uint64_t now_us,
                     uint64_t *out_wait_us)
{
    pthread_mutex_t *lock = lock_of(key);
    pthread_mutex_lock(lock);
    struct cell *cell = find(cells[set_of(key)], key);
    uint64_t due_us = cell->due_us > now_us ? cell->due_us : now_us;
    uint64_t ahead_us = due_us - now_us;
    uint64_t most_us = burst * interval_us;
    bool ok = ahead_us <= most_us;
    if (ok)
        cell->due_us = due_us + interval_us;
    else
        *out_wait_us = ahead_us - most_us;
    pthread_mutex_unlock(lock);
    return ok;
}

uint64_t limit_rate_reserve(uint64_t key, uint64_t cost_us, uint64_t now_us)
{
    pthread_mutex_t *lock = lock_of(key);
    pthread_mutex_lock(lock);
    struct cell *cell = find(cells[set_of(key)], key);
    uint64_t due_us = cell->due_us > now_us ? cell->due_us : now_us;
    cell->due_us = due_us + cost_us;
    pthread_mutex_unlock(lock);
    return due_us - now_us;
}

void limit_rate_refund(uint64_t key, uint64_t cost_us)
{
    pthread_mutex_t *lock = lock_of(key);
    pthread_mutex_lock(lock);
    struct cell *cell = find(cells[set_of(key)], key); // a forgotten one is idle and stays so
    cell->due_us -= cost_us < cell->due_us ? cost_us : cell->due_us;
    pthread_mutex_unlock(lock);
}
