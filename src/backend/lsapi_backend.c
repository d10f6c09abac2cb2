// SPDX-License-Identifier: Apache-2.0
// lsapi_backend -- see lsapi_backend.h. Sending is in lsapi_send.c, receiving in lsapi_recv.c; here
// is what follows from them.
//
//   serve --> SPOOLING --(spooled)--> QUEUED --(talk)--> TALKING --(give_slot)--> OVER
//               no body: at once -------^                  |
//                                       ^----(retry)-------| the worker had not taken it
//
//   OVER with an exchange: the client takes what is held.   (leave) ends each state early.
//   TALKING without a client: the rest of the answer is dropped.
//
// The slot goes back as soon as RESP_END is seen, before the client has got a byte.
#include "backend/lsapi_backend.h"

#include <stdio.h>
#include <string.h>

#include "backend/lsapi_conv.h"
#include "backend/lsapi_recv.h"
#include "backend/lsapi_send.h"
#include "backend/lsapi_stall.h"
#include "base/assert.h"
#include "http/status.h"
#include "log/log.h"
#include "os/fd.h"
#include "os/proc.h"

// How long, in all, a worker waits for a client before its answer goes to a temporary file: a
// client that keeps pace costs no disk.
#define GRACE_US 10000

// Who closes so soon after asking does not want to be waited for, or says by it that this was all:
// programs do. Who does it later has given up.
#define LEAVES_AFTER_US 1000000

// Workers that died idle, unseen yet, are not the request's fault: several may have died at once.
#define TRIES_MAX 8

#define SCOPE_BYTES 80

static void talk(struct lsapi_conv *conv, struct slot *slot);
static void acquire(struct lsapi_conv *conv);

static struct lsapi_conv *conv_of(void *data)
{
    struct lsapi_conv *conv = data;
    ASSERT(conv && conv->magic == LSAPI_CONV_MAGIC);
    return conv;
}

static uint64_t now_us(const struct lsapi_conv *conv)
{
    return loop_now_us(conv->thread->loop);
}

static void free_if_unused(struct lsapi_conv *conv)
{
    if (conv->exchange || conv->slot || conv->answer.writing)
        return;
    ASSERT(!loop_timer_is_armed(&conv->grace));
    ASSERT(conv->state == LSAPI_CONV_OVER && !loop_timer_is_armed(&conv->timer));
    lsapi_conv_free(conv);
}

static void clock_stop(struct lsapi_conv *conv)
{
    if (!loop_timer_is_armed(&conv->timer))
        return;
    loop_timer_stop(&conv->timer);
    uint64_t used_us = now_us(conv) - conv->resumed_us;
    conv->left_us = conv->left_us > used_us ? conv->left_us - used_us : 0;
}

// request_time counts unless the worker has to wait for the client.
static void clock_start(struct lsapi_conv *conv)
{
    if (loop_timer_is_armed(&conv->timer) || conv->paused || conv->upload_waits)
        return;
    conv->resumed_us = now_us(conv);
    loop_timer_start(conv->thread->loop, &conv->timer, conv->left_us);
}

// Reading waits for the client, or a write.
static void pause_reading(struct lsapi_conv *conv)
{
    clock_stop(conv);
    conv->paused_us = now_us(conv);
    if (conv->left || conv->head.is_live)
        return;
    if (!lsapi_stall_watch(conv) && !conv->answer.spilling)
        loop_timer_start(conv->thread->loop, &conv->grace, conv->grace_us);
}

static void end_pause(struct lsapi_conv *conv)
{
    if (!conv->paused)
        return;
    conv->paused = false;
    loop_timer_stop(&conv->grace);
    uint64_t waited_us = now_us(conv) - conv->paused_us;
    conv->grace_us = conv->grace_us > waited_us ? conv->grace_us - waited_us : 0;
}

static void drop_upload(struct lsapi_conv *conv)
{
    lsapi_send_drop(conv);
    buf_done(&conv->unsent);
}

