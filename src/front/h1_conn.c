// SPDX-License-Identifier: Apache-2.0
// h1_conn -- the states of an HTTP/1 connection. Readiness, timers and tasks call the handler of
// the state's row; a handler may enter another state, whose first work is done when it has
// returned.
//
//   open -> PROXY -> (header complete: as open)
//
//              (first bytes)          (head complete)           (answer there)
//   open -> IDLE ---------> HEAD --------------------> HANDLE -----------------> SEND
//            |  \_______________________________________^                          |
//            |        (head came in one piece)                                     |
//            | <------------------------------------------- (kept) ----------------+
//            | <-- (rest of the request body dropped) -- DRAIN <-- (kept, unread) -+
//            |                                             |                       |
//            |                (too much, too slow)         v        (not kept)     |
//            |                                          LINGER <-------------------+
//            '-> CLOSED <----- (client closed, or waited long enough) --'
//
// A client that closes only its own direction while we work (HTTP allows it) gets its answer,
// unless the exchange's handler says that this means that it has left; one that is gone for good
// shows by an error or a full close, and the exchange is aborted. Idle connections hold no buffer,
// since bytes are read into the thread's scratch, and no work.
#include "front/h1_conn.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "front/front_limits.h"
#include "front/front_tls.h"
#include "os/fd.h"
#include "os/sock.h"

#define IN_BYTES_MAX     ((size_t)(192 * 1024)) // one head and what came with its last read
#define LAST_TIME_US     UINT64_C(1000000)      // for a last request when the server ends
#define DRAIN_TIME_US    UINT64_C(5000000)
#define LINGER_TIME_US   UINT64_C(5000000)
#define LINGER_BYTES_MAX ((uint64_t)(16 * 1024 * 1024)) // an upload that was refused early

typedef void state_fn(struct h1_conn *conn);

struct state_row {
    state_fn *enter;
    state_fn *readable;
    state_fn *writable;
    state_fn *later; // what h1_conn_later has asked for
    state_fn *timeout;
    state_fn *broken; // the client is gone
    state_fn *leave;
};

void h1_conn_arm(struct h1_conn *conn, uint64_t after_us)
{
    loop_timer_start(conn->home->thread->loop, &conn->timer, after_us);
}

static _Atomic size_t client_total; // open connections of clients, all threads

void h1_conn_close(struct h1_conn *conn)
{
    h1_conn_enter(conn, H1_CLOSED);
}

// PROXY.

static bool start_tls(struct h1_conn *conn)
{
    conn->is_tls = true;
    return front_tls_start(&conn->stream);
}

static void read_proxy(struct h1_conn *conn)
{
    switch (h1_proxy_read(conn)) {
    case H1_READ_BYTES:
        if (conn->is_tls_due && !start_tls(conn))
            h1_conn_close(conn);
        else
            h1_conn_enter(conn, H1_IDLE);
        break;
    case H1_READ_WAIT:
        break;
    case H1_READ_END:
        h1_conn_close(conn);
        break;
    }
}

static void enter_proxy(struct h1_conn *conn)
{
    h1_conn_arm(conn, front_limits_us(FRONT_HEADER_TIME_MS));
}

// IDLE and HEAD.

// Where a connection without a request is: it is not idle while bytes of one are there.
static enum h1_state state_between(const struct h1_conn *conn)
{
    return buf_len(&conn->in) > 0 ? H1_HEAD : H1_IDLE;
}

void h1_conn_await_next(struct h1_conn *conn)
{
    h1_conn_work_drop(conn);
    h1_conn_enter(conn, state_between(conn));
}

static void take_head(struct h1_conn *conn, struct str bytes)
{
    switch (h1_head_take(conn, bytes)) {
    case H1_HEAD_MORE:
        if (conn->state != state_between(conn))
            h1_conn_enter(conn, state_between(conn));
        break;
    case H1_HEAD_REQUEST:
    case H1_HEAD_REFUSED:
        h1_conn_enter(conn, H1_HANDLE);
        break;
    }
}

