// SPDX-License-Identifier: Apache-2.0
// lsapi_stall -- see lsapi_stall.h.
#include "backend/lsapi_stall.h"

#include "core/spool_file.h"

// How long a client may read nothing while others wait for its worker.
#define STALL_US      5000000
#define STALL_LOOK_US 500000

// Changes whenever the client takes something: of what is held here, or of what the front and the
// kernel hold.
static uint64_t unread(const struct lsapi_conv *conv)
{
    const struct exchange *ex = conv->exchange;
    uint64_t unsent = ex->front->unsent_bytes ? ex->front->unsent_bytes(ex) : 0;
    return unsent + conv->answer.held_bytes;
}

static void look_later(struct lsapi_conv *conv)
{
    loop_timer_start(conv->thread->loop, &conv->grace, STALL_LOOK_US);
}

bool lsapi_stall_watch(struct lsapi_conv *conv)
{
    if (conv->left || conv->head.is_live
        || lsapi_answer_bar(&conv->answer) == LSAPI_ANSWER_BAR_NONE)
        return false;
    conv->unread = unread(conv);
    conv->read_us = loop_now_us(conv->thread->loop);
    look_later(conv);
    return true;
}

enum lsapi_stall_result lsapi_stall_look(struct lsapi_conv *conv)
{
    lsapi_answer_try_again(&conv->answer);
    if (lsapi_answer_has_room(&conv->answer))
        return LSAPI_STALL_ROOM;
    uint64_t now_us = loop_now_us(conv->thread->loop);
    uint64_t left = unread(conv);
    if (left != conv->unread) {
        conv->unread = left;
        conv->read_us = now_us;
    }
    struct endpoint *endpoint = conv->conf.endpoint;
    if (now_us - conv->read_us >= STALL_US && endpoint->ops->is_wanted(endpoint))
        return LSAPI_STALL_CUT;
    look_later(conv);
    return LSAPI_STALL_WAIT;
}

static struct str bar_text(const struct lsapi_answer *a, struct exchange *ex)
{
    switch (lsapi_answer_bar(a)) {
    case LSAPI_ANSWER_BAR_OWN:
        return arena_fmt(&ex->arena,
                         "Of an answer %lld bytes may be in a temporary file (response_spool_max).",
                         (long long)a->file_max);
    case LSAPI_ANSWER_BAR_ROOM:
        return spool_file_room_text(&a->file, a->room, ex);
    case LSAPI_ANSWER_BAR_FAILED:
        return arena_fmt(&ex->arena, "No temporary file can be written in %s (spool_dir).",
                         a->file.dir);
    case LSAPI_ANSWER_BAR_NONE:
        break;
    }
    return STR("");
}

struct str lsapi_stall_text(const struct lsapi_conv *conv)
{
    struct exchange *ex = conv->exchange;
    return arena_fmt(&ex->arena,
                     "Worker %d of app \"%.*s\" is taken from a client that has read nothing for "
                     "%d s: other requests wait. %.*s",
                     (int)conv->slot->worker_pid, STR_ARG(conv->conf.endpoint->name),
                     STALL_US / 1000000, STR_ARG(bar_text(&conv->answer, ex)));
}