static void give_slot(struct lsapi_conv *conv, enum slot_outcome outcome)
{
    struct slot *slot = conv->slot;
    ASSERT(slot && conv->state == LSAPI_CONV_TALKING);
    lsapi_recv_flush_log(conv);
    clock_stop(conv);
    end_pause(conv);
    drop_upload(conv);
    if (!conv->left) {
        conv->exchange->facts.backend_us = now_us(conv) - conv->handed_us;
        conv->exchange->leaves_after_us = 0;
    }
    slot->left_us = conv->left_us;
    slot->user = NULL;
    slot->on_ready = NULL;
    conv->slot = NULL;
    conv->state = LSAPI_CONV_OVER;
    conv->conf.endpoint->ops->release(conv->conf.endpoint, slot, outcome);
}

// The conversation has failed and has no slot any more: an error page while the head is not out,
// else the answer is cut so that it can't look complete.
static void fail(struct lsapi_conv *conv, int status, const char *event, struct str cause)
{
    conv->answer.complete = conv->answer.failed = true;
    if (conv->left)
        return;
    metrics_add(&conv->thread->metrics, backend_failures, 1);
    struct exchange *ex = conv->exchange;
    if (conv->responded) {
        ex->facts.cause = cause;
        exchange_log(ex, event, arena_fmt(&ex->arena, "%.*s The answer was cut.", STR_ARG(cause)));
        return;
    }
    conv->responded = true;
    exchange_refuse(ex, status, event, "%.*s", STR_ARG(cause));
}

// As long as the head is not out, a Content-Length that is known to be wrong is put right, or left
// out if the rest of the body is still to come.
static void settle_length(struct lsapi_conv *conv)
{
    int64_t promised = conv->head.length;
    int64_t received = (int64_t)conv->received_bytes;
    if (promised < 0 || received == promised || conv->answer.discard
        || (received < promised && !conv->answer.complete))
        return;
    conv->head.length = conv->answer.complete ? received : -1;
    log_warn(exchange_scope(conv->exchange), "backend.wrong_length",
             "app \"%.*s\" promised a Content-Length of %lld bytes and sent %lld%s",
             STR_ARG(conv->conf.endpoint->name), (long long)promised, (long long)received,
             conv->answer.complete ? ", which is the length now"
                                   : " so far; the answer has no Content-Length");
}

static void respond(struct lsapi_conv *conv)
{
    struct exchange *ex = conv->exchange;
    if (conv->left || conv->responded || !conv->head_done)
        return;
    // What has no body for the client is answered when it is complete.
    if (conv->answer.discard && !conv->answer.complete)
        return;
    conv->responded = true;
    settle_length(conv);
    struct body *body = &conv->answer.body;
    body->length = conv->head.length;
    body->is_live = conv->head.is_live;
    if (conv->answer.complete && !conv->answer.discard && body->length < 0)
        body->length = (int64_t)conv->answer.held_bytes; // nothing was taken yet
    ex->resp.body = status_has_body(ex->resp.status) ? body : NULL;
    exchange_respond(ex);
}

// NOLINTBEGIN(misc-no-recursion): a retry begins anew in here, TRIES_MAX times at most.
static void retry(struct lsapi_conv *conv)
{
    conv->tries++;
    conv->packet_sent = conv->heard = conv->closing = conv->away = false;
    lsapi_resp_reset(conv->parser, &conv->hold);
    if (conv->left)
        return;
    metrics_add(&conv->thread->metrics, backend_retries, 1);
    acquire(conv);
}

// What has become of a worker whose connection is at its end.
static const struct {
    const char *how, *more;
} DEATHS[] = {
    [PROC_LIVES] = {"closed its connection",
                    "the process goes on: if it does not end now it is ended, see worker.closed."},
    [PROC_ENDS] = {"ended", "its end is in the log as worker.died."},
    [PROC_LIFE_UNKNOWN] = {"ended or closed its connection",
                           "worker.died or worker.closed in the log tell which."},
};