// The client is gone; or it speaks without TLS where we do not, and can be told so.
static void end_head(struct h1_conn *conn)
{
    if (!conn->stream.is_misled) {
        h1_conn_close(conn);
        return;
    }
    conn->is_tls = false;
    h1_head_refuse(conn, 400, "This port speaks TLS: the address begins with https://.");
    h1_conn_enter(conn, H1_HANDLE);
}

// Looks at what came with the last request first, and reads only when that is no whole head.
static void seek_head(struct h1_conn *conn)
{
    enum h1_state state = conn->state;
    while (conn->state == state && h1_conn_has_turn(conn)) {
        struct str bytes = buf_view(&conn->in);
        bool is_unseen = bytes.len > conn->in_seen;
        switch (is_unseen ? H1_READ_BYTES : h1_conn_read(conn, &bytes)) {
        case H1_READ_BYTES:
            take_head(conn, bytes);
            break;
        case H1_READ_WAIT:
            return;
        case H1_READ_END:
            end_head(conn);
            return;
        }
    }
}

// The server ends: who has just come gets a moment for a request; who was answered before, only if
// the home is patient.
static void retire_idle(struct h1_conn *conn)
{
    if (conn->served == 0 || conn->home->patient)
        h1_conn_arm(conn, LAST_TIME_US);
    else
        h1_conn_close(conn);
}

static void go_on_idle(struct h1_conn *conn)
{
    // The last that has come is answered, also if the loop has not told of it yet.
    conn->readable |= conn->home->draining;
    seek_head(conn);
    if (conn->state == H1_IDLE && conn->home->draining && !conn->readable)
        retire_idle(conn);
}

static void enter_idle(struct h1_conn *conn)
{
    struct h1_home *home = conn->home;
    list_push_back(&home->idle, &conn->idle_node);
    metrics_add(&home->thread->metrics, connections_idle, 1);
    h1_conn_arm(conn,
                front_limits_us(conn->served ? FRONT_KEEPALIVE_TIME_MS : FRONT_HEADER_TIME_MS));
    buf_trim(&conn->in);
    go_on_idle(conn);
}

static void leave_idle(struct h1_conn *conn)
{
    list_remove(&conn->idle_node);
    metrics_add(&conn->home->thread->metrics, connections_idle, -1);
}

static void enter_head(struct h1_conn *conn)
{
    // Not armed again by further bytes: the whole head has to come in this time.
    h1_conn_arm(conn, front_limits_us(FRONT_HEADER_TIME_MS));
    seek_head(conn);
}

static void time_out_idle(struct h1_conn *conn)
{
    if (!conn->served)
        metrics_add(&conn->home->thread->metrics, timeouts_header, 1);
    h1_conn_close(conn);
}

static void time_out_head(struct h1_conn *conn)
{
    metrics_add(&conn->home->thread->metrics, timeouts_header, 1);
    h1_head_refuse(conn, 408, "The request head did not come in time (header_time).");
    h1_conn_enter(conn, H1_HANDLE);
}

// DRAIN and LINGER.

static void drop_body(struct h1_conn *conn)
{
    switch (h1_body_drop(conn)) {
    case H1_READ_BYTES:
        h1_conn_await_next(conn);
        break;
    case H1_READ_WAIT:
        break;
    case H1_READ_END:
        h1_conn_enter(conn, H1_LINGER);
        break;
    }
}

static void enter_drain(struct h1_conn *conn)
{
    conn->dropped_bytes = 0;
    h1_conn_arm(conn, DRAIN_TIME_US);
    drop_body(conn);
}

static void stop_draining(struct h1_conn *conn)
{
    h1_conn_enter(conn, H1_LINGER);
}

