// SPDX-License-Identifier: Apache-2.0
// lsapi_answer -- see lsapi_answer.h. Lists of the thread's blocks; bytes are appended to the last
// and taken from the first.
//
// A file is written once from its start to its end: the kernel may still have to send what was
// taken. When all of it was taken, the next write begins another one.
#include "backend/lsapi_answer.h"

#include <string.h>

#include "base/assert.h"
#include "os/fd.h"

#define WRITE_BYTES ((size_t)128 * 1024) // written at once

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

static struct lsapi_answer_block *append_block(struct lsapi_answer *a, struct lsapi_answer_list *l)
{
    struct lsapi_answer_block *block = (void *)thread_block_take(a->thread);
    block->next = NULL;
    block->start = block->end = 0;
    if (l->last)
        l->last->next = block;
    else
        l->first = block;
    l->last = block;
    return block;
}

static struct lsapi_answer_block *take_block(struct lsapi_answer_list *l)
{
    struct lsapi_answer_block *block = l->first;
    l->first = block->next;
    if (!l->first)
        l->last = NULL;
    return block;
}

static void free_list(struct lsapi_answer *a, struct lsapi_answer_list *l)
{
    while (l->first)
        give_back(a, take_block(l));
    l->bytes = 0;
}

static void free_given(struct lsapi_answer *a)
{
    if (a->given)
        give_back(a, a->given);
    a->given = NULL;
}

// ---- writing

// On a pool thread: touches `out`, `file` and write_error only, which the loop's thread leaves
// alone.
static void write_out(struct job *job)
{
    struct lsapi_answer *a = CONTAINER_OF(job, struct lsapi_answer, job);
    int64_t at = a->file_end;
    a->write_error = 0;
    for (struct lsapi_answer_block *b = a->out.first; b && a->write_error == 0; b = b->next) {
        struct str bytes = str_n(b->data + b->start, b->end - b->start);
        a->write_error = spool_file_write(&a->file, bytes, at);
        at += (int64_t)bytes.len;
    }
}

static void on_job_done(struct job *job);

// Has `back` written if it is worth a write and there is room for it. What is not written stays in
// memory, and makes the answer full.
static void write_some(struct lsapi_answer *a)
{
    if (!a->spilling || a->writing || a->write_failed || a->back.bytes < WRITE_BYTES)
        return;
    int64_t end = a->file_end + (int64_t)a->back.bytes;
    if (end > a->file_max)
        return;
    if (end > a->file.reserved_bytes)
        a->room = spool_file_reserve(&a->file, (size_t)(end - a->file.reserved_bytes));
    if (a->room != SPOOL_ROOM_OK)
        return;
    metrics_add(&a->thread->metrics, spool_bytes, (int64_t)a->back.bytes);
    a->out = a->back;
    a->back = (struct lsapi_answer_list){0};
    a->writing = true;
    a->job.work = write_out;
    a->job.on_done = on_job_done;
    jobs_submit(a->thread->jobs, a->thread->loop, &a->job);
}

static void drop_file(struct lsapi_answer *a)
{
    if (a->has_file)
        spool_file_done(&a->file);
    a->has_file = false;
    a->file_start = a->file_end = 0;
    a->spilling = false;
}

// Nothing is lost: what could not be written is in memory still, in front of what came later.
static void put_back(struct lsapi_answer *a)
{
    if (!a->out.first)
        return;
    a->out.last->next = a->back.first;
    if (!a->back.first)
        a->back.last = a->out.last;
    a->back.first = a->out.first;
    a->back.bytes += a->out.bytes;
    a->out = (struct lsapi_answer_list){0};
}

static void on_job_done(struct job *job)
{
    struct lsapi_answer *a = CONTAINER_OF(job, struct lsapi_answer, job);
    int error = a->write_error;
    a->writing = false;
    if (a->discard) {
        free_list(a, &a->out);
        drop_file(a);
    } else if (error < 0) {
        a->write_failed = true;
        spool_file_keep(&a->file, a->file_end);
        put_back(a);
    } else {
        a->file_end += (int64_t)a->out.bytes;
        free_list(a, &a->out);
        write_some(a);
    }
    a->on_written(a, a->discard ? 0 : error);
}

void lsapi_answer_spill(struct lsapi_answer *a, const struct exchange *ex, struct spool_share share)
{
    if (a->spilling || lsapi_answer_bar(a) != LSAPI_ANSWER_BAR_NONE)
        return;
    if (!a->has_file)
        spool_file_init(&a->file, ex, share);
    a->has_file = true;
    a->room = SPOOL_ROOM_OK;
    a->spilling = true;
}