static void on_died(struct lsapi_conv *conv, enum lsapi_recv_result result)
{
    // A worker that dies over a part of a body leaves the rest unread as well: only without a body
    // does a reset tell that it had not begun.
    bool not_taken = !conv->heard
                     && (!conv->packet_sent || result == LSAPI_RECV_NOT_TAKEN
                         || (result == LSAPI_RECV_RESET && !conv->spool));
    // Of a streamed body a part may have gone with the worker.
    not_taken = not_taken && !conv->streams;
    int pid = (int)conv->slot->worker_pid;
    enum proc_life life = proc_life(pid);
    // One that did not take the request may still be busy with what its last one has left.
    give_slot(conv, not_taken ? SLOT_BROKEN : SLOT_CLOSED);
    if (not_taken && conv->tries < TRIES_MAX) {
        retry(conv);
        return;
    }
    if (conv->left)
        return;
    struct str app = conv->conf.endpoint->name;
    fail(conv, 502, "backend.worker_died",
         arena_fmt(&conv->exchange->arena, "Worker %d of app \"%.*s\" %s %s; %s", pid, STR_ARG(app),
                   DEATHS[life].how,
                   not_taken ? "before it took the request, as others before it did"
                             : "in the middle of the request, which is not tried again",
                   DEATHS[life].more));
}

static void on_bad(struct lsapi_conv *conv, const char *why)
{
    int pid = (int)conv->slot->worker_pid;
    give_slot(conv, SLOT_BROKEN);
    if (conv->left)
        return;
    fail(conv, 502, "backend.bad_answer",
         arena_fmt(&conv->exchange->arena,
                   "The answer of worker %d of app \"%.*s\" can't be used: %s.", pid,
                   STR_ARG(conv->conf.endpoint->name), why));
}

static void on_end(struct lsapi_conv *conv)
{
    int pid = (int)conv->slot->worker_pid;
    // What it did not take of the request would be read as the next one.
    bool clean = lsapi_send_is_done(conv);
    enum slot_outcome leaves = conv->away ? SLOT_AWAY : SLOT_DETACHED;
    give_slot(conv, !clean ? SLOT_BROKEN : conv->closing ? leaves : SLOT_REUSE);
    conv->answer.complete = true;
    if (conv->left)
        return;
    struct str app = conv->conf.endpoint->name;
    if (!conv->head_done) {
        fail(conv, 502, "backend.bad_answer",
             arena_fmt(&conv->exchange->arena,
                       "Worker %d of app \"%.*s\" ended its answer without a head.", pid,
                       STR_ARG(app)));
    } else if (conv->responded && !conv->answer.discard
               && conv->head.length > (int64_t)conv->received_bytes) {
        conv->answer.failed = true;
        log_warn(exchange_scope(conv->exchange), "backend.body_too_short",
                 "app \"%.*s\", worker %d promised a Content-Length of %lld bytes and sent %llu; "
                 "the answer is cut",
                 STR_ARG(app), pid, (long long)conv->head.length,
                 (unsigned long long)conv->received_bytes);
    }
}

// Reads and acts upon it. The front is not woken: that is for callbacks of the loop.
static void receive(struct lsapi_conv *conv)
{
    const char *why = NULL;
    enum lsapi_recv_result result = lsapi_recv_step(conv, &why);
    switch (result) {
    case LSAPI_RECV_AGAIN:
        if (conv->paused)
            pause_reading(conv);
        break;
    case LSAPI_RECV_END:
        on_end(conv);
        break;
    case LSAPI_RECV_NOT_TAKEN:
    case LSAPI_RECV_RESET:
    case LSAPI_RECV_DIED:
        on_died(conv, result);
        break;
    case LSAPI_RECV_BAD:
        on_bad(conv, why);
        break;
    }
}

static void resume_reading(struct lsapi_conv *conv)
{
    end_pause(conv);
    clock_start(conv);
    receive(conv);
}

static void after_send(struct lsapi_conv *conv, enum lsapi_send_result result)
{
    switch (result) {
    case LSAPI_SEND_DONE:
    case LSAPI_SEND_AGAIN:
        clock_start(conv);
        break;
    case LSAPI_SEND_WAIT:
        clock_stop(conv);
        break;
    case LSAPI_SEND_CUT:
        give_slot(conv, SLOT_LEFT);
        conv->answer.complete = conv->answer.failed = true;
        if (!conv->responded)
            spool_refuse(conv->exchange, NULL, SPOOL_CUT);
        conv->responded = true;
        break;
    case LSAPI_SEND_LOST:
        // It may have answered before it went; reading tells.
        conv->slot->readable = true;
        conv->slot->hangup = true;
        receive(conv);
        break;
    case LSAPI_SEND_TOO_LARGE:
        give_slot(conv, SLOT_REUSE);
        conv->answer.complete = true;
        conv->responded = true;
        exchange_refuse(conv->exchange, 431, NULL,
                        "Headers and variables exceed %d bytes, the most that LSAPI carries.",
                        LSAPI_REQUEST_BYTES_MAX);
        break;
    case LSAPI_SEND_FAILED:
        give_slot(conv, SLOT_BROKEN);
        fail(conv, 500, "backend.spool_failed",
             STR("The request's body could not be read back from its temporary file."));
        break;
    }
}