static void drop_all(struct h1_conn *conn)
{
    while (h1_conn_has_turn(conn)) {
        size_t len = 0;
        char *scratch = conn->home->thread->scratch;
        switch (h1_read_some(conn, scratch, THREAD_SCRATCH_BYTES, &len)) {
        case H1_READ_BYTES:
            conn->dropped_bytes += len;
            if (conn->dropped_bytes < LINGER_BYTES_MAX)
                break;
            h1_conn_close(conn);
            return;
        case H1_READ_WAIT:
            return;
        case H1_READ_END:
            h1_conn_close(conn);
            return;
        }
    }
}

// Closing while bytes of the client are unread would send RST, which may destroy the answer on its
// way: so the end is told first, and what comes is read until the client has closed.
static void enter_linger(struct h1_conn *conn)
{
    buf_done(&conn->in);
    stream_end(&conn->stream);
    conn->dropped_bytes = 0;
    h1_conn_arm(conn, LINGER_TIME_US);
    if (conn->readable)
        drop_all(conn);
}

// The table and what calls it.

static const struct state_row STATES[] = {
    [H1_PROXY] = {.enter = enter_proxy,
                  .readable = read_proxy,
                  .timeout = time_out_idle,
                  .broken = h1_conn_close},
    [H1_IDLE] = {.enter = enter_idle,
                 .readable = seek_head,
                 .later = go_on_idle,
                 .timeout = time_out_idle,
                 .broken = h1_conn_close,
                 .leave = leave_idle},
    [H1_HEAD] = {.enter = enter_head,
                 .readable = seek_head,
                 .later = seek_head,
                 .timeout = time_out_head,
                 .broken = h1_conn_close},
    // Times here are the handler's (queue_time, request_time) and the body's.
    [H1_HANDLE] = {.enter = h1_answer_start,
                   .readable = h1_body_wake,
                   .writable = h1_body_wake,
                   .later = h1_body_wake,
                   .broken = h1_answer_abort},
    [H1_SEND] = {.enter = h1_answer_send,
                 .readable = h1_body_wake,
                 .writable = h1_answer_go_on,
                 .later = h1_answer_go_on,
                 .timeout = h1_answer_look,
                 .broken = h1_answer_abort},
    [H1_DRAIN] = {.enter = enter_drain,
                  .readable = drop_body,
                  .later = drop_body,
                  .timeout = stop_draining,
                  .broken = h1_conn_close},
    [H1_LINGER] = {.enter = enter_linger,
                   .readable = drop_all,
                   .later = drop_all,
                   .timeout = h1_conn_close,
                   .broken = h1_conn_close},
    [H1_CLOSED] = {0},
};

static void free_conn(struct h1_conn *conn)
{
    struct h1_home *home = conn->home;
    ASSERT(!conn->ex);
    loop_timer_stop(&conn->timer);
    h1_conn_work_drop(conn);
    loop_later_cancel(&conn->task);
    stream_close(&conn->stream);
    buf_done(&conn->in);
    list_remove(&conn->node);
    if (!conn->is_control) {
        home->client_count--;
        atomic_fetch_sub_explicit(&client_total, 1, memory_order_relaxed);
    }
    metrics_add(&home->thread->metrics, connections_open, -1);
    conn->magic = 0;
    mem_free(conn);
}

// Runs one handler, then the first work of the states that were entered. False: the connection is
// closed and gone.
static bool run(struct h1_conn *conn, state_fn *handler)
{
    ASSERT(conn->magic == H1_CONN_MAGIC && !conn->running);
    conn->running = true;
    conn->looks = 0;
    if (handler)
        handler(conn);
    for (;;) {
        if (conn->state == H1_HANDLE && conn->answered && !conn->entered)
            h1_conn_enter(conn, H1_SEND);
        if (!conn->entered)
            break;
        conn->entered = false;
        state_fn *enter = STATES[conn->state].enter;
        if (enter)
            enter(conn);
    }
    conn->running = false;
    if (conn->state != H1_CLOSED)
        return true;
    free_conn(conn);
    return false;
}