enum lsapi_answer_bar lsapi_answer_bar(const struct lsapi_answer *a)
{
    if (a->write_failed)
        return LSAPI_ANSWER_BAR_FAILED;
    if (a->file_max < (int64_t)WRITE_BYTES)
        return LSAPI_ANSWER_BAR_OWN;
    if (!a->spilling || a->writing || a->back.bytes < WRITE_BYTES)
        return LSAPI_ANSWER_BAR_NONE;
    bool is_own = a->file_end + (int64_t)a->back.bytes > a->file_max;
    return is_own ? LSAPI_ANSWER_BAR_OWN : LSAPI_ANSWER_BAR_ROOM;
}

void lsapi_answer_try_again(struct lsapi_answer *a)
{
    write_some(a);
}

// ---- reading

// The client has all that was in memory before the file and in the file: memory will do again.
static void catch_up(struct lsapi_answer *a)
{
    if (!a->spilling || a->front.first || a->file_start < a->file_end || a->writing)
        return;
    a->front = a->back;
    a->back = (struct lsapi_answer_list){0};
    a->file_start = a->file_end = 0;
    a->spilling = false;
    spool_file_empty(&a->file);
}

static void give_memory(struct lsapi_answer *a, uint64_t max_bytes, struct body_chunk *out)
{
    struct lsapi_answer_block *block = a->front.first;
    size_t count = block->end - block->start;
    if (count > max_bytes)
        count = (size_t)max_bytes;
    *out = (struct body_chunk){.bytes = str_n(block->data + block->start, count), .file = FD_NONE};
    block->start += count;
    a->front.bytes -= count;
    a->held_bytes -= count;
    if (block->start == block->end)
        a->given = take_block(&a->front);
}

static void give_file(struct lsapi_answer *a, uint64_t max_bytes, struct body_chunk *out)
{
    uint64_t count = (uint64_t)(a->file_end - a->file_start);
    if (count > max_bytes)
        count = max_bytes;
    *out = (struct body_chunk){.file = a->file.fd, .offset = a->file_start, .file_bytes = count};
    a->file_start += (int64_t)count;
    a->held_bytes -= count;
}

static enum body_result pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct lsapi_answer *a = CONTAINER_OF(body, struct lsapi_answer, body);
    free_given(a);
    catch_up(a);
    if (!a->complete)
        a->on_low(a);
    if (a->front.first) {
        give_memory(a, max_bytes, out);
        return BODY_DATA;
    }
    if (a->file_start < a->file_end) {
        give_file(a, max_bytes, out);
        return BODY_DATA;
    }
    a->waiting = !a->complete || a->writing;
    if (a->waiting)
        return BODY_WAIT;
    return a->failed ? BODY_FAIL : BODY_END;
}

static void close_body(struct body *body)
{
    struct lsapi_answer *a = CONTAINER_OF(body, struct lsapi_answer, body);
    a->discard = true;
    lsapi_answer_done(a);
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
    struct lsapi_answer_list *l = a->spilling ? &a->back : &a->front;
    a->held_bytes += bytes.len;
    l->bytes += bytes.len;
    while (bytes.len) {
        struct lsapi_answer_block *block = l->last;
        if (!block || block->end == DATA_BYTES)
            block = append_block(a, l);
        size_t room = DATA_BYTES - block->end;
        size_t count = bytes.len < room ? bytes.len : room;
        memcpy(block->data + block->end, bytes.ptr, count);
        block->end += count;
        bytes = str_skip(bytes, count);
    }
    write_some(a);
}

bool lsapi_answer_is_full(const struct lsapi_answer *a)
{
    return a->spilling ? a->back.bytes >= WRITE_BYTES : a->front.bytes >= a->memory_max;
}

bool lsapi_answer_has_room(const struct lsapi_answer *a)
{
    return a->spilling ? a->back.bytes < WRITE_BYTES : a->front.bytes <= a->memory_max / 2;
}

void lsapi_answer_tell(struct lsapi_answer *a)
{
    bool has_some = a->front.first || a->file_start < a->file_end || (a->back.first && !a->writing);
    if (!a->waiting || (!has_some && (!a->complete || a->writing)))
        return;
    a->waiting = false;
    body_more(&a->body);
}

void lsapi_answer_done(struct lsapi_answer *a)
{
    free_given(a);
    free_list(a, &a->front);
    free_list(a, &a->back);
    a->held_bytes = 0;
    if (!a->writing)
        drop_file(a);
}