static void finish_turn(struct lsapi_conv *conv);

// The client has sent more of a body that goes on to the worker as it comes.
static void on_upload_more(void *arg)
{
    struct lsapi_conv *conv = conv_of(arg);
    if (!conv->slot)
        return;
    conv->upload_waits = false;
    after_send(conv, lsapi_send_more(conv));
    finish_turn(conv);
}

// Last in each callback of the loop.
static void finish_turn(struct lsapi_conv *conv)
{
    respond(conv);
    if (!conv->left)
        lsapi_answer_tell(&conv->answer);
    free_if_unused(conv);
}

static void on_ready(struct slot *slot, unsigned ready)
{
    struct lsapi_conv *conv = conv_of(slot->user);
    if (ready & POLL_READ)
        slot->readable = true;
    if (ready & POLL_HANGUP)
        slot->hangup = true;
    if ((ready & POLL_WRITE) && !lsapi_send_is_done(conv))
        after_send(conv, lsapi_send_more(conv));
    if (conv->slot == slot && slot->readable && !conv->paused)
        receive(conv);
    finish_turn(conv);
}

static void on_timeout(struct loop_timer *timer)
{
    struct lsapi_conv *conv = conv_of(CONTAINER_OF(timer, struct lsapi_conv, timer));
    int pid = (int)conv->slot->worker_pid;
    metrics_add(&conv->thread->metrics, request_timeouts, 1);
    struct endpoint *endpoint = conv->conf.endpoint;
    conv->left_us = 0;
    give_slot(conv, SLOT_STUCK);
    if (!conv->left) {
        fail(
            conv, 504, "backend.timeout",
            arena_fmt(&conv->exchange->arena,
                      "Worker %d of app \"%.*s\" has used up request_time (%lld ms) and is killed.",
                      pid, STR_ARG(endpoint->name), (long long)conv->conf.request_ms));
    } else {
        char scope[SCOPE_BYTES];
        (void)snprintf(scope, sizeof scope, "req %s", conv->left_id);
        log_warn(scope, "backend.timeout",
                 "site %s, app %.*s: Worker %d, whose client is gone, has used up request_time "
                 "(%lld ms) and is killed.",
                 conv->left_site, STR_ARG(endpoint->name), pid, (long long)conv->conf.request_ms);
    }
    finish_turn(conv);
}

static void talk(struct lsapi_conv *conv, struct slot *slot)
{
    ASSERT(conv->state == LSAPI_CONV_QUEUED && !conv->slot && !slot->user);
    struct exchange *ex = conv->exchange;
    conv->state = LSAPI_CONV_TALKING;
    conv->slot = slot;
    slot->user = conv;
    slot->on_ready = on_ready;
    conv->handed_us = now_us(conv);
    conv->left_us = (uint64_t)conv->conf.request_ms * 1000;
    if (conv->conf.abort == LSAPI_BACKEND_FINISH)
        ex->leaves_after_us = 0;
    ex->facts.worker_pid = slot->worker_pid;
    ex->facts.queue_us += conv->handed_us - conv->queued_us;
    clock_start(conv);
    after_send(conv, lsapi_send_start(conv));
}

static void on_slot(struct ticket *t, struct slot *slot)
{
    struct lsapi_conv *conv = conv_of(CONTAINER_OF(t, struct lsapi_conv, ticket));
    talk(conv, slot);
    finish_turn(conv);
}

