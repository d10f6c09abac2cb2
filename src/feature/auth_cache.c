// SPDX-License-Identifier: Apache-2.0
// auth_cache -- see auth_cache.h. The entry put first goes first.
#include "feature/auth_cache.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "os/random.h"

#define DIGEST_BYTES 32
#define SECRET_BYTES 32

struct entry {
    struct list_node node;
    uint64_t until_us;
    char digest[DIGEST_BYTES];
};

struct cache {
    struct map map; // digest -> entry
    struct list entries;
    EVP_MD_CTX *ctx;
};

static const char CACHE_OWNER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char secret[SECRET_BYTES];

static void make_secret(void)
{
    random_bytes(secret, sizeof secret);
}

static void drop(struct cache *c, struct entry *e)
{
    map_remove(&c->map, str_n(e->digest, DIGEST_BYTES));
    list_remove(&e->node);
    mem_free(e);
}

static void free_cache(void *data)
{
    struct cache *c = data;
    list_foreach(&c->entries, struct entry, node, e)
        drop(c, e);
    map_done(&c->map);
    EVP_MD_CTX_free(c->ctx);
    mem_free(c);
}

static struct cache *cache_of(struct thread *t)
{
    struct cache *c = thread_attached(t, &CACHE_OWNER);
    if (!c) {
        pthread_once(&once, make_secret);
        c = mem_new(struct cache);
        list_init(&c->entries);
        c->ctx = EVP_MD_CTX_new();
        thread_attach(t, &CACHE_OWNER, c, free_cache);
    }
    return c;
}

// None of the parts holds a NUL, so one between them keeps them apart.
static bool make_digest(struct cache *c, const struct str parts[static 3],
                        char out[static DIGEST_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    bool ok = c->ctx && EVP_DigestInit_ex(c->ctx, EVP_sha256(), NULL) == 1
              && EVP_DigestUpdate(c->ctx, secret, sizeof secret) == 1;
    for (int i = 0; ok && i < 3; i++)
        ok = EVP_DigestUpdate(c->ctx, parts[i].ptr, parts[i].len) == 1
             && EVP_DigestUpdate(c->ctx, "", 1) == 1;
    ok = ok && EVP_DigestFinal_ex(c->ctx, digest, &len) == 1 && len == DIGEST_BYTES;
    if (ok)
        memcpy(out, digest, DIGEST_BYTES);
    return ok;
}

bool auth_cache_has(struct thread *t, struct str user, struct str password, struct str hash)
{
    struct cache *c = cache_of(t);
    char digest[DIGEST_BYTES];
    if (map_count(&c->map) == 0 || !make_digest(c, (struct str[]){user, password, hash}, digest))
        return false;
    struct entry *e = map_find(&c->map, str_n(digest, DIGEST_BYTES));
    if (!e)
        return false;
    if (loop_now_us(t->loop) < e->until_us)
        return true;
    drop(c, e);
    return false;
}

void auth_cache_put(struct thread *t, struct str user, struct str password, struct str hash)
{
    struct cache *c = cache_of(t);
    char digest[DIGEST_BYTES];
    if (!make_digest(c, (struct str[]){user, password, hash}, digest))
        return;
    struct entry *e = map_find(&c->map, str_n(digest, DIGEST_BYTES));
    if (!e) {
        struct list_node *oldest = list_first(&c->entries);
        if (map_count(&c->map) >= AUTH_CACHE_ENTRIES_MAX && oldest)
            drop(c, CONTAINER_OF(oldest, struct entry, node));
        e = mem_new(struct entry);
        memcpy(e->digest, digest, DIGEST_BYTES);
        map_put(&c->map, str_n(e->digest, DIGEST_BYTES), e);
    }
    list_remove(&e->node);
    list_push_back(&c->entries, &e->node);
    e->until_us = loop_now_us(t->loop) + AUTH_CACHE_KEPT_US;
}
