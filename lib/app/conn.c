// SPDX-License-Identifier: Apache-2.0
// conn -- see conn.h.
#include "conn.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/fd.h"

#define IN_BYTES     ((size_t)128 * 1024) // a request packet and at least as much of the body
#define PACKETS      2                    // stream packets collected before they are sent
#define PACKET_BYTES (LSAPI_HEAD_BYTES + LSAPI_STREAM_BYTES_MAX)
#define OUT_BYTES    ((size_t)PACKETS * PACKET_BYTES)
#define TAIL_BYTES   (2 * LSAPI_HEAD_BYTES) // RESP_END, CONN_CLOSE
#define HEAD_BYTES   (LSAPI_RESP_FIXED_BYTES + 2 * CONN_LINES_MAX)
#define PIECES_MAX   16 // of fd_writev
#define SMALL_BYTES  ((size_t)1024)

STATIC_ASSERT(HEAD_BYTES + CONN_LINE_BYTES_MAX <= 65535 + 1024);

void conn_init(struct conn *c, int fd)
{
    if (!c->in) {
        c->in = mem_alloc(IN_BYTES);
        c->out = mem_alloc(OUT_BYTES + TAIL_BYTES);
        c->head = mem_alloc(HEAD_BYTES);
        c->lines.ceiling_bytes = CONN_LINE_BYTES_MAX;
    }
    c->fd = fd;
    c->state = CONN_IDLE;
    c->is_broken = false;
    c->in_start = c->in_end = c->packet_end = 0;
}

void conn_close(struct conn *c)
{
    fd_close(&c->fd);
    c->state = CONN_CLOSED;
}

void conn_disown(struct conn *c)
{
    c->body_left = 0;
    conn_close(c);
}

void conn_done(struct conn *c)
{
    conn_close(c);
    mem_free(c->in);
    mem_free(c->out);
    mem_free(c->head);
    buf_done(&c->lines);
    *c = (struct conn){.fd = FD_NONE, .state = CONN_CLOSED};
}

static void break_off(struct conn *c)
{
    c->is_broken = true;
    c->body_left = 0;
    conn_close(c);
}

// ---- reading

// Reads once behind in_end. Count, 0 at end of file, -errno.
static ssize_t fill(struct conn *c)
{
    ssize_t got = fd_receive_some(c->fd, c->in + c->in_end, IN_BYTES - c->in_end);
    if (got > 0)
        c->in_end += (size_t)got;
    return got;
}

static void start_exchange(struct conn *c)
{
    c->state = CONN_HEAD;
    c->body_left = c->view.body_bytes;
    c->status = 0;
    c->line_count = 0;
    c->out_len = 0;
    c->has_open = false;
    buf_take(&c->lines, buf_len(&c->lines));
}

// What was read ahead moves to the front: the packet before it has been served.
static void make_room(struct conn *c)
{
    size_t left = c->in_end - c->in_start;
    if (left && c->in_start)
        memmove(c->in, c->in + c->in_start, left);
    c->in_start = 0;
    c->in_end = left;
}

enum conn_result conn_next(struct conn *c)
{
    if (c->state != CONN_IDLE)
        return CONN_END;
    make_room(c);
    for (;;) {
        size_t len = 0;
        switch (lsapi_packet_len(str_n(c->in, c->in_end), &len)) {
        case LSAPI_PACKET_BAD:
            return CONN_MALFORMED;
        case LSAPI_PACKET_OK:
            if (c->in_end < len)
                break;
            if (!lsapi_view_open(str_n(c->in, len), &c->view))
                return CONN_MALFORMED;
            c->in_start = c->packet_end = len;
            start_exchange(c);
            return CONN_REQUEST;
        case LSAPI_PACKET_AGAIN:
            break;
        }
        ssize_t got = fill(c);
        bool timed_out = got == -EAGAIN; // SO_RCVTIMEO
        if (timed_out && (!c->keep_waiting || c->keep_waiting(c)))
            continue;
        if (got <= 0)
            return CONN_END;
    }
}

static size_t buffered(const struct conn *c)
{
    size_t held = c->in_end - c->in_start;
    return (uint64_t)c->body_left < held ? (size_t)c->body_left : held;
}

bool conn_body_is_here(const struct conn *c)
{
    return (int64_t)buffered(c) == c->body_left;
}

// Makes body bytes available in the buffer. 0 or -EPIPE.
static int fill_body(struct conn *c)
{
    if (c->in_start == c->in_end)
        c->in_start = c->in_end = c->packet_end;
    for (;;) {
        ssize_t got = fill(c);
        if (got > 0)
            return 0;
        if (got != -EAGAIN) {
            c->body_left = 0;
            return -EPIPE;
        }
    }
}

ssize_t conn_read(struct conn *c, void *room, size_t size)
{
    if (!size || !c->body_left)
        return 0;
    if (!buffered(c) && fill_body(c) < 0)
        return -EPIPE;
    size_t count = buffered(c);
    if (count > size)
        count = size;
    memcpy(room, c->in + c->in_start, count);
    c->in_start += count;
    c->body_left -= (int64_t)count;
    return (ssize_t)count;
}

