// SPDX-License-Identifier: Apache-2.0
// limit_body -- see limit_body.h. A piece at a time is reserved at the client's rate and given when
// its moment has come: what PIECES_PER_S-th of a second brings, so that a slow body is not many
// small packets.
#include "feature/limit_body.h"

#include "feature/limit_rate.h"
#include "os/fd.h"

#define PIECES_PER_S 8u
#define SECOND_US    1000000u

struct limit_body {
    struct body body;
    struct body *inner;
    struct loop *loop;
    struct loop_timer timer;
    uint64_t key;
    uint64_t bytes_per_s;
    uint64_t reserved_bytes; // may go from ready_us on
    uint64_t ready_us;
    int64_t left_bytes; // -1: not known
};

static void on_time(struct loop_timer *timer)
{
    body_more(&CONTAINER_OF(timer, struct limit_body, timer)->body);
}

static void on_inner_more(void *arg)
{
    struct limit_body *l = arg;
    body_more(&l->body);
}

static uint64_t cost_us(const struct limit_body *l, uint64_t bytes)
{
    return bytes * SECOND_US / l->bytes_per_s;
}

static void reserve(struct limit_body *l)
{
    uint64_t piece = l->bytes_per_s / PIECES_PER_S;
    uint64_t now_us = loop_now_us(l->loop);
    if (l->left_bytes > 0 && (uint64_t)l->left_bytes < piece)
        piece = (uint64_t)l->left_bytes;
    l->reserved_bytes = piece > 0 ? piece : 1;
    l->ready_us = now_us + limit_rate_reserve(l->key, cost_us(l, l->reserved_bytes), now_us);
}

static enum body_result pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct limit_body *l = CONTAINER_OF(body, struct limit_body, body);
    if (l->left_bytes == 0) // only the end is to be told
        return body_pull(l->inner, max_bytes, out);
    if (l->reserved_bytes == 0)
        reserve(l);
    uint64_t now_us = loop_now_us(l->loop);
    if (l->ready_us > now_us) {
        loop_timer_start(l->loop, &l->timer, l->ready_us - now_us);
        return BODY_WAIT;
    }
    uint64_t most = max_bytes < l->reserved_bytes ? max_bytes : l->reserved_bytes;
    enum body_result result = body_pull(l->inner, most, out);
    if (result == BODY_DATA) {
        uint64_t len = out->file == FD_NONE ? out->bytes.len : out->file_bytes;
        l->reserved_bytes -= len;
        if (l->left_bytes > 0)
            l->left_bytes -= (int64_t)len;
    }
    return result;
}

static void close_body(struct body *body)
{
    struct limit_body *l = CONTAINER_OF(body, struct limit_body, body);
    loop_timer_stop(&l->timer);
    if (l->reserved_bytes > 0)
        limit_rate_refund(l->key, cost_us(l, l->reserved_bytes));
    body_close(l->inner);
    l->inner = NULL;
}

static const struct body_ops OPS = {pull, close_body};

struct body *limit_body_new(struct arena *a, struct loop *loop, struct body *inner, uint64_t key,
                            uint64_t bytes_per_s)
{
    struct limit_body *l = arena_new(a, struct limit_body);
    *l = (struct limit_body){
        .body = {.ops = &OPS, .length = inner->length, .is_live = inner->is_live},
        .inner = inner,
        .loop = loop,
        .timer = {.on_expired = on_time},
        .key = key,
        .bytes_per_s = bytes_per_s,
        .left_bytes = inner->length,
    };
    inner->on_more = on_inner_more;
    inner->on_more_arg = l;
    return &l->body;
}
