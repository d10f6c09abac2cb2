// SPDX-License-Identifier: Apache-2.0
// h1_send -- an answer on its way: head and small pieces are gathered in one block of the thread,
// so that an ordinary answer is one system call; large pieces go out from where they are.
//
// The block of a fresh answer: | room for the head | room for a chunk's head | gathered body ... |
// The head is made when it is known whether the body ends within the block, and is put right in
// front of the body, so that what goes out is in one piece.
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/wr.h"
#include "front/h1_conn.h"
#include "http/status.h"
#include "os/fd.h"
#include "wire/h1_resp.h"

#define PULL_BYTES_MAX      ((uint64_t)(1024 * 1024))
#define TURN_BYTES_MAX      ((uint64_t)(1024 * 1024)) // sent before other connections get their turn
#define SEND_FILE_BYTES_MAX ((size_t)(512 * 1024))
#define HEAD_IN_BLOCK_MAX   ((size_t)(16 * 1024)) // larger heads get memory of their own
#define FRAME_BYTES         ((size_t)32) // chunk head, CRLF, last chunk: what framing takes
// A head waits in the kernel for so much of a file, to go out in one packet with its begin. Before
// more it goes at once: one small packet among many, and measured, less than half the work.
#define HEAD_WAITS_BYTES_MAX ((uint64_t)(64 * 1024))
#define SERVER_NAME          STR_INIT("Godwit")

enum fill {
    FILL_OUT,   // there is something to send, and perhaps more in the source
    FILL_WAIT,  // the source has nothing now
    FILL_END,   // the source has given all
    FILL_LATER, // not tried
    FILL_FAIL,
};

static void block_need(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    if (!out->block)
        out->block = thread_block_take(conn->home->thread);
    if (out->start == out->end)
        out->start = out->end = 0;
}

static void block_drop(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    if (out->block)
        thread_block_give(conn->home->thread, out->block);
    out->block = NULL;
    out->start = out->end = 0;
}

static size_t block_left(const struct h1_out *out)
{
    size_t used = out->end + FRAME_BYTES;
    return used < THREAD_BLOCK_BYTES ? THREAD_BLOCK_BYTES - used : 0;
}

static void block_put(struct h1_out *out, struct str bytes)
{
    ASSERT(bytes.len <= THREAD_BLOCK_BYTES - out->end);
    memcpy(out->block + out->end, bytes.ptr, bytes.len);
    out->end += bytes.len;
}

static void put_chunk_head(struct h1_out *out, uint64_t size)
{
    struct wr w = {.ptr = out->block + out->end, .size = THREAD_BLOCK_BYTES - out->end};
    h1_chunk_put_head(&w, size);
    ASSERT(wr_ok(&w));
    out->end += w.len;
}

static void put_last_chunk(struct h1_out *out)
{
    struct wr w = {.ptr = out->block + out->end, .size = THREAD_BLOCK_BYTES - out->end};
    h1_chunk_put_last(&w);
    ASSERT(wr_ok(&w));
    out->end += w.len;
}

static bool is_pending(const struct h1_out *out)
{
    return out->start < out->end || out->direct.len > 0 || out->file_left > 0;
}

// Pulls one piece and counts it. Never more than Content-Length has promised.
static enum body_result pull(struct h1_conn *conn, struct body_chunk *piece, uint64_t *out_len)
{
    struct h1_out *out = &conn->work->out;
    struct exchange *ex = conn->ex;
    enum body_result result = BODY_END;
    if (ex->resp.body)
        result = body_pull(ex->resp.body, PULL_BYTES_MAX, piece);
    out->source_waits = result == BODY_WAIT;
    if (result == BODY_END)
        return out->framing == H1_OUT_LENGTH && out->left > 0 ? BODY_FAIL : BODY_END;
    if (result != BODY_DATA)
        return result;
    *out_len = piece->file == FD_NONE ? piece->bytes.len : piece->file_bytes;
    if (out->framing == H1_OUT_LENGTH) {
        if (*out_len > out->left)
            return BODY_FAIL;
        out->left -= *out_len;
    }
    if (out->framing != H1_OUT_NONE)
        ex->facts.body_sent_bytes += *out_len;
    return BODY_DATA;
}

static void set_large(struct h1_out *out, const struct body_chunk *piece)
{
    out->crlf_due = out->framing == H1_OUT_CHUNKED;
    if (piece->file == FD_NONE) {
        out->direct = piece->bytes;
        return;
    }
    out->file = piece->file;
    out->file_offset = piece->offset;
    out->file_left = piece->file_bytes;
}