// Takes away what the application left of the body; false when that is too much.
static bool drain(struct conn *c)
{
    if (c->body_left - (int64_t)buffered(c) > CONN_DRAIN_BYTES_MAX)
        return false;
    while (c->body_left) {
        size_t count = buffered(c);
        c->in_start += count;
        c->body_left -= (int64_t)count;
        if (c->body_left && fill_body(c) < 0)
            return false;
    }
    return true;
}

// ---- the head

static bool line_is_clean(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= '\r' && (c == '\r' || c == '\n' || !c))
            return false;
    }
    return true;
}

bool conn_line(struct conn *c, struct str name, struct str value)
{
    size_t len = (name.len ? name.len + 2 : 0) + value.len;
    if (c->state != CONN_HEAD || c->line_count == CONN_LINES_MAX || len > CONN_LINE_LENGTH_MAX
        || len + 1 > CONN_LINE_BYTES_MAX - buf_len(&c->lines) || !line_is_clean(name)
        || !line_is_clean(value))
        return false;
    size_t room;
    char *to = buf_room(&c->lines, len + 1, &room);
    ASSERT(to);
    if (name.len) {
        memcpy(to, name.ptr, name.len);
        to += name.len;
        *to++ = ':';
        *to++ = ' ';
    }
    if (value.len)
        memcpy(to, value.ptr, value.len);
    to[value.len] = 0;
    buf_added(&c->lines, len + 1);
    uint16_t field = (uint16_t)(len + 1);
    memcpy(c->head + LSAPI_RESP_FIXED_BYTES + 2 * c->line_count, &field, sizeof field);
    c->line_count++;
    return true;
}

// Writes the head's fixed part. Its lines stand apart because their lengths come before them.
static struct str complete_head(struct conn *c)
{
    struct wr w = {.ptr = c->head, .size = LSAPI_RESP_FIXED_BYTES};
    lsapi_put_head_start(&w, c->status, c->line_count, buf_len(&c->lines));
    return str_n(c->head, LSAPI_RESP_FIXED_BYTES + 2 * c->line_count);
}

// ---- writing

static struct iovec piece_of(struct str s)
{
    struct iovec piece = {.iov_len = s.len};
    memcpy(&piece.iov_base, &s.ptr, sizeof s.ptr); // iov_base lacks the const
    return piece;
}

// Sends what is small in one piece, which is the cheaper call. False: it is not small.
static bool send_small(struct conn *c, const struct iovec *pieces, size_t count, ssize_t *out_sent)
{
    char room[SMALL_BYTES];
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].iov_len > sizeof room - len)
            return false;
        if (pieces[i].iov_len)
            memcpy(room + len, pieces[i].iov_base, pieces[i].iov_len);
        len += pieces[i].iov_len;
    }
    *out_sent = fd_write(c->fd, str_n(room, len));
    return true;
}

// Sends all pieces, which it uses up. 0 or -EPIPE.
static int send_pieces(struct conn *c, struct iovec *pieces, size_t count)
{
    while (count) {
        ssize_t sent;
        if (!send_small(c, pieces, count, &sent))
            sent = fd_writev(c->fd, pieces, count);
        if (sent < 0) {
            break_off(c);
            return -EPIPE;
        }
        size_t left = (size_t)sent;
        while (count && left >= pieces->iov_len) {
            left -= pieces->iov_len;
            pieces++;
            count--;
        }
        if (count) {
            pieces->iov_base = (char *)pieces->iov_base + left;
            pieces->iov_len -= left;
        }
    }
    return 0;
}

static void put_packet(char *to, enum lsapi_type type, size_t payload_bytes)
{
    struct wr w = {.ptr = to, .size = LSAPI_HEAD_BYTES};
    lsapi_put_packet(&w, type, payload_bytes);
}

static void close_packet(struct conn *c)
{
    if (c->has_open)
        put_packet(c->out + c->open_at, LSAPI_RESP_STREAM,
                   c->out_len - c->open_at - LSAPI_HEAD_BYTES);
    c->has_open = false;
}

// Sends the head, if it was not, and all that was collected. 0 or -EPIPE.
static int send_collected(struct conn *c)
{
    struct iovec pieces[3];
    size_t count = 0;
    if (c->state == CONN_HEAD) {
        pieces[count++] = piece_of(complete_head(c));
        pieces[count++] = piece_of(buf_view(&c->lines));
    }
    close_packet(c);
    if (c->out_len)
        pieces[count++] = piece_of(str_n(c->out, c->out_len));
    c->state = CONN_BODY;
    c->out_len = 0;
    return send_pieces(c, pieces, count);
}

// Collects the start of *bytes, as much as fits; takes it off.
static void collect(struct conn *c, struct str *bytes)
{
    while (bytes->len && OUT_BYTES - c->out_len > (c->has_open ? 0 : LSAPI_HEAD_BYTES)) {
        if (!c->has_open) {
            c->open_at = c->out_len;
            c->out_len += LSAPI_HEAD_BYTES;
            c->has_open = true;
        }
        size_t room = c->open_at + PACKET_BYTES - c->out_len;
        size_t count = bytes->len < room ? bytes->len : room;
        memcpy(c->out + c->out_len, bytes->ptr, count);
        c->out_len += count;
        *bytes = str_skip(*bytes, count);
        if (count == room)
            close_packet(c);
    }
}