// The endpoint has no worker for the request. Text of the exchange's arena.
static void refuse(struct lsapi_conv *conv, enum endpoint_failure failure, struct str text)
{
    static const char *const EVENTS[] = {
        [ENDPOINT_QUEUE_FULL] = "backend.queue_full",
        [ENDPOINT_QUEUE_TIMEOUT] = "backend.queue_timeout",
        [ENDPOINT_START_FAILED] = "backend.no_worker",
        [ENDPOINT_STOPPED] = "backend.stopped",
    };
    conv->state = LSAPI_CONV_OVER;
    conv->exchange->leaves_after_us = 0;
    if (failure == ENDPOINT_QUEUE_FULL)
        metrics_add(&conv->thread->metrics, queue_full, 1);
    else if (failure == ENDPOINT_QUEUE_TIMEOUT)
        metrics_add(&conv->thread->metrics, queue_timeouts, 1);
    fail(conv, 503, EVENTS[failure], text);
    finish_turn(conv);
}

static void on_failed(struct ticket *t, enum endpoint_failure failure, struct str text)
{
    struct lsapi_conv *conv = conv_of(CONTAINER_OF(t, struct lsapi_conv, ticket));
    ASSERT(conv->state == LSAPI_CONV_QUEUED);
    struct exchange *ex = conv->exchange;
    ex->facts.queue_us += now_us(conv) - conv->queued_us;
    refuse(conv, failure, arena_dup(&ex->arena, text));
}

static void acquire(struct lsapi_conv *conv)
{
    conv->state = LSAPI_CONV_QUEUED;
    conv->ticket = (struct ticket){
        .exchange = conv->exchange,
        .on_slot = on_slot,
        .on_failed = on_failed,
    };
    conv->queued_us = now_us(conv);
    conv->exchange->leaves_after_us = conv->queued_us + LEAVES_AFTER_US;
    struct endpoint *endpoint = conv->conf.endpoint;
    struct slot *slot = endpoint->ops->acquire(endpoint, &conv->ticket);
    if (slot)
        talk(conv, slot);
    else
        metrics_add(&conv->thread->metrics, queue_waits, 1);
}

// NOLINTEND(misc-no-recursion)

static void on_spooled(struct exchange *ex, void *arg, enum spool_result result)
{
    struct lsapi_conv *conv = conv_of(arg);
    if (result == SPOOL_DONE) {
        acquire(conv);
    } else {
        conv->state = LSAPI_CONV_OVER;
        conv->responded = true;
        spool_refuse(ex, conv->spool, result);
    }
    finish_turn(conv);
}

// The client wants no more of the answer, or has all.
static void leave(struct lsapi_conv *conv)
{
    if (conv->left)
        return;
    struct str site = lsapi_conv_site(conv->exchange);
    (void)snprintf(conv->left_site, sizeof conv->left_site, "%.*s", STR_ARG(site));
    memcpy(conv->left_id, conv->exchange->id, sizeof conv->left_id);
    conv->left = true;
    conv->answer.discard = true;
    lsapi_answer_done(&conv->answer);
    struct endpoint *endpoint = conv->conf.endpoint;
    switch (conv->state) {
    case LSAPI_CONV_SPOOLING:
        spool_stop(conv->spool);
        conv->state = LSAPI_CONV_OVER;
        break;
    case LSAPI_CONV_QUEUED:
        endpoint->ops->cancel(endpoint, &conv->ticket);
        conv->state = LSAPI_CONV_OVER;
        break;
    case LSAPI_CONV_TALKING: {
        bool has_all = conv->responded && conv->head.length >= 0
                       && conv->received_bytes >= (uint64_t)conv->head.length;
        bool may_finish = has_all || conv->conf.abort == LSAPI_BACKEND_FINISH;
        if (!may_finish || !lsapi_send_is_done(conv)) {
            give_slot(conv, SLOT_LEFT);
        } else if (conv->paused) {
            resume_reading(conv);
        }
        break;
    }
    case LSAPI_CONV_OVER:
        break;
    }
}

static void on_abort(struct exchange *ex)
{
    leave(conv_of(ex->handler_data));
}

static void on_answer_close(struct lsapi_answer *a)
{
    leave(conv_of(CONTAINER_OF(a, struct lsapi_conv, answer)));
}

static void on_answer_low(struct lsapi_answer *a)
{
    struct lsapi_conv *conv = conv_of(CONTAINER_OF(a, struct lsapi_conv, answer));
    if (conv->paused && lsapi_answer_has_room(a))
        resume_reading(conv);
}