static bool fits(const struct h1_out *out, const struct body_chunk *piece)
{
    return piece->file == FD_NONE && piece->bytes.len <= block_left(out);
}

// Frames pieces of the source into the block until that is full, a large piece stands behind it, or
// the source stops.
static enum fill fill(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    block_need(conn);
    for (;;) {
        struct body_chunk piece;
        uint64_t len = 0;
        switch (pull(conn, &piece, &len)) {
        case BODY_DATA:
            break;
        case BODY_WAIT:
            return FILL_WAIT;
        case BODY_FAIL:
            return FILL_FAIL;
        case BODY_END:
            if (out->framing == H1_OUT_CHUNKED)
                put_last_chunk(out);
            return FILL_END;
        }
        if (out->framing == H1_OUT_NONE || len == 0)
            continue;
        if (out->framing == H1_OUT_CHUNKED)
            put_chunk_head(out, len);
        if (!fits(out, &piece)) {
            set_large(out, &piece);
            return FILL_OUT;
        }
        block_put(out, piece.bytes);
        if (out->framing == H1_OUT_CHUNKED)
            block_put(out, STR("\r\n"));
        if (block_left(out) < FRAME_BYTES)
            return FILL_OUT;
    }
}

// What a fresh answer could gather before its head is made.
struct gathered {
    enum fill fill;
    struct body_chunk large; // with FILL_OUT: the piece that did not fit
    uint64_t large_bytes;
};

static struct gathered gather(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    struct gathered g = {0};
    for (;;) {
        uint64_t len = 0;
        switch (pull(conn, &g.large, &len)) {
        case BODY_DATA:
            break;
        case BODY_WAIT:
            g.fill = FILL_WAIT;
            return g;
        case BODY_FAIL:
            g.fill = FILL_FAIL;
            return g;
        case BODY_END:
            g.fill = FILL_END;
            return g;
        }
        if (out->framing == H1_OUT_NONE)
            continue;
        if (!fits(out, &g.large)) {
            g.large_bytes = len;
            g.fill = FILL_OUT;
            return g;
        }
        block_put(out, g.large.bytes);
    }
}

// 205 has a length, but that is 0, whatever an app may give (RFC 9110 §15.3.6).
#define STATUS_RESET 205

static bool is_head_only(const struct exchange *ex)
{
    int status = ex->resp.status;
    return ex->req.method == HTTP_HEAD || !status_has_body(status) || status == STATUS_RESET;
}

static enum h1_out_framing framing_of(const struct exchange *ex)
{
    if (is_head_only(ex))
        return H1_OUT_NONE;
    if (!ex->resp.body || ex->resp.body->length >= 0)
        return H1_OUT_LENGTH;
    return ex->req.version >= 11 ? H1_OUT_CHUNKED : H1_OUT_CLOSE;
}

static int64_t length_of(const struct exchange *ex)
{
    if (!status_has_body(ex->resp.status))
        return -1;
    if (ex->resp.status == STATUS_RESET)
        return 0;
    return ex->resp.body ? ex->resp.body->length : 0;
}

static void choose_keep_alive(struct h1_conn *conn)
{
    const struct exchange *ex = conn->ex;
    if (ex->resp.close || conn->home->draining || conn->work->out.framing == H1_OUT_CLOSE
        || !h1_body_is_drainable(conn))
        conn->keep_alive = false;
}

static enum h1_resp_connection connection_of(const struct h1_conn *conn)
{
    if (!conn->keep_alive)
        return H1_RESP_CONNECTION_CLOSE;
    return conn->ex->req.version >= 11 ? H1_RESP_CONNECTION_NONE : H1_RESP_CONNECTION_KEEP_ALIVE;
}

static struct h1_resp_head head_of(struct h1_conn *conn)
{
    const struct response *resp = &conn->ex->resp;
    return (struct h1_resp_head){
        .status = resp->status,
        .reason = resp->reason,
        .headers = resp->headers.items,
        .header_count = resp->headers.count,
        .date = thread_date(conn->home->thread),
        .server = SERVER_NAME,
        .content_length = length_of(conn->ex),
    };
}

static const char *put_result_text(enum h1_resp_put_result result)
{
    static const char *const TEXTS[] = {
        [H1_RESP_PUT_OK] = "",
        [H1_RESP_PUT_FULL] = "the head of the answer is too large",
        [H1_RESP_PUT_BAD_STATUS] = "the answer has an invalid status",
        [H1_RESP_PUT_BAD_REASON] = "the answer has a control byte in its reason phrase",
        [H1_RESP_PUT_BAD_NAME] = "the answer has an invalid header name",
        [H1_RESP_PUT_BAD_VALUE] = "the answer has a control byte in a header value",
    };
    return TEXTS[result];
}

