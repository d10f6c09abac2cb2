// SPDX-License-Identifier: Apache-2.0
// thread -- see thread.h.
#include "core/thread.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "http/date.h"
#include "os/random.h"

STATIC_ASSERT(THREAD_ID_PREFIX_DIGITS < 16);

static const char DIGITS[] = "0123456789abcdef";

// A free block holds the link to the next one.
struct free_block {
    struct free_block *next;
};

void thread_init(struct thread *t, unsigned index, struct loop *loop, struct jobs *jobs)
{
    *t = (struct thread){.loop = loop, .jobs = jobs, .index = index, .date_s = INT64_MIN};
    t->scratch = mem_alloc(THREAD_SCRATCH_BYTES);
    uint64_t prefix = random_u64();
    for (int i = 0; i < THREAD_ID_PREFIX_DIGITS; i++, prefix >>= 4)
        t->id_prefix[i] = DIGITS[prefix & 15];
    list_init(&t->exchanges);
}

void thread_done(struct thread *t)
{
    ASSERT(list_is_empty(&t->exchanges));
    while (t->attached_count > 0) {
        struct thread_attached *last = &t->attached[--t->attached_count];
        if (last->free)
            last->free(last->data);
    }
    thread_rest(t);
    mem_free(t->scratch);
    *t = (struct thread){0};
}

void thread_rest(struct thread *t)
{
    for (unsigned i = 0; i < t->attached_count; i++)
        if (t->attached[i].rest)
            t->attached[i].rest(t->attached[i].data);
    while (t->blocks) {
        struct free_block *block = t->blocks;
        t->blocks = block->next;
        mem_free(block);
    }
    t->block_count = 0;
}

void thread_attach(struct thread *t, const void *owner, void *data, void (*free)(void *data))
{
    ASSERT(t->attached_count < THREAD_ATTACHED_MAX && !thread_attached(t, owner));
    t->attached[t->attached_count++] =
        (struct thread_attached){.owner = owner, .data = data, .free = free};
}

static struct thread_attached *find_attached(struct thread *t, const void *owner)
{
    for (unsigned i = 0; i < t->attached_count; i++)
        if (t->attached[i].owner == owner)
            return &t->attached[i];
    return NULL;
}

void thread_on_rest(struct thread *t, const void *owner, void (*rest)(void *data))
{
    struct thread_attached *attached = find_attached(t, owner);
    ASSERT(attached);
    attached->rest = rest;
}

void *thread_attached(const struct thread *t, const void *owner)
{
    for (unsigned i = 0; i < t->attached_count; i++)
        if (t->attached[i].owner == owner)
            return t->attached[i].data;
    return NULL;
}

char *thread_block_take(struct thread *t)
{
    struct free_block *block = t->blocks;
    if (!block)
        return mem_alloc(THREAD_BLOCK_BYTES);
    t->blocks = block->next;
    t->block_count--;
    return (char *)block;
}

void thread_block_give(struct thread *t, char *block)
{
    if (t->block_count >= THREAD_BLOCKS_KEPT) {
        mem_free(block);
        return;
    }
    struct free_block *link = (struct free_block *)(void *)block;
    link->next = t->blocks;
    t->blocks = link;
    t->block_count++;
}

struct str thread_date(struct thread *t)
{
    STATIC_ASSERT(sizeof t->date > DATE_BYTES);
    int64_t now_s = loop_wall_us(t->loop) / 1000000;
    if (now_s != t->date_s) {
        date_format(now_s, t->date);
        t->date_s = now_s;
    }
    return str_n(t->date, DATE_BYTES);
}

void thread_request_id(struct thread *t, char room[static 17])
{
    // Only the count wraps around, after 16 million requests of one thread.
    uint64_t id = t->id_next++;
    memcpy(room, t->id_prefix, THREAD_ID_PREFIX_DIGITS);
    for (int i = 15; i >= THREAD_ID_PREFIX_DIGITS; i--, id >>= 4)
        room[i] = DIGITS[id & 15];
    room[16] = '\0';
}