// Sends full packets straight from the application's memory. 0 or -EPIPE.
static int send_direct(struct conn *c, struct str *bytes)
{
    char heads[PIECES_MAX / 2][LSAPI_HEAD_BYTES];
    struct iovec pieces[PIECES_MAX];
    while (bytes->len >= LSAPI_STREAM_BYTES_MAX) {
        size_t count = 0;
        for (; count < PIECES_MAX && bytes->len >= LSAPI_STREAM_BYTES_MAX; count += 2) {
            put_packet(heads[count / 2], LSAPI_RESP_STREAM, LSAPI_STREAM_BYTES_MAX);
            pieces[count] = piece_of(str_n(heads[count / 2], LSAPI_HEAD_BYTES));
            pieces[count + 1] = piece_of(str_slice(*bytes, 0, LSAPI_STREAM_BYTES_MAX));
            *bytes = str_skip(*bytes, LSAPI_STREAM_BYTES_MAX);
        }
        if (send_pieces(c, pieces, count) < 0)
            return -EPIPE;
    }
    return 0;
}

bool conn_has_answered(const struct conn *c)
{
    return c->state == CONN_CLOSED || c->state == CONN_AWAY;
}

int conn_write(struct conn *c, struct str bytes)
{
    if (conn_has_answered(c))
        return c->is_broken ? -EPIPE : 0;
    collect(c, &bytes);
    while (bytes.len) {
        if (send_collected(c) < 0 || send_direct(c, &bytes) < 0)
            return -EPIPE;
        collect(c, &bytes);
    }
    return 0;
}

int conn_flush(struct conn *c)
{
    if (conn_has_answered(c))
        return c->is_broken ? -EPIPE : 0;
    if (c->state == CONN_BODY && !c->out_len)
        return 0;
    return send_collected(c);
}

int conn_log(struct conn *c, struct str text)
{
    if (conn_has_answered(c))
        return -EPIPE;
    while (text.len) {
        char head[LSAPI_HEAD_BYTES];
        struct str piece = str_slice(text, 0, LSAPI_STREAM_BYTES_MAX);
        struct iovec pieces[2] = {piece_of(str_n(head, sizeof head)), piece_of(piece)};
        put_packet(head, LSAPI_STDERR_STREAM, piece.len);
        if (send_pieces(c, pieces, 2) < 0)
            return -EPIPE;
        text = str_skip(text, piece.len);
    }
    return 0;
}

int conn_ack(struct conn *c)
{
    char packet[LSAPI_HEAD_BYTES];
    put_packet(packet, LSAPI_REQ_RECEIVED, 0);
    struct iovec piece = {packet, sizeof packet};
    return send_pieces(c, &piece, 1);
}

int conn_pid(struct conn *c, pid_t pid)
{
    char packet[2 * LSAPI_HEAD_BYTES];
    struct wr w = {.ptr = packet, .size = sizeof packet};
    lsapi_put_pid(&w, pid);
    struct iovec piece = {packet, w.len};
    return send_pieces(c, &piece, 1);
}

// How an answer ends.
enum ending {
    ENDING_STAYS, // RESP_END
    ENDING_LAST,  // RESP_END, CONN_CLOSE, and the connection is closed
    // CONN_CLOSE, RESP_END: who has read the end has read both, and sends no request that would
    // wait here.
    ENDING_LEAVES,
};

static void add_packet(struct conn *c, enum lsapi_type type)
{
    put_packet(c->out + c->out_len, type, 0);
    c->out_len += LSAPI_HEAD_BYTES;
}

static void end_answer(struct conn *c, enum ending ending)
{
    if (conn_has_answered(c))
        return;
    // The rest of the body may be long in coming, or the server may be waiting to get rid of it
    // while we wait for it to take the answer: answer first.
    if (!conn_body_is_here(c) && conn_flush(c) < 0)
        return;
    if (!drain(c))
        ending = ENDING_LAST;
    close_packet(c);
    if (ending == ENDING_LEAVES)
        add_packet(c, LSAPI_CONN_CLOSE);
    add_packet(c, LSAPI_RESP_END);
    if (ending == ENDING_LAST)
        add_packet(c, LSAPI_CONN_CLOSE);
    if (send_collected(c) < 0)
        return;
    switch (ending) {
    case ENDING_STAYS:
        c->state = CONN_IDLE;
        break;
    case ENDING_LAST:
        conn_close(c);
        break;
    case ENDING_LEAVES:
        c->state = CONN_AWAY;
        break;
    }
}

void conn_end(struct conn *c, bool last)
{
    end_answer(c, last ? ENDING_LAST : ENDING_STAYS);
}

void conn_leave(struct conn *c)
{
    end_answer(c, ENDING_LEAVES);
}

void conn_return(struct conn *c)
{
    ASSERT(c->state == CONN_AWAY);
    if (conn_ack(c) == 0)
        c->state = CONN_IDLE;
}