// Writes the head, and the head of the first chunk if there is one, in front of the gathered body.
// Both take `size` bytes at most.
static enum h1_resp_put_result put_head(struct h1_conn *conn, const struct h1_resp_head *head,
                                        size_t size, uint64_t first_chunk_bytes)
{
    struct h1_out *out = &conn->work->out;
    bool is_small = size <= out->start;
    struct wr w = {.size = size};
    w.ptr = is_small ? conn->home->thread->scratch : arena_alloc(&conn->ex->arena, size);
    enum h1_resp_put_result result = h1_resp_put(&w, head, NULL);
    if (result != H1_RESP_PUT_OK)
        return result;
    if (first_chunk_bytes > 0)
        h1_chunk_put_head(&w, first_chunk_bytes);
    ASSERT(wr_ok(&w));
    if (!is_small) {
        // Nothing was gathered behind a head of this size.
        out->direct = wr_view(&w);
        return result;
    }
    out->start -= w.len;
    memcpy(out->block + out->start, w.ptr, w.len);
    return result;
}

// Frames what was gathered, now that the framing is settled.
static void frame(struct h1_out *out, const struct gathered *g, size_t gathered_bytes)
{
    bool is_chunked = out->framing == H1_OUT_CHUNKED;
    if (is_chunked && gathered_bytes > 0)
        block_put(out, STR("\r\n"));
    switch (g->fill) {
    case FILL_OUT:
        if (is_chunked)
            put_chunk_head(out, g->large_bytes);
        set_large(out, &g->large);
        break;
    case FILL_END:
        out->ended = true;
        break;
    case FILL_WAIT:
    case FILL_LATER:
    case FILL_FAIL:
        break;
    }
}

// Completes the head for what was gathered; settles framing and keep-alive.
static enum h1_resp_put_result settle(struct h1_conn *conn, const struct gathered *g,
                                      struct h1_resp_head *head, size_t head_bytes_max)
{
    struct h1_out *out = &conn->work->out;
    size_t body_bytes = out->end - out->start;

    // All of it is here: its length is known after all.
    bool is_open = out->framing == H1_OUT_CHUNKED || out->framing == H1_OUT_CLOSE;
    if (is_open && g->fill == FILL_END) {
        out->framing = H1_OUT_LENGTH;
        head->content_length = (int64_t)body_bytes;
    }
    choose_keep_alive(conn);
    head->is_chunked = out->framing == H1_OUT_CHUNKED;
    head->connection = connection_of(conn);
    return put_head(conn, head, head_bytes_max, head->is_chunked ? body_bytes : 0);
}

// Gathers what is there of the answer and makes its head: NULL, or why it can't be sent.
static const char *compose(struct h1_conn *conn, struct gathered *g, size_t *out_body_bytes)
{
    struct exchange *ex = conn->ex;
    struct h1_out *out = &conn->work->out;
    out->framing = framing_of(ex);
    out->left = out->framing == H1_OUT_LENGTH ? (uint64_t)length_of(ex) : 0;
    out->start = out->end = 0;
    block_need(conn);
    struct h1_resp_head head = head_of(conn);
    size_t head_bytes_max = h1_resp_size(&head) + H1_CHUNK_HEAD_BYTES_MAX;
    *g = (struct gathered){.fill = FILL_LATER};
    if (head_bytes_max <= HEAD_IN_BLOCK_MAX) {
        out->start = out->end = head_bytes_max;
        *g = gather(conn);
    }
    *out_body_bytes = out->end - out->start;
    if (g->fill == FILL_FAIL)
        return "the body of the answer broke off at once";
    enum h1_resp_put_result result = settle(conn, g, &head, head_bytes_max);
    return result == H1_RESP_PUT_OK ? NULL : put_result_text(result);
}

enum h1_send_result h1_send_begin(struct h1_conn *conn)
{
    struct gathered g;
    size_t body_bytes;
    conn->work->out = (struct h1_out){.file = FD_NONE};
    const char *why = compose(conn, &g, &body_bytes);
    if (why) {
        // Nothing was sent yet.
        exchange_replace(conn->ex, 502, "front.bad_answer", why);
        conn->ex->facts.body_sent_bytes = 0;
        why = compose(conn, &g, &body_bytes);
        ASSERT(!why);
    }
    frame(&conn->work->out, &g, body_bytes);
    return h1_send_go_on(conn);
}

