// SPDX-License-Identifier: Apache-2.0
// h1_answer -- an exchange on its connection: the states HANDLE and SEND, and how they end.
#include <stddef.h>

#include "front/front_limits.h"
#include "front/h1_conn.h"
#include "log/log.h"
#include "os/sock.h"

#define SEND_LOOKS 4 // within send_time

// A refused head may wait for its page.
void h1_answer_start(struct h1_conn *conn)
{
    if (!conn->answered && !exchange_is_rejected(conn->ex))
        exchange_start(conn->ex);
}

static void end_exchange(struct h1_conn *conn)
{
    struct exchange *ex = conn->ex;
    h1_send_done(conn);
    conn->ex = NULL;
    exchange_end(ex);
}

// What went out of the answer is not all of it, and must not look so.
static void break_off(struct h1_conn *conn)
{
    if (conn->work->out.framing == H1_OUT_CLOSE)
        stream_reset(&conn->stream);
    else
        stream_cut(&conn->stream);
}

void h1_answer_abort(struct h1_conn *conn)
{
    break_off(conn);
    exchange_abort(conn->ex);
    end_exchange(conn);
    h1_conn_close(conn);
}

// The source has failed.
static void cut_answer(struct h1_conn *conn)
{
    struct exchange *ex = conn->ex;
    break_off(conn);
    h1_send_done(conn); // what did not go out counts no longer
    log_warn(exchange_scope(ex), "front.cut",
             "the answer broke off after %llu bytes of its body; the connection is closed",
             (unsigned long long)ex->facts.body_sent_bytes);
    ex->facts.cut = true;
    end_exchange(conn);
    h1_conn_close(conn);
}

// Tells whether bytes of the client are unread, as far as we know.
static bool has_unread(const struct h1_conn *conn)
{
    return !conn->work->body.finished || buf_len(&conn->in) > 0
           || (conn->readable && !conn->hangup);
}

static void end_connection(struct h1_conn *conn)
{
    if (has_unread(conn)) {
        h1_conn_enter(conn, H1_LINGER);
        return;
    }
    // By itself and not by closing: bytes that come just now would make that a reset, and the last
    // bytes of the answer are still held for company.
    stream_end(&conn->stream);
    h1_conn_enter(conn, H1_CLOSED);
}

static void finish_answer(struct h1_conn *conn)
{
    end_exchange(conn);
    if (!conn->keep_alive)
        end_connection(conn);
    else if (conn->work->body.finished)
        h1_conn_await_next(conn);
    else
        h1_conn_enter(conn, H1_DRAIN);
}

// A full socket tells of room when much of it is free. A slow client needs long for that, and so
// does one behind a proxy: that it takes bytes at all is seen by looking now and then.
static void watch_send(struct h1_conn *conn)
{
    conn->work->out.looks = 0;
    h1_conn_arm(conn, front_limits_us(FRONT_SEND_TIME_MS) / SEND_LOOKS);
}

static void after_send(struct h1_conn *conn, enum h1_send_result result)
{
    switch (result) {
    case H1_SEND_DONE:
        finish_answer(conn);
        break;
    case H1_SEND_ROOM:
        // Only what goes out gives the client more time: what it sends wakes us, too.
        if (conn->work->out.has_moved || !loop_timer_is_armed(&conn->timer))
            watch_send(conn);
        conn->work->out.has_moved = false;
        break;
    case H1_SEND_SOURCE:
        loop_timer_stop(&conn->timer);
        break;
    case H1_SEND_LATER:
        loop_timer_stop(&conn->timer);
        h1_conn_later(conn);
        break;
    case H1_SEND_CUT:
        cut_answer(conn);
        break;
    case H1_SEND_BROKEN:
        h1_answer_abort(conn);
        break;
    }
}

static void on_source_more(void *arg)
{
    struct h1_conn *conn = arg;
    conn->work->out.source_waits = false;
    h1_conn_later(conn);
}

void h1_answer_send(struct h1_conn *conn)
{
    struct body *source = conn->ex->resp.body;
    if (conn->ex->resp.drop) {
        end_exchange(conn);
        h1_conn_close(conn);
        return;
    }
    if (source) {
        source->on_more = on_source_more;
        source->on_more_arg = conn;
    }
    after_send(conn, h1_send_begin(conn));
}

void h1_answer_go_on(struct h1_conn *conn)
{
    h1_body_wake(conn);
    after_send(conn, h1_send_go_on(conn));
}

// The first look learns what is there; so many without a change behind it are send_time.
void h1_answer_look(struct h1_conn *conn)
{
    struct h1_out *out = &conn->work->out;
    size_t untaken = sock_untaken(conn->stream.fd);
    out->looks = out->looks > 0 && untaken >= out->untaken ? out->looks + 1 : 1;
    out->untaken = untaken;
    if (out->looks <= SEND_LOOKS) {
        h1_conn_arm(conn, front_limits_us(FRONT_SEND_TIME_MS) / SEND_LOOKS);
        return;
    }
    metrics_add(&conn->home->thread->metrics, timeouts_send, 1);
    conn->ex->facts.cut = true;
    stream_reset(&conn->stream);
    h1_answer_abort(conn);
}
