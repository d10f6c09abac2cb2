// SPDX-License-Identifier: Apache-2.0
// lsapi_recv -- see lsapi_recv.h.
#include "backend/lsapi_recv.h"

#include <errno.h>
#include <stdio.h>

#include "backend/lsapi_conv.h"
#include "base/assert.h"
#include "http/status.h"
#include "log/log.h"
#include "os/fd.h"

#define SCOPE_BYTES 80

static void log_line(struct lsapi_conv *conv, struct str line)
{
    char scope[SCOPE_BYTES];
    char text[LSAPI_CONV_LINE_BYTES];
    struct str app = conv->conf.endpoint->name;
    struct str site = conv->left ? str_c(conv->left_site) : lsapi_conv_site(conv->exchange);
    (void)snprintf(scope, sizeof scope, "req %s", conv->left ? conv->left_id : conv->exchange->id);
    log_warn(scope, "app.output", "site %.*s, app \"%.*s\", worker %d says: %s", STR_ARG(site),
             STR_ARG(app), (int)conv->slot->worker_pid, log_quote(line, text, sizeof text));
}

void lsapi_recv_flush_log(struct lsapi_conv *conv)
{
    if (buf_len(&conv->line))
        log_line(conv, buf_view(&conv->line));
    buf_done(&conv->line);
}

static void on_stderr(struct lsapi_conv *conv, struct str bytes)
{
    conv->line.ceiling_bytes = LSAPI_CONV_LINE_BYTES;
    while (bytes.len) {
        size_t end = str_find(bytes, '\n');
        bool ends = end < bytes.len;
        struct str piece = str_slice(bytes, 0, end);
        bytes = str_skip(bytes, ends ? end + 1 : end);
        if (ends && !buf_len(&conv->line)) {
            if (piece.len)
                log_line(conv, piece);
            continue;
        }
        while (!buf_put(&conv->line, piece)) {
            size_t room = LSAPI_CONV_LINE_BYTES - buf_len(&conv->line);
            bool fits = buf_put(&conv->line, str_slice(piece, 0, room));
            ASSERT(fits);
            piece = str_skip(piece, room);
            lsapi_recv_flush_log(conv);
        }
        if (ends)
            lsapi_recv_flush_log(conv);
    }
}

// The answer has bytes for the client only when its status and method allow.
static bool wants_body(const struct lsapi_conv *conv)
{
    return conv->exchange->req.method != HTTP_HEAD && status_has_body(conv->exchange->resp.status);
}

// What of the head did not reach the client as the app has said it.
static void log_wrong(const struct lsapi_conv *conv)
{
    const struct cgi_resp *head = &conv->head;
    const char *scope = exchange_scope(conv->exchange);
    struct str app = conv->conf.endpoint->name;
    int pid = (int)conv->slot->worker_pid;
    if (head->dropped) {
        log_warn(
            scope, "backend.bad_header",
            "app \"%.*s\", worker %d sent %u header lines that are not valid; they were left out",
            STR_ARG(app), pid, head->dropped);
    }
    if (head->wrong_length) {
        log_warn(scope, "backend.wrong_length", "app \"%.*s\", worker %d sent %s; it was left out",
                 STR_ARG(app), pid, head->wrong_length);
    }
    if (head->wrong_status) {
        log_warn(scope, "backend.bad_status",
                 "app \"%.*s\", worker %d set the status %d, which no answer can have; 500 is sent",
                 STR_ARG(app), pid, head->wrong_status);
    }
}

static const char *on_head(struct lsapi_conv *conv, const struct lsapi_event *ev)
{
    conv->head_done = true;
    if (conv->left)
        return NULL;
    struct exchange *ex = conv->exchange;
    if (!arena_room(&ex->arena, ev->head.len))
        return "its head is larger than the exchange's memory allows";
    struct str head = arena_dup(&ex->arena, ev->head);
    struct lsapi_pair line;
    conv->head = (struct cgi_resp){.length = -1};
    for (size_t at = 0; lsapi_head_next(head, &at, &line);)
        cgi_resp_line(&conv->head, &ex->resp, line.name, line.value);
    cgi_resp_finish(&conv->head, &ex->resp, ev->status);
    if (UNLIKELY(conv->head.dropped || conv->head.wrong_length || conv->head.wrong_status))
        log_wrong(conv);
    if (!wants_body(conv))
        conv->answer.discard = true;
    return NULL;
}

