// SPDX-License-Identifier: Apache-2.0
// h1_read -- what a connection's client has sent, in the order of its turns.
#include <errno.h>

#include "base/assert.h"
#include "front/h1_conn.h"
#include "net/tls.h"

#define IN_GROW_BYTES   ((size_t)4096)        // room for a read while a head is not complete
#define BODY_GROW_BYTES ((size_t)(16 * 1024)) // room for a read of a body
#define LOOKS_MAX       32 // reads and heads of one connection before others have their turn

bool h1_conn_has_turn(struct h1_conn *conn)
{
    if (conn->looks == LOOKS_MAX) {
        h1_conn_later(conn);
        return false;
    }
    conn->looks++;
    return true;
}

enum h1_read h1_read_some(struct h1_conn *conn, char *room, size_t size, size_t *out_len)
{
    if (!conn->readable)
        return H1_READ_WAIT;
    bool was_cut = conn->stream.is_cut;
    ssize_t n = stream_read(&conn->stream, room, size);
    if (n == -EPROTO && !was_cut && tls_is_flooded(&conn->stream))
        h1_conn_tell_flood(conn);
    if (n == -EAGAIN) {
        conn->readable = false;
        return H1_READ_WAIT;
    }
    if (n <= 0)
        return H1_READ_END;
    // A short read has emptied the socket: the next bytes are a new edge. The end of file is none.
    if ((size_t)n < size && !conn->hangup && conn->stream.ops->short_read_is_all)
        conn->readable = false;
    metrics_add(&conn->home->thread->metrics, bytes_in, n);
    *out_len = (size_t)n;
    return H1_READ_BYTES;
}

static enum h1_read fill(struct h1_conn *conn, size_t want)
{
    size_t size;
    size_t len;
    char *room = buf_room(&conn->in, want, &size);
    ASSERT(room); // who reads has looked at all of `in`: it holds a part of one head at most
    enum h1_read result = h1_read_some(conn, room, size, &len);
    if (result == H1_READ_BYTES)
        buf_added(&conn->in, len);
    return result;
}

enum h1_read h1_conn_fill(struct h1_conn *conn)
{
    return fill(conn, BODY_GROW_BYTES);
}

enum h1_read h1_conn_read(struct h1_conn *conn, struct str *out_bytes)
{
    enum h1_read result;
    if (buf_len(&conn->in) > 0) {
        result = fill(conn, IN_GROW_BYTES);
        if (result == H1_READ_BYTES)
            *out_bytes = buf_view(&conn->in);
        return result;
    }
    char *scratch = conn->home->thread->scratch;
    size_t len;
    result = h1_read_some(conn, scratch, THREAD_SCRATCH_BYTES, &len);
    if (result == H1_READ_BYTES)
        *out_bytes = str_n(scratch, len);
    return result;
}
