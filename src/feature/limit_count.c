// SPDX-License-Identifier: Apache-2.0
// limit_count -- see limit_count.h.
#include "feature/limit_count.h"

#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"

#define SHARDS 16

struct counter {
    uint64_t count;
    char key[sizeof(uint64_t)];
};

struct shard {
    _Alignas(64) pthread_mutex_t lock; // guards: counters
    struct map counters;
};

static struct shard shards[SHARDS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locks(void)
{
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&shards[i].lock, NULL);
}

static struct shard *shard_of(uint64_t key)
{
    pthread_once(&once, make_locks);
    return &shards[key % SHARDS];
}

static struct counter *counter_of(struct shard *s, uint64_t key)
{
    char bytes[sizeof key];
    memcpy(bytes, &key, sizeof key);
    return map_find(&s->counters, str_n(bytes, sizeof bytes));
}

bool limit_count_take(uint64_t key, uint64_t most)
{
    struct shard *s = shard_of(key);
    pthread_mutex_lock(&s->lock);
    struct counter *c = counter_of(s, key);
    bool ok = most > 0 && (!c || c->count < most);
    if (ok && !c) {
        c = mem_new(struct counter);
        memcpy(c->key, &key, sizeof key);
        map_put(&s->counters, str_n(c->key, sizeof c->key), c);
    }
    if (ok)
        c->count++;
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void limit_count_give(uint64_t key)
{
    struct shard *s = shard_of(key);
    pthread_mutex_lock(&s->lock);
    struct counter *c = counter_of(s, key);
    ASSERT(c && c->count > 0);
    if (--c->count == 0) {
        map_remove(&s->counters, str_n(c->key, sizeof c->key));
        if (map_count(&s->counters) == 0)
            map_done(&s->counters);
        mem_free(c);
    }
    pthread_mutex_unlock(&s->lock);
}