void h1_conn_enter(struct h1_conn *conn, enum h1_state state)
{
    state_fn *leave = STATES[conn->state].leave;
    if (leave)
        leave(conn);
    loop_timer_stop(&conn->timer);
    conn->state = state;
    conn->entered = true;
}

void h1_conn_later(struct h1_conn *conn)
{
    loop_later(conn->home->thread->loop, &conn->task);
}

static void on_task(struct loop_task *task)
{
    struct h1_conn *conn = CONTAINER_OF(task, struct h1_conn, task);
    run(conn, STATES[conn->state].later);
}

static void on_timer(struct loop_timer *timer)
{
    struct h1_conn *conn = CONTAINER_OF(timer, struct h1_conn, timer);
    run(conn, STATES[conn->state].timeout);
}

// A client that closes its direction now may have left.
static bool is_leaving(const struct h1_conn *conn, unsigned ready)
{
    if (!(ready & POLL_HANGUP) || conn->hangup || !conn->ex || !conn->ex->leaves_after_us)
        return false;
    return loop_now_us(conn->home->thread->loop) >= conn->ex->leaves_after_us;
}

static void on_ready(struct loop_watch *watch, unsigned ready)
{
    struct h1_conn *conn = CONTAINER_OF(watch, struct h1_conn, stream.watch);
    const struct state_row *row = &STATES[conn->state];
    ready = stream_ready(&conn->stream, ready);
    bool leaves = is_leaving(conn, ready);
    conn->readable |= (ready & POLL_READ) != 0;
    conn->hangup |= (ready & POLL_HANGUP) != 0;
    if (((ready & POLL_BROKEN) || leaves) && row->broken)
        run(conn, row->broken);
    else if ((ready & POLL_WRITE) && row->writable)
        run(conn, row->writable);
    else if ((ready & POLL_READ) && row->readable)
        run(conn, row->readable);
}

static void set_addresses(struct h1_conn *conn, int fd, const struct h1_origin *origin)
{
    struct sock_addr local = origin->local;
    if (local.len == 0 && sock_name(fd, &local) < 0)
        local = (struct sock_addr){0};
    conn->peer = h1_conn_address(&origin->peer);
    conn->local = h1_conn_address(&local);
    conn->is_control = origin->is_control;
}

bool h1_conn_admit(size_t max)
{
    size_t total = atomic_load_explicit(&client_total, memory_order_relaxed);
    do {
        if (total >= max)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&client_total, &total, total + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void h1_conn_open(struct h1_home *home, int fd, const struct h1_origin *origin)
{
    bool is_control = origin->is_control;
    struct h1_conn *conn = mem_new(struct h1_conn);
    set_addresses(conn, fd, origin);
    stream_open(&conn->stream, fd, on_ready);
    conn->magic = H1_CONN_MAGIC;
    conn->home = home;
    conn->in.ceiling_bytes = IN_BYTES_MAX;
    conn->timer.on_expired = on_timer;
    conn->task.run = on_task;
    list_push_back(&home->conns, &conn->node);
    home->client_count += !is_control;
    metrics_add(&home->thread->metrics, connections_open, 1);
    conn->state = origin->has_proxy_header ? H1_PROXY : H1_IDLE;
    conn->is_tls_due = origin->is_tls;
    conn->entered = true;
    // A client has usually sent its request by the time that it is accepted. What the operator asks
    // for may end the listener, so that waits until the listener is out of its callback.
    conn->readable = !is_control;
    if (origin->is_tls && !origin->has_proxy_header && !start_tls(conn))
        h1_conn_enter(conn, H1_CLOSED);
    if (!run(conn, NULL))
        return;
    if (stream_watch(&conn->stream, home->thread->loop) < 0) {
        metrics_add(&home->thread->metrics, connections_refused, 1);
        h1_conn_cut(conn);
    }
}

void h1_conn_cut(struct h1_conn *conn)
{
    run(conn, STATES[conn->state].broken);
}
