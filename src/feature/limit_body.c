// SPDX-License-Identifier: Apache-2.0
// limit_body -- see limit_body.h. Credit grows with time, up to what PIECES_PER_S-th of a second
// brings; a piece is given when there is that much, so that a slow body is not many small packets.
#include "feature/limit_body.h"

#include "os/fd.h"

#define PIECES_PER_S 8u
#define SECOND_US    1000000u

struct limit_body {
    struct body body;
    struct body *inner;
    struct loop *loop;
    struct loop_timer timer;
    uint64_t bytes_per_s;
    uint64_t piece_bytes;
    uint64_t credit_bytes;
    uint64_t credited_us; // up to this moment
    int64_t left_bytes;   // -1: not known
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

static void add_credit(struct limit_body *l)
{
    uint64_t now_us = loop_now_us(l->loop);
    uint64_t passed_us = now_us - l->credited_us;
    if (passed_us > SECOND_US)
        passed_us = SECOND_US;
    uint64_t bytes = l->bytes_per_s * passed_us / SECOND_US;
    if (bytes == 0)
        return; // the time is counted next time
    l->credited_us = now_us;
    l->credit_bytes += bytes;
    if (l->credit_bytes > l->piece_bytes)
        l->credit_bytes = l->piece_bytes;
}

static enum body_result pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct limit_body *l = CONTAINER_OF(body, struct limit_body, body);
    uint64_t want = l->piece_bytes;
    if (l->left_bytes == 0) // only the end is to be told
        return body_pull(l->inner, max_bytes, out);
    if (l->left_bytes > 0 && (uint64_t)l->left_bytes < want)
        want = (uint64_t)l->left_bytes;
    add_credit(l);
    if (l->credit_bytes < want && l->credit_bytes < max_bytes) {
        uint64_t missing = want - l->credit_bytes;
        loop_timer_start(l->loop, &l->timer, missing * SECOND_US / l->bytes_per_s + 1);
        return BODY_WAIT;
    }
    uint64_t most = max_bytes < l->credit_bytes ? max_bytes : l->credit_bytes;
    enum body_result result = body_pull(l->inner, most, out);
    if (result == BODY_DATA) {
        uint64_t len = out->file == FD_NONE ? out->bytes.len : out->file_bytes;
        l->credit_bytes -= len;
        if (l->left_bytes > 0)
            l->left_bytes -= (int64_t)len;
    }
    return result;
}

static void close_body(struct body *body)
{
    struct limit_body *l = CONTAINER_OF(body, struct limit_body, body);
    loop_timer_stop(&l->timer);
    body_close(l->inner);
    l->inner = NULL;
}

static const struct body_ops OPS = {pull, close_body};

struct body *limit_body_new(struct arena *a, struct loop *loop, struct body *inner,
                            uint64_t bytes_per_s)
{
    struct limit_body *l = arena_new(a, struct limit_body);
    uint64_t piece = bytes_per_s / PIECES_PER_S;
    *l = (struct limit_body){
        .body = {.ops = &OPS, .length = inner->length, .is_live = inner->is_live},
        .inner = inner,
        .loop = loop,
        .timer = {.on_expired = on_time},
        .bytes_per_s = bytes_per_s,
        .piece_bytes = piece > 0 ? piece : 1,
        .credited_us = loop_now_us(loop),
        .left_bytes = inner->length,
    };
    l->credit_bytes = l->piece_bytes;
    inner->on_more = on_inner_more;
    inner->on_more_arg = l;
    return &l->body;
}
