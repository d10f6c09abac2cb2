// SPDX-License-Identifier: Apache-2.0
// lsapi_conv -- see lsapi_conv.h.
#include "backend/lsapi_conv.h"

#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "os/fd.h"

#define SPARES_MAX 32 // for a thread

// Those that are over, for the next ones; attached to a thread under this file's address.
struct spares {
    struct list list;
    unsigned count;
};

// A conversation with its parser behind it; only the node when it is spare.
union room {
    struct list_node node;
    struct lsapi_conv conv;
};

static const char SPARES_OWNER;

static void empty_spares(void *data)
{
    struct spares *spares = data;
    struct list_node *node;
    while ((node = list_pop_front(&spares->list)) != NULL)
        mem_free(CONTAINER_OF(node, union room, node));
    spares->count = 0;
}

static void free_spares(void *data)
{
    empty_spares(data);
    mem_free(data);
}

static struct spares *spares_of(struct thread *t)
{
    struct spares *spares = thread_attached(t, &SPARES_OWNER);
    if (!spares) {
        spares = mem_new(struct spares);
        list_init(&spares->list);
        thread_attach(t, &SPARES_OWNER, spares, free_spares);
        thread_on_rest(t, &SPARES_OWNER, empty_spares);
    }
    return spares;
}

struct lsapi_conv *lsapi_conv_new(struct thread *t)
{
    struct spares *spares = spares_of(t);
    struct list_node *node = list_pop_front(&spares->list);
    union room *room;
    if (node) {
        spares->count--;
        room = CONTAINER_OF(node, union room, node);
    } else {
        room = mem_alloc(sizeof *room + lsapi_resp_size());
    }
    room->conv = (struct lsapi_conv){
        .magic = LSAPI_CONV_MAGIC,
        .state = LSAPI_CONV_SPOOLING,
        .thread = t,
        .chunk = {.file = FD_NONE},
        .head = {.length = -1},
        .parser = (void *)(room + 1),
    };
    memset(room + 1, 0, lsapi_resp_size()); // what it has learnt of another worker
    lsapi_resp_reset(room->conv.parser, &room->conv.hold);
    lsapi_answer_init(&room->conv.answer, t);
    return &room->conv;
}

struct str lsapi_conv_site(const struct exchange *ex)
{
    return ex->site ? ex->site->name : STR("-");
}

void lsapi_conv_free(struct lsapi_conv *conv)
{
    // Some end with the thread, when nothing is kept any more.
    struct spares *spares = thread_attached(conv->thread, &SPARES_OWNER);
    lsapi_answer_done(&conv->answer);
    buf_done(&conv->unsent);
    buf_done(&conv->hold);
    buf_done(&conv->line);
    conv->magic = 0;
    union room *room = CONTAINER_OF(conv, union room, conv);
    if (!spares || spares->count == SPARES_MAX) {
        mem_free(room);
        return;
    }
    room->node = (struct list_node){0};
    spares->count++;
    list_push_front(&spares->list, &room->node);
}