static void on_answer_written(struct lsapi_answer *a, int error)
{
    struct lsapi_conv *conv = conv_of(CONTAINER_OF(a, struct lsapi_conv, answer));
    if (error < 0 && !conv->left) {
        log_warn(exchange_scope(conv->exchange), "spool.failed",
                 "an answer of app \"%.*s\" could not be written to a temporary file in %s "
                 "(spool_dir): %s; its worker waits for the client instead",
                 STR_ARG(conv->conf.endpoint->name), a->file.dir, strerror(-error));
    }
    if (conv->paused && lsapi_answer_has_room(a))
        resume_reading(conv);
    else if (conv->paused)
        (void)lsapi_stall_watch(conv);
    finish_turn(conv);
}

// What no file may hold waits for the client, unless that reads nothing while others wait.
static void look_at_stalled(struct lsapi_conv *conv)
{
    switch (lsapi_stall_look(conv)) {
    case LSAPI_STALL_WAIT:
        break;
    case LSAPI_STALL_ROOM:
        resume_reading(conv);
        break;
    case LSAPI_STALL_CUT: {
        struct str text = lsapi_stall_text(conv);
        give_slot(conv, SLOT_LEFT);
        fail(conv, 503, "spool.stalled", text);
        break;
    }
    }
}

// The client does not keep pace.
static void on_grace_over(struct loop_timer *timer)
{
    struct lsapi_conv *conv = conv_of(CONTAINER_OF(timer, struct lsapi_conv, grace));
    if (lsapi_answer_bar(&conv->answer) != LSAPI_ANSWER_BAR_NONE) {
        look_at_stalled(conv);
    } else {
        lsapi_answer_spill(&conv->answer, conv->exchange, conv->conf.spool_share);
        if (lsapi_answer_has_room(&conv->answer))
            resume_reading(conv);
    }
    finish_turn(conv);
}

static void on_exchange_gone(void *arg)
{
    struct lsapi_conv *conv = conv_of(arg);
    leave(conv);
    conv->exchange = NULL;
    free_if_unused(conv);
}

// Nothing is to be taken in first.
static void take_at_once(struct lsapi_conv *conv)
{
    struct exchange *ex = conv->exchange;
    if (conv->streams && spool_is_too_large(ex)) {
        conv->state = LSAPI_CONV_OVER;
        conv->responded = true;
        spool_refuse(ex, NULL, SPOOL_TOO_LARGE);
    } else {
        if (conv->streams) {
            ex->req.body->on_more = on_upload_more;
            ex->req.body->on_more_arg = conv;
        }
        acquire(conv);
    }
    finish_turn(conv);
}

void lsapi_backend_serve(struct exchange *ex, const struct lsapi_backend_conf *conf,
                         const struct cgi_env_script *script)
{
    struct lsapi_conv *conv = lsapi_conv_new(ex->thread);
    conv->exchange = ex;
    conv->conf = *conf;
    conv->script = *script;
    conv->timer.on_expired = on_timeout;
    conv->grace.on_expired = on_grace_over;
    conv->grace_us = GRACE_US;
    conv->answer.memory_max = conf->response_buffer_bytes;
    conv->answer.file_max = conf->response_spool_bytes;
    conv->answer.on_low = on_answer_low;
    conv->answer.on_written = on_answer_written;
    conv->answer.on_close = on_answer_close;
    arena_defer(&ex->arena, on_exchange_gone, conv);
    ex->on_abort = on_abort;
    ex->handler_data = conv;
    ex->facts.app = conf->endpoint->name;
    conv->streams = conf->stream_request && ex->req.body && ex->req.content_length >= 0;
    if (!ex->req.has_body || conv->streams) {
        take_at_once(conv);
        return;
    }
    // Before a body is read, or asked for with 100 Continue, that would be for nothing.
    enum endpoint_failure failure;
    struct str text;
    if (conf->endpoint->ops->refuses(conf->endpoint, ex, &failure, &text)) {
        refuse(conv, failure, text);
        return;
    }
    enum spool_result result = spool_start(ex, conf->spool_share, on_spooled, conv, &conv->spool);
    if (result != SPOOL_WAIT)
        on_spooled(ex, conv, result);
}