static void count_sent(struct h1_conn *conn, size_t bytes)
{
    conn->work->out.has_moved |= bytes > 0;
    metrics_add(&conn->home->thread->metrics, bytes_out, (int64_t)bytes);
}

// Takes `sent` bytes off block, direct piece and its CRLF.
static void take_sent(struct h1_out *out, size_t sent)
{
    size_t in_block = out->end - out->start;
    size_t taken = sent < in_block ? sent : in_block;
    out->start += taken;
    sent -= taken;
    taken = sent < out->direct.len ? sent : out->direct.len;
    bool had_direct = out->direct.len > 0;
    out->direct = str_skip(out->direct, taken);
    sent -= taken;
    if (!had_direct || out->direct.len > 0 || !out->crlf_due)
        return;
    // What is left of the CRLF becomes the block.
    out->crlf_due = false;
    out->start = out->end = 0;
    block_put(out, str_skip(STR("\r\n"), sent));
}

// Tells 0, or what stands in the way.
static ssize_t send_memory(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    struct iovec iov[3];
    size_t count = 0;
    if (out->start < out->end)
        iov[count++] = (struct iovec){out->block + out->start, out->end - out->start};
    if (out->direct.len > 0) {
        union {
            const char *from;
            void *to;
        } base = {out->direct.ptr}; // struct iovec has no const; the kernel only reads

        iov[count++] = (struct iovec){base.to, out->direct.len};
        if (out->crlf_due) {
            static char crlf[2] = "\r\n";
            iov[count++] = (struct iovec){crlf, sizeof crlf};
        }
    }
    // The connection's end, which follows at once, goes out in one segment with the last bytes.
    bool more = out->file_left > 0 ? out->file_left < HEAD_WAITS_BYTES_MAX
                                   : out->ended && !conn->keep_alive;
    ssize_t sent = stream_write(&conn->stream, iov, count, more);
    if (sent < 0)
        return sent;
    count_sent(conn, (size_t)sent);
    take_sent(out, (size_t)sent);
    return 0;
}

static ssize_t send_file(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    size_t want =
        out->file_left < SEND_FILE_BYTES_MAX ? (size_t)out->file_left : SEND_FILE_BYTES_MAX;
    ssize_t sent = stream_send_file(&conn->stream, out->file, &out->file_offset, want);
    if (sent <= 0)
        return sent < 0 ? sent : -ENODATA; // the file is shorter than when its length was told
    count_sent(conn, (size_t)sent);
    out->file_left -= (uint64_t)sent;
    if (out->file_left == 0 && out->crlf_due) {
        out->crlf_due = false;
        block_put(out, STR("\r\n"));
    }
    return 0;
}

// Why nothing more goes out: the file that is being sent, or the client.
static enum h1_send_result stopped_by(ssize_t error)
{
    bool is_file = error == -ENODATA || error == -EIO || error == -ESTALE;
    return is_file ? H1_SEND_CUT : H1_SEND_BROKEN;
}

enum h1_send_result h1_send_go_on(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    uint64_t budget = TURN_BYTES_MAX;
    int blocked = h1_body_continue(conn);
    if (blocked < 0)
        return blocked == -EAGAIN ? H1_SEND_ROOM : H1_SEND_BROKEN;
    for (;;) {
        while (is_pending(out)) {
            bool is_memory = out->start < out->end || out->direct.len > 0;
            uint64_t before = (out->end - out->start) + out->direct.len + out->file_left;
            ssize_t error = is_memory ? send_memory(conn) : send_file(conn);
            if (error == -EAGAIN)
                return H1_SEND_ROOM;
            if (error < 0)
                return stopped_by(error);
            uint64_t after = (out->end - out->start) + out->direct.len + out->file_left;
            uint64_t sent = before > after ? before - after : 0;
            if (sent >= budget)
                return H1_SEND_LATER;
            budget -= sent;
        }
        if (out->ended)
            return H1_SEND_DONE;
        if (out->source_waits) {
            block_drop(conn);
            return H1_SEND_SOURCE;
        }
        enum fill result = fill(conn);
        if (result == FILL_FAIL)
            return H1_SEND_CUT;
        out->ended = result == FILL_END;
    }
}

void h1_send_done(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    conn->ex->facts.body_sent_bytes -=
        conn->ex->facts.body_sent_bytes < out->direct.len + out->file_left
            ? conn->ex->facts.body_sent_bytes
            : out->direct.len + out->file_left;
    block_drop(conn);
    *out = (struct h1_out){.file = FD_NONE};
}
