// SPDX-License-Identifier: Apache-2.0
// h1_body -- the body of a request as a source that reads from the connection when it is pulled.
// What was read too far (the next request) stays in conn->in.
//
// Invariant: `pending` lies in conn->in, so that is not touched before `pending` is used up.
#include <errno.h>

#include "base/assert.h"
#include "front/front_limits.h"
#include "front/h1_conn.h"
#include "os/fd.h"
#include "wire/h1_resp.h"

// More than this is not read only to keep a connection: a new one is cheaper.
#define DRAIN_BYTES_MAX ((uint64_t)(256 * 1024))

static struct h1_conn *conn_of(struct h1_body *b)
{
    return CONTAINER_OF(b, struct h1_work, body)->conn;
}

// Lets go of what was given out last.
static void use_up(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    b->pending = str_skip(b->pending, b->given);
    b->given = 0;
    if (b->pending.len == 0 && b->pending_taken > 0) {
        buf_take(&conn->in, b->pending_taken);
        b->pending_taken = 0;
    }
}

static void decode_length(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    struct str there = buf_view(&conn->in);
    size_t len = b->left < there.len ? (size_t)b->left : there.len;
    b->pending = str_slice(there, 0, len);
    b->pending_taken = len;
    b->left -= len;
}

static void decode_chunked(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    struct str there = buf_view(&conn->in);
    struct str rest = there;
    struct str data;
    switch (h1_chunk_feed(&b->chunk, &rest, &data)) {
    case H1_CHUNK_AGAIN:
        buf_take(&conn->in, there.len - rest.len);
        break;
    case H1_CHUNK_DATA:
        b->pending = data;
        b->pending_taken = there.len - rest.len;
        break;
    case H1_CHUNK_END:
        buf_take(&conn->in, there.len - rest.len);
        b->finished = true;
        break;
    case H1_CHUNK_BAD:
    case H1_CHUNK_TOO_LONG:
        b->failed = true;
        break;
    }
}

// Decodes from what was read until something is pending, the body is over, or bytes are missing.
static void decode(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    if (b->pending.len > 0)
        return;
    if (!b->is_chunked && b->left == 0)
        b->finished = true;
    while (!b->finished && !b->failed && b->pending.len == 0 && buf_len(&conn->in) > 0) {
        if (b->is_chunked)
            decode_chunked(conn);
        else
            decode_length(conn);
    }
}

// The socket may be full of former answers. What was begun goes out before anything else does:
// with TLS a record that did not fit waits there already.
int h1_body_continue(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    char room[H1_RESP_CONTINUE_BYTES];
    struct wr w = {.ptr = room, .size = sizeof room};
    h1_resp_put_continue(&w);
    ASSERT(wr_ok(&w) && w.len == H1_RESP_CONTINUE_BYTES);
    while (b->continue_left > 0) {
        struct iovec iov = {room + w.len - b->continue_left, b->continue_left};
        ssize_t sent = stream_write(&conn->stream, &iov, 1, false);
        if (sent < 0)
            return (int)sent;
        b->continue_left -= (uint8_t)sent;
    }
    return 0;
}

// The client waits for this before it sends the body. Not when the body is coming already, and not
// when the answer is on its way.
static void begin_continue(struct h1_conn *conn)
{
    conn->work->body.continue_due = false;
    if (buf_len(&conn->in) > 0 || conn->answered)
        return;
    conn->work->body.continue_left = H1_RESP_CONTINUE_BYTES;
    metrics_add(&conn->home->thread->metrics, responses_1xx, 1);
}

// A client may be silent, or behind the least rate, for body_idle_time. Only the time counts in
// which we wait for it: a slow app is not the client's fault. It goes on counting when we are woken
// and there is no byte of the body: TLS has records without any, and parts of records.
static void wait_for_more(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    struct loop *loop = conn->home->thread->loop;
    uint64_t idle_us = front_limits_us(FRONT_BODY_IDLE_TIME_MS);
    b->waiting = true;
    b->waits_since_us = loop_now_us(loop);
    loop_timer_start(loop, &b->timer, idle_us > b->behind_us ? idle_us - b->behind_us : 0);
}

static void stop_waiting(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    b->waiting = false;
    loop_timer_stop(&b->timer);
    b->behind_us += loop_now_us(conn->home->thread->loop) - b->waits_since_us;
}

