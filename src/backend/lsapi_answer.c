// SPDX-License-Identifier: Apache-2.0
// lsapi_answer -- see lsapi_answer.h. A list of the thread's blocks; bytes are appended to the last
// and taken from the first.
#include "backend/lsapi_answer.h"

#include <string.h>

#include "base/assert.h"
#include "os/fd.h"

struct lsapi_answer_block {
    struct lsapi_answer_block *next;
    size_t start, end; // of data
    char data[];
};

#define DATA_BYTES (THREAD_BLOCK_BYTES - sizeof(struct lsapi_answer_block))

static void give_back(struct lsapi_answer *a, struct lsapi_answer_block *block)
{
    thread_block_give(a->thread, (char *)block);
}

static struct lsapi_answer_block *append_block(struct lsapi_answer *a)
{
    struct lsapi_answer_block *block = (void *)thread_block_take(a->thread);
    block->next = NULL;
    block->start = block->end = 0;
    if (a->last)
        a->last->next = block;
    else
        a->first = block;
    a->last = block;
    return block;
}

static void free_given(struct lsapi_answer *a)
{
    if (a->given)
        give_back(a, a->given);
    a->given = NULL;
}

static enum body_result pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct lsapi_answer *a = CONTAINER_OF(body, struct lsapi_answer, body);
    free_given(a);
    if (!a->complete)
        a->on_low(a);
    struct lsapi_answer_block *block = a->first;
    if (!block) {
        a->waiting = !a->complete;
        if (a->waiting)
            return BODY_WAIT;
        return a->failed ? BODY_FAIL : BODY_END;
    }
    size_t count = block->end - block->start;
    if (count > max_bytes)
        count = (size_t)max_bytes;
    *out = (struct body_chunk){.bytes = str_n(block->data + block->start, count), .file = FD_NONE};
    block->start += count;
    a->held_bytes -= count;
    if (block->start == block->end) {
        a->first = block->next;
        if (!a->first)
            a->last = NULL;
        a->given = block;
    }
    return BODY_DATA;
}

static void close_body(struct body *body)
{
    struct lsapi_answer *a = CONTAINER_OF(body, struct lsapi_answer, body);
    lsapi_answer_done(a);
    a->discard = true;
    a->on_close(a);
}

static const struct body_ops OPS = {.pull = pull, .close = close_body};

void lsapi_answer_init(struct lsapi_answer *a, struct thread *t)
{
    *a = (struct lsapi_answer){.body = {.ops = &OPS, .length = -1}, .thread = t};
}

void lsapi_answer_put(struct lsapi_answer *a, struct str bytes)
{
    ASSERT(!a->complete);
    if (a->discard)
        return;
    a->held_bytes += bytes.len;
    while (bytes.len) {
        struct lsapi_answer_block *block = a->last;
        if (!block || block->end == DATA_BYTES)
            block = append_block(a);
        size_t room = DATA_BYTES - block->end;
        size_t count = bytes.len < room ? bytes.len : room;
        memcpy(block->data + block->end, bytes.ptr, count);
        block->end += count;
        bytes = str_skip(bytes, count);
    }
}

void lsapi_answer_tell(struct lsapi_answer *a)
{
    if (!a->waiting || (!a->first && !a->complete))
        return;
    a->waiting = false;
    body_more(&a->body);
}

void lsapi_answer_done(struct lsapi_answer *a)
{
    free_given(a);
    while (a->first) {
        struct lsapi_answer_block *block = a->first;
        a->first = block->next;
        give_back(a, block);
    }
    a->last = NULL;
    a->held_bytes = 0;
}
