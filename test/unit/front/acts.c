// SPDX-License-Identifier: Apache-2.0
// acts -- see acts.h.
#include "acts.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "core/spool.h"
#include "os/fd.h"

// A source that plays a script: '1' and '2' are pieces, 'w' waits once, '!' fails, the end ends.
struct script_body {
    struct body body;
    const char *script;
};

struct acts acts;

static enum body_result pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct script_body *s = CONTAINER_OF(body, struct script_body, body);
    (void)max_bytes;
    switch (*s->script) {
    case '1':
    case '2':
        *out = (struct body_chunk){.bytes = *s->script == '1' ? STR("one") : STR("two"),
                                   .file = FD_NONE};
        s->script++;
        return BODY_DATA;
    case 'w':
        return BODY_WAIT;
    case '!':
        return BODY_FAIL;
    default:
        return BODY_END;
    }
}

static void close_script(struct body *body)
{
    (void)body;
    acts.sources_closed++;
}

static const struct body_ops SCRIPT_OPS = {pull, close_script};

static struct body *script(struct exchange *ex, const char *text)
{
    struct script_body *s = arena_new(&ex->arena, struct script_body);
    *s = (struct script_body){{.ops = &SCRIPT_OPS, .length = -1}, text};
    return &s->body;
}

static void answer(struct exchange *ex, struct body *body)
{
    ex->resp.status = 200;
    ex->resp.body = body;
    exchange_respond(ex);
}

static void answer_spooled(struct exchange *ex, struct spool *spool, enum spool_result result)
{
    if (result == SPOOL_DONE)
        answer(ex, spool_body(spool));
    else
        spool_refuse(ex, spool, result);
}

static void on_spooled(struct exchange *ex, void *arg, enum spool_result result)
{
    (void)arg;
    answer_spooled(ex, ex->handler_data, result);
}

static void on_abort(struct exchange *ex)
{
    acts.aborted++;
    if (acts.waiting == ex)
        acts.waiting = NULL;
    else if (ex->handler_data)
        spool_stop(ex->handler_data);
}

static void echo(struct exchange *ex)
{
    struct spool *spool;
    enum spool_result result = spool_start(ex, (struct spool_share){0}, on_spooled, NULL, &spool);
    ex->handler_data = spool;
    if (result != SPOOL_WAIT)
        answer_spooled(ex, spool, result);
}

static struct body *big(struct exchange *ex)
{
    char *bytes = arena_alloc(&ex->arena, ACTS_BIG_BYTES);
    memset(bytes, 'b', ACTS_BIG_BYTES);
    return body_text(&ex->arena, str_n(bytes, ACTS_BIG_BYTES));
}

static enum phase_result handle(struct exchange *ex)
{
    struct str path = ex->req.path;
    ex->on_abort = on_abort;
    if (str_eq(path, STR("/text")) || str_eq(path, STR("/unread"))) {
        answer(ex, body_text(&ex->arena, STR("hello\n")));
    } else if (str_eq(path, STR("/all"))) {
        answer(ex, script(ex, "12"));
    } else if (str_eq(path, STR("/stream"))) {
        acts.waiting = ex;
        answer(ex, script(ex, "1w2"));
    } else if (str_eq(path, STR("/fail"))) {
        answer(ex, script(ex, "1w!"));
        acts.waiting = ex;
    } else if (str_eq(path, STR("/nothing"))) {
        answer(ex, script(ex, "!"));
    } else if (str_eq(path, STR("/echo"))) {
        echo(ex);
    } else if (str_eq(path, STR("/big"))) {
        answer(ex, big(ex));
    } else if (str_eq(path, STR("/bad"))) {
        header_list_add(&ex->resp.headers, STR("X-Bad"), STR("a\r\nSet-Cookie: b"));
        answer(ex, body_text(&ex->arena, STR("hello\n")));
    } else if (str_eq(path, STR("/close"))) {
        ex->resp.close = true;
        answer(ex, body_text(&ex->arena, STR("bye\n")));
    } else if (str_eq(path, STR("/empty"))) {
        ex->resp.status = 204;
        exchange_respond(ex);
    } else if (str_eq(path, STR("/wait"))) {
        acts.waiting = ex;
    } else {
        return PHASE_NEXT;
    }
    return PHASE_DONE;
}

static void on_log(struct exchange *ex)
{
    acts.ended++;
    acts.facts = ex->facts;
    if (acts.waiting == ex)
        acts.waiting = NULL;
}

void acts_answer(void)
{
    struct exchange *ex = acts.waiting;
    acts.waiting = NULL;
    answer(ex, body_text(&ex->arena, STR("late\n")));
}

void acts_go_on(void)
{
    struct body *body = acts.waiting->resp.body;
    CONTAINER_OF(body, struct script_body, body)->script++;
    body_more(body);
}

struct module acts_module = {
    .name = "acts",
    .hooks = {[PHASE_HANDLE] = handle},
    .log = on_log,
};