static void catch_up(struct h1_body *b, size_t bytes)
{
    uint64_t rate_min = (uint64_t)front_limits_get(FRONT_BODY_RATE_MIN);
    uint64_t earned_us = rate_min > 0 ? bytes * UINT64_C(1000000) / rate_min : b->behind_us;
    b->behind_us -= earned_us < b->behind_us ? earned_us : b->behind_us;
}

// Gets something pending, if it can be had now. BYTES: pending; END: finished or failed.
static enum h1_read advance(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    for (;;) {
        decode(conn);
        if (b->pending.len > 0)
            return H1_READ_BYTES;
        if (b->finished || b->failed)
            return H1_READ_END;
        if (b->continue_due)
            begin_continue(conn);
        int error = h1_body_continue(conn);
        if (error < 0 && error != -EAGAIN) {
            b->failed = true;
            return H1_READ_END;
        }
        if (!h1_conn_has_turn(conn))
            return H1_READ_WAIT;
        size_t before = buf_len(&conn->in);
        enum h1_read result = h1_conn_fill(conn);
        if (result == H1_READ_WAIT)
            return H1_READ_WAIT;
        if (result == H1_READ_END)
            b->failed = true;
        catch_up(b, buf_len(&conn->in) - before);
    }
}

static enum body_result pull(struct body *source, uint64_t max_bytes, struct body_chunk *out)
{
    struct h1_body *b = CONTAINER_OF(source, struct h1_body, source);
    struct h1_conn *conn = conn_of(b);
    use_up(conn);
    enum h1_read result = b->failed ? H1_READ_END : advance(conn);
    if (result == H1_READ_WAIT) {
        buf_trim(&conn->in); // many may wait, for long
        wait_for_more(conn);
        return BODY_WAIT;
    }
    if (result == H1_READ_END)
        return b->failed ? BODY_FAIL : BODY_END;
    b->given = max_bytes < b->pending.len ? (size_t)max_bytes : b->pending.len;
    *out = (struct body_chunk){.bytes = str_n(b->pending.ptr, b->given), .file = FD_NONE};
    return BODY_DATA;
}

// The reader has had enough; what is left is the connection's to drop.
static void close_source(struct body *source)
{
    struct h1_body *b = CONTAINER_OF(source, struct h1_body, source);
    use_up(conn_of(b));
    source->on_more = NULL;
    b->waiting = false;
    loop_timer_stop(&b->timer);
}

static const struct body_ops OPS = {pull, close_source};

static void on_idle(struct loop_timer *t)
{
    struct h1_conn *conn = conn_of(CONTAINER_OF(t, struct h1_body, timer));
    metrics_add(&conn->home->thread->metrics, timeouts_body, 1);
    conn->work->body.source.timed_out = true;
    h1_body_fail(conn);
}

void h1_body_begin(struct h1_conn *conn, int64_t content_length, bool expects_continue)
{
    conn->work->body = (struct h1_body){
        .source = {.ops = &OPS, .length = content_length},
        .exists = true,
        .is_chunked = content_length < 0,
        .continue_due = expects_continue,
        .left = content_length < 0 ? 0 : (uint64_t)content_length,
        .timer = {.on_expired = on_idle},
    };
}

void h1_body_wake(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    if (!b->waiting)
        return;
    stop_waiting(conn);
    body_more(&b->source);
}

void h1_body_fail(struct h1_conn *conn)
{
    conn->work->body.failed = true;
    h1_body_wake(conn);
}

bool h1_body_is_drainable(const struct h1_conn *conn)
{
    const struct h1_body *b = &conn->work->body;
    // A client that still waits for 100 Continue may send the body or the next request.
    return b->finished || (!b->failed && !b->continue_due && b->left <= DRAIN_BYTES_MAX);
}

enum h1_read h1_body_drop(struct h1_conn *conn)
{
    struct h1_body *b = &conn->work->body;
    for (;;) {
        b->given = b->pending.len;
        conn->dropped_bytes += b->given;
        use_up(conn);
        if (conn->dropped_bytes > DRAIN_BYTES_MAX)
            return H1_READ_END;
        enum h1_read result = b->failed ? H1_READ_END : advance(conn);
        if (result == H1_READ_WAIT)
            return H1_READ_WAIT;
        if (result == H1_READ_END)
            return b->failed ? H1_READ_END : H1_READ_BYTES;
    }
}
