// SPDX-License-Identifier: Apache-2.0
// lsapi_send -- see lsapi_send.h.
#include "backend/lsapi_send.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backend/lsapi_conv.h"
#include "base/assert.h"
#include "os/fd.h"
#include "os/sock.h"

#define PULL_BYTES (64 * 1024)

STATIC_ASSERT(THREAD_SCRATCH_BYTES >= LSAPI_REQUEST_BYTES_MAX);

static bool chunk_is_empty(const struct body_chunk *chunk)
{
    return chunk->bytes.len == 0 && chunk->file_bytes == 0;
}

void lsapi_send_drop(struct lsapi_conv *conv)
{
    if (conv->upload && conv->streams)
        conv->upload->on_more = NULL; // the exchange closes it
    else
        body_close(conv->upload);
    conv->upload = NULL;
    conv->upload_waits = false;
    conv->chunk = (struct body_chunk){.file = FD_NONE};
}

// Loads the next piece of the request's body. DONE: there is one, or the body is over.
static enum lsapi_send_result load_chunk(struct lsapi_conv *conv)
{
    conv->upload_waits = false;
    while (conv->upload && chunk_is_empty(&conv->chunk)) {
        switch (body_pull(conv->upload, PULL_BYTES, &conv->chunk)) {
        case BODY_DATA:
            break;
        case BODY_END:
            lsapi_send_drop(conv);
            break;
        case BODY_WAIT:
            ASSERT(conv->streams); // a complete spool never waits
            conv->upload_waits = true;
            return LSAPI_SEND_WAIT;
        case BODY_FAIL:
            return conv->streams ? LSAPI_SEND_CUT : LSAPI_SEND_FAILED;
        }
    }
    return LSAPI_SEND_DONE;
}

static int64_t body_length(const struct lsapi_conv *conv)
{
    if (conv->streams)
        return conv->exchange->req.content_length;
    return conv->spool ? spool_length(conv->spool) : -1;
}

// What was refused for its line is not for an app to read.
static struct str request_line(const struct exchange *ex)
{
    return exchange_is_rejected(ex) ? STR("GET / HTTP/1.1") : ex->req.line;
}

static bool put_packet(struct lsapi_conv *conv, struct wr *w)
{
    struct cgi_env env;
    int64_t body_bytes = body_length(conv);
    cgi_env_make(conv->exchange, &conv->script, body_bytes, &env);
    struct lsapi_request req = {
        .env = env.vars,
        .env_count = env.var_count,
        .special = conv->conf.special,
        .special_count = conv->conf.special_count,
        .request_id = str_c(conv->exchange->id),
        .headers = env.headers,
        .header_count = env.header_count,
        .request_line = request_line(conv->exchange),
        .body_bytes = body_bytes < 0 ? 0 : body_bytes,
    };
    return lsapi_put_request(w, &req);
}

static bool is_full(ssize_t rc)
{
    return rc == -EAGAIN;
}

static ssize_t send_bytes(const struct lsapi_conv *conv, struct str bytes)
{
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes.ptr, .iov_len = bytes.len};
    return sock_send(conv->slot->fd, &piece, 1, false);
}

enum lsapi_send_result lsapi_send_start(struct lsapi_conv *conv)
{
    struct wr w = {.ptr = conv->thread->scratch, .size = LSAPI_REQUEST_BYTES_MAX};
    if (!put_packet(conv, &w))
        return LSAPI_SEND_TOO_LARGE;
    if (conv->streams)
        conv->upload = conv->exchange->req.body;
    else if (conv->spool)
        conv->upload = spool_body(conv->spool);
    conv->chunk = (struct body_chunk){.file = FD_NONE};
    if (conv->spool && !conv->upload)
        return LSAPI_SEND_FAILED;
    // A streamed body is touched only when the worker has the head.
    enum lsapi_send_result loaded = conv->streams ? LSAPI_SEND_DONE : load_chunk(conv);
    if (loaded != LSAPI_SEND_DONE)
        return loaded;
    struct iovec iov[2] = {
        {.iov_base = w.ptr, .iov_len = w.len},
        {.iov_base = (void *)(uintptr_t)conv->chunk.bytes.ptr, .iov_len = conv->chunk.bytes.len},
    };
    // Without a body there is one piece: a cheaper call.
    ssize_t sent = sock_send(conv->slot->fd, iov, conv->chunk.bytes.len ? 2 : 1, false);
    if (sent < 0 && !is_full(sent))
        return LSAPI_SEND_LOST;
    size_t count = sent < 0 ? 0 : (size_t)sent;
    struct str rest = str_skip(wr_view(&w), count);
    if (rest.len) {
        // The scratch is anybody's after this callback.
        bool fits = buf_put(&conv->unsent, rest);
        ASSERT(fits);
        return LSAPI_SEND_AGAIN;
    }
    conv->packet_sent = true;
    conv->chunk.bytes = str_skip(conv->chunk.bytes, count - w.len);
    return conv->upload ? lsapi_send_more(conv) : LSAPI_SEND_DONE;
}

// Writes from the chunk at hand once. Count or -errno; 0: the file has ended early.
static ssize_t write_chunk(struct lsapi_conv *conv)
{
    struct body_chunk *chunk = &conv->chunk;
    if (chunk->file_bytes == 0) {
        ssize_t sent = send_bytes(conv, chunk->bytes);
        if (sent > 0)
            chunk->bytes = str_skip(chunk->bytes, (size_t)sent);
        return sent;
    }
    // Not sendfile: the app's processes can switch off O_NONBLOCK, and it would wait for them.
    char *room = conv->thread->scratch;
    size_t size =
        chunk->file_bytes < THREAD_SCRATCH_BYTES ? (size_t)chunk->file_bytes : THREAD_SCRATCH_BYTES;
    ssize_t got;
    do
        got = pread(chunk->file, room, size, chunk->offset);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return 0;
    ssize_t sent = send_bytes(conv, str_n(room, (size_t)got));
    if (sent > 0) {
        chunk->offset += sent;
        chunk->file_bytes -= (uint64_t)sent;
    }
    return sent;
}

enum lsapi_send_result lsapi_send_more(struct lsapi_conv *conv)
{
    while (buf_len(&conv->unsent)) {
        ssize_t sent = send_bytes(conv, buf_view(&conv->unsent));
        if (sent < 0)
            return is_full(sent) ? LSAPI_SEND_AGAIN : LSAPI_SEND_LOST;
        buf_take(&conv->unsent, (size_t)sent);
    }
    conv->packet_sent = true;
    for (;;) {
        enum lsapi_send_result loaded = load_chunk(conv);
        if (loaded != LSAPI_SEND_DONE)
            return loaded;
        if (!conv->upload)
            return LSAPI_SEND_DONE;
        ssize_t sent = write_chunk(conv);
        if (sent == 0)
            return LSAPI_SEND_FAILED;
        if (sent < 0)
            return is_full(sent) ? LSAPI_SEND_AGAIN : LSAPI_SEND_LOST;
    }
}

bool lsapi_send_is_done(const struct lsapi_conv *conv)
{
    return conv->packet_sent && !conv->upload;
}