static void on_data(struct lsapi_conv *conv, struct str bytes)
{
    uint64_t before = conv->received_bytes;
    conv->received_bytes += bytes.len;
    if (conv->left || conv->answer.discard)
        return;
    // Before the head is out the length can still be put right, see lsapi_backend.c.
    if (conv->responded && conv->head.length >= 0
        && conv->received_bytes > (uint64_t)conv->head.length) {
        uint64_t promised = (uint64_t)conv->head.length;
        if (before <= promised) {
            log_warn(exchange_scope(conv->exchange), "backend.body_too_long",
                     "app \"%.*s\" sent more than its Content-Length of %llu bytes; the rest is "
                     "dropped",
                     STR_ARG(conv->conf.endpoint->name), (unsigned long long)promised);
        }
        bytes.len = before < promised ? (size_t)(promised - before) : 0;
    }
    if (bytes.len)
        lsapi_answer_put(&conv->answer, bytes);
}

static enum lsapi_recv_result parse(struct lsapi_conv *conv, struct str in, const char **out_why)
{
    bool ended = false;
    for (;;) {
        struct lsapi_event ev = lsapi_resp_next(conv->parser, &in);
        const char *fault = NULL;
        switch (ev.type) {
        case LSAPI_EVENT_AGAIN:
            return ended ? LSAPI_RECV_END : LSAPI_RECV_AGAIN;
        case LSAPI_EVENT_RECEIVED:
            // Behind the end: it was away for a moment, and is back.
            conv->closing = conv->closing && !ended;
            break;
        case LSAPI_EVENT_PID:
            break;
        case LSAPI_EVENT_HEAD:
            fault = on_head(conv, &ev);
            break;
        case LSAPI_EVENT_DATA:
            on_data(conv, ev.bytes);
            break;
        case LSAPI_EVENT_STDERR:
            on_stderr(conv, ev.bytes);
            break;
        case LSAPI_EVENT_END:
            ended = true;
            break;
        case LSAPI_EVENT_CLOSE:
            conv->closing = true;
            conv->away = !ended;
            break;
        case LSAPI_EVENT_FAILED:
            fault = ev.why;
            break;
        }
        if (fault) {
            *out_why = fault;
            return LSAPI_RECV_BAD;
        }
    }
}

// A worker that leaves between two requests says CONN_CLOSE; it may cross the next request.
static bool is_farewell(const struct lsapi_conv *conv, struct str bytes)
{
    return !conv->heard && bytes.len >= LSAPI_HEAD_BYTES && bytes.ptr[0] == 'L'
           && bytes.ptr[1] == 'S' && bytes.ptr[2] == LSAPI_CONN_CLOSE;
}

enum lsapi_recv_result lsapi_recv_step(struct lsapi_conv *conv, const char **out_why)
{
    struct slot *slot = conv->slot;
    conv->paused = false;
    while (slot->readable) {
        if (lsapi_answer_is_full(&conv->answer)) {
            conv->paused = true;
            return LSAPI_RECV_AGAIN;
        }
        ssize_t count = fd_receive_bytes(slot->fd, conv->thread->scratch, THREAD_SCRATCH_BYTES);
        if (count == -EAGAIN) {
            slot->readable = false;
            break;
        }
        if (count <= 0)
            return count == -ECONNRESET && !conv->heard ? LSAPI_RECV_RESET : LSAPI_RECV_DIED;
        struct str in = str_n(conv->thread->scratch, (size_t)count);
        if (is_farewell(conv, in))
            return LSAPI_RECV_NOT_TAKEN;
        conv->heard = true;
        // A short read has emptied the socket: what comes later is a new edge. A hangup is not.
        if ((size_t)count < THREAD_SCRATCH_BYTES && !slot->hangup)
            slot->readable = false;
        enum lsapi_recv_result result = parse(conv, in, out_why);
        if (result != LSAPI_RECV_AGAIN)
            return result;
    }
    return LSAPI_RECV_AGAIN;
}
