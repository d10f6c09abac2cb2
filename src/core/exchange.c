// SPDX-License-Identifier: Apache-2.0
// exchange -- see exchange.h.
//
//   exchange_new -> exchange_start -> walk: hooks, phase by phase
//        NEXT: the next hook       WAIT: exchange_resume walks on       DONE: a handler owns it
//        end of the walk: 404      exchange_rewrite: from the first phase again
//                                  exchange_narrow: from the rules of access again
//   -> exchange_respond -> module.respond, front.respond -> exchange_end -> module.log, recycled
//   exchange_abort, at any time before the end: the handler lets go -> exchange_end
#include "core/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/module.h"
#include "core/server_conf.h"
#include "http/escape.h"
#include "http/status.h"
#include "http/url.h"
#include "log/log.h"

#define EXCHANGE_MAGIC      0x45584348u
#define EXCHANGES_KEPT      32   // ended ones that a thread keeps for reuse, each with one block
#define ARENA_BLOCK_BYTES   8192 // holds an ordinary request and its answer
#define ARENA_CEILING_BYTES (16 * 1024 * 1024)
#define REWRITES_MAX        10
#define RETRY_AFTER_S       "5"

// Ended exchanges of a thread; attached to it under this file's address.
struct spares {
    struct list list;
    unsigned count;
};

static const char SPARES_OWNER;
static void (*control_handle)(struct exchange *ex);

static void empty_spares(void *data)
{
    struct spares *spares = data;
    struct list_node *node;
    while ((node = list_pop_front(&spares->list)) != NULL) {
        struct exchange *ex = CONTAINER_OF(node, struct exchange, node);
        arena_done(&ex->arena);
        mem_free(ex);
    }
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

static struct exchange *take(struct thread *t)
{
    struct spares *spares = spares_of(t);
    struct list_node *node = list_pop_front(&spares->list);
    if (!node)
        return mem_new(struct exchange);
    spares->count--;
    return CONTAINER_OF(node, struct exchange, node);
}

static void give(struct thread *t, struct exchange *ex)
{
    struct spares *spares = spares_of(t);
    if (spares->count >= EXCHANGES_KEPT) {
        arena_done(&ex->arena);
        mem_free(ex);
        return;
    }
    arena_reset(&ex->arena);
    spares->count++;
    list_push_front(&spares->list, &ex->node);
}

struct exchange *exchange_new(struct thread *t, const struct peer *peer,
                              const struct front_ops *front, void *front_data)
{
    struct exchange *ex = take(t);
    struct arena arena = ex->arena;
    *ex = (struct exchange){
        .magic = EXCHANGE_MAGIC,
        .arena = arena,
        .thread = t,
        .snapshot = snapshot_current(),
        .peer = peer,
        .front = front,
        .front_data = front_data,
    };
    ex->arena.block_bytes = ARENA_BLOCK_BYTES;
    ex->arena.ceiling_bytes = ARENA_CEILING_BYTES;
    ex->req.headers.arena = ex->resp.headers.arena = &ex->arena;
    ex->req.content_length = -1;
    ex->facts.start_us = loop_now_us(t->loop);
    ex->facts.start_wall_us = loop_wall_us(t->loop);
    thread_request_id(t, ex->id);
    list_push_back(&t->exchanges, &ex->node);
    metrics_add(&t->metrics, requests_active, 1);
    return ex;
}

STATIC_ASSERT(MODULE_MAX < 64); // bits of scope.idle

// Finds the first of the list's modules, from index `from` on, that has something to do for the
// exchange's path. NULL: none. Most have nothing, and are not even looked at.
static const struct module *next_busy(const struct exchange *ex, const struct module_list *list,
                                      size_t from)
{
    uint64_t busy = list->mask & ~ex->path->scope.idle & UINT64_MAX << from;
    return busy ? module_at((size_t)__builtin_ctzll(busy)) : NULL;
}

static void walk(struct exchange *ex)
{
    ASSERT(ex->magic == EXCHANGE_MAGIC && !ex->walking);
    ex->walking = true;
    assert_note(ex->id);
    enum phase_result result = PHASE_NEXT;
    const struct module_lists *lists = module_lists();
    while (result == PHASE_NEXT && ex->phase < PHASE_COUNT) {
        const struct module *m = next_busy(ex, &lists->hooks[ex->phase], ex->module);
        if (!m) {
            ex->module = 0;
            ex->phase++;
            continue;
        }
        ex->module = m->index + 1;
        result = m->hooks[ex->phase](ex);
        if (ex->restart) {
            ex->restart = false;
            result = PHASE_NEXT;
        }
    }
    ex->walking = false;
    if (result == PHASE_NEXT)
        exchange_refuse(ex, 404, NULL, "Nothing answers for this path.");
    assert_note(NULL);
}

// Tells whether there is a site that can answer; refuses otherwise.
static bool find_site(struct exchange *ex)
{
    if (ex->snapshot)
        ex->site = snapshot_site(ex->snapshot, ex->req.host);
    if (ex->site)
        return true;
    exchange_refuse(ex, 503, "config.no_site", "There is no site in the configuration.");
    return false;
}

void exchange_start(struct exchange *ex)
{
    metrics_add(&ex->thread->metrics, requests, 1);
    if (ex->peer->is_control) {
        ASSERT(control_handle);
        control_handle(ex);
        return;
    }
    if (!find_site(ex))
        return;
    bool for_server = ex->req.path.len == 0; // "*"
    if (for_server)
        ex->req.path = STR("/");
    ex->req.path = url_merge_slashes(&ex->arena, ex->req.path);
    ex->path = snapshot_path(ex->site, ex->req.path);
    if (ex->req.method == HTTP_TRACE || ex->req.method == HTTP_CONNECT) {
        header_list_add_id(&ex->resp.headers, HEADER_ALLOW, STR("GET, HEAD, POST, OPTIONS"));
        exchange_refuse(ex, 405, NULL, "This method is not served.");
    } else if (for_server) {
        header_list_add_id(&ex->resp.headers, HEADER_ALLOW, STR("GET, HEAD, POST, OPTIONS"));
        ex->resp.status = 204;
        exchange_respond(ex);
    } else {
        walk(ex);
    }
}

void exchange_reject(struct exchange *ex, int status, const char *reason)
{
    metrics_add(&ex->thread->metrics, requests_malformed, 1);
    if (!ex->peer->is_control && ex->snapshot)
        ex->site = snapshot_site(ex->snapshot, ex->req.host);
    if (ex->site)
        ex->path = snapshot_path(ex->site, STR("/"));
    ex->resp.close = true;
    ex->rejected_for = reason;
    exchange_refuse(ex, status, NULL, "%s", reason);
}

bool exchange_is_rejected(const struct exchange *ex)
{
    return ex->rejected_for != NULL;
}

void exchange_set_control(void (*handle)(struct exchange *ex))
{
    control_handle = handle;
}

void exchange_resume(struct exchange *ex)
{
    ASSERT(!ex->aborted && !ex->responded);
    walk(ex);
}

// The handlers' state of before is nobody's any more.
static void set_path(struct exchange *ex, struct str path, struct str query)
{
    ex->req.path = url_merge_slashes(&ex->arena, path);
    ex->req.query = query;
    ex->req.has_query = query.len > 0;
    ex->path = snapshot_path(ex->site, ex->req.path);
    ex->target = (struct target){0};
    ex->dir_path = (struct str){0};
    ex->on_abort = NULL;
    ex->handler_data = NULL;
}

static void keep_origin(struct exchange *ex, int status)
{
    struct exchange_origin *origin = arena_new(&ex->arena, struct exchange_origin);
    struct str path = ex->dir_path.len ? ex->dir_path : ex->req.path;
    *origin = (struct exchange_origin){path, ex->req.query, ex->req.method_text, status};
    ex->origin = origin;
    ex->rewrites++;
}

bool exchange_rewrite(struct exchange *ex, struct str path, struct str query)
{
    ASSERT(!ex->responded && ex->site);
    if (ex->rewrites >= REWRITES_MAX)
        return false;
    keep_origin(ex, 200);
    set_path(ex, path, query);
    ex->phase = 0;
    ex->module = 0;
    if (ex->walking) {
        ex->restart = true;
        return true;
    }
    walk(ex);
    return true;
}

bool exchange_narrow(struct exchange *ex, struct str file_path)
{
    ASSERT(ex->walking && ex->phase == PHASE_HANDLE);
    const struct path *path = snapshot_path(ex->site, file_path);
    if (path == ex->path)
        return false;
    if (!ex->dir_path.len)
        ex->dir_path = ex->req.path;
    ex->req.path = file_path;
    ex->path = path;
    ex->target = (struct target){0};
    // What explains a refusal was not asked for access in the first place.
    ex->phase = exchange_is_diverted(ex) ? PHASE_HANDLE : PHASE_ACCESS;
    ex->module = 0;
    ex->restart = true;
    return true;
}

bool exchange_is_rewritten(const struct exchange *ex)
{
    return ex->origin != NULL;
}

static void walk_diverted(struct loop_task *task)
{
    struct exchange *ex = CONTAINER_OF(task, struct exchange, divert);
    ASSERT(ex->magic == EXCHANGE_MAGIC);
    if (ex->aborted)
        return;
    set_path(ex, ex->divert_path, (struct str){0});
    ex->phase = PHASE_HANDLE;
    ex->module = 0;
    walk(ex);
}

void exchange_divert(struct exchange *ex, struct str path, int status)
{
    ASSERT(!ex->responded && ex->site);
    keep_origin(ex, status);
    ex->divert_path = path;
    ex->divert.run = walk_diverted;
    loop_later(ex->thread->loop, &ex->divert);
}

bool exchange_is_diverted(const struct exchange *ex)
{
    return ex->divert_path.ptr != NULL;
}

void *exchange_data(const struct exchange *ex, const struct module *m)
{
    return ex->module_data ? ex->module_data[m->index] : NULL;
}

void exchange_set_data(struct exchange *ex, const struct module *m, void *data)
{
    if (!ex->module_data)
        ex->module_data = arena_array(&ex->arena, void *, module_count());
    ex->module_data[m->index] = data;
}

void exchange_respond(struct exchange *ex)
{
    ASSERT(ex->magic == EXCHANGE_MAGIC);
    if (ex->aborted)
        return;
    ASSERT(!ex->responded && ex->resp.status != 0);
    ex->responded = true;
    const struct module_list *list = &module_lists()->respond;
    const struct module *m = ex->path ? next_busy(ex, list, 0) : NULL;
    for (; m; m = next_busy(ex, list, m->index + 1))
        m->respond(ex);
    ex->front->respond(ex);
}

// Takes out what an earlier, failed answer has left.
static void keep_refusal_headers(struct header_list *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        uint8_t id = l->items[i].id;
        if (id == HEADER_ALLOW || id == HEADER_CONTENT_RANGE || id == HEADER_RETRY_AFTER
            || id == HEADER_WWW_AUTHENTICATE)
            l->items[kept++] = l->items[i];
    }
    l->count = kept;
}

// Details are for the operator: the client sees them only in development mode, but for what is
// wrong with its own bytes.
static struct str page_of(struct exchange *ex, int status, struct str cause)
{
    struct str reason = status_reason(status);
    if (ex->peer->is_control)
        return arena_fmt(&ex->arena, "{\"status\":%d,\"error\":\"%.*s\",\"request_id\":\"%s\"}\n",
                         status, STR_ARG(reason), ex->id);
    struct buf text = {0};
    if (ex->rejected_for)
        cause = str_c(ex->rejected_for); // also if its page of the site has failed since
    bool is_shown = ex->rejected_for || (ex->snapshot && server_conf(ex->snapshot)->development);
    if (is_shown && !escape_html(&text, cause))
        buf_take(&text, buf_len(&text));
    struct str shown = buf_view(&text);
    struct str page =
        arena_fmt(&ex->arena,
                  "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<title>%d %.*s</title></head>\n<body><h1>%d %.*s</h1>\n%s%.*s%s"
                  "<p>Request ID: <code>%s</code></p></body></html>\n",
                  status, STR_ARG(reason), status, STR_ARG(reason), shown.len ? "<p>" : "",
                  STR_ARG(shown), shown.len ? "</p>\n" : "", ex->id);
    buf_done(&text);
    return page;
}

static void set_page(struct exchange *ex, int status, struct str cause)
{
    ex->resp.status = status;
    header_list_add_id(&ex->resp.headers, HEADER_CONTENT_TYPE,
                       ex->peer->is_control ? STR("application/json")
                                            : STR("text/html; charset=utf-8"));
    ex->resp.body = body_text(&ex->arena, page_of(ex, status, cause));
}

// Tells whether a module answers instead.
static bool is_diverted(struct exchange *ex, int *status)
{
    if (!ex->path)
        return false;
    const struct module_list *list = &module_lists()->refuse;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->refuse(ex, status))
            return true;
    return false;
}

void exchange_log(struct exchange *ex, const char *event, struct str text)
{
    char worker[32] = "";
    struct str site = ex->site ? ex->site->name : STR("-");
    struct str app = ex->facts.app;
    if (ex->facts.worker_pid)
        (void)snprintf(worker, sizeof worker, ", worker %d", (int)ex->facts.worker_pid);
    log_warn(exchange_scope(ex), event, "site %.*s%s%.*s%s: %.*s", STR_ARG(site),
             app.len ? ", app " : "", STR_ARG(app), worker, STR_ARG(text));
}

void exchange_refuse(struct exchange *ex, int status, const char *event, const char *cause, ...)
{
    if (ex->aborted)
        return;
    char room[1024];
    va_list args;
    va_start(args, cause);
    int len = vsnprintf(room, sizeof room, cause, args);
    va_end(args);
    ASSERT(len >= 0);
    struct str text = str_n(room, (size_t)len < sizeof room ? (size_t)len : sizeof room - 1);
    if (event)
        exchange_log(ex, event, text);
    if (status >= 500)
        ex->facts.cause = arena_dup(&ex->arena, text);

    body_close(ex->resp.body);
    ex->resp.body = NULL;
    ex->resp.reason = (struct str){0};
    keep_refusal_headers(&ex->resp.headers);
    if (status == 503 && !header_list_find_id(&ex->resp.headers, HEADER_RETRY_AFTER))
        header_list_add_id(&ex->resp.headers, HEADER_RETRY_AFTER, STR(RETRY_AFTER_S));
    if (is_diverted(ex, &status))
        return;
    set_page(ex, status, text);
    exchange_respond(ex);
}

void exchange_replace(struct exchange *ex, int status, const char *event, const char *cause)
{
    struct str text = str_c(cause);
    ASSERT(ex->responded);
    exchange_log(ex, event, arena_fmt(&ex->arena, "%s; the client gets %d", cause, status));
    if (!ex->facts.cause.len)
        ex->facts.cause = arena_dup(&ex->arena, text);
    body_close(ex->resp.body);
    ex->resp = (struct response){.headers = {.arena = &ex->arena}, .close = true};
    set_page(ex, status, text);
}

void exchange_redirect(struct exchange *ex, int status, struct str location)
{
    ex->resp.status = status;
    header_list_set_id(&ex->resp.headers, HEADER_LOCATION, location);
    header_list_set_id(&ex->resp.headers, HEADER_CONTENT_TYPE, STR("text/html; charset=utf-8"));
    ex->resp.body = body_text(&ex->arena, page_of(ex, status, (struct str){0}));
    exchange_respond(ex);
}

void exchange_abort(struct exchange *ex)
{
    ASSERT(ex->magic == EXCHANGE_MAGIC && !ex->aborted);
    ex->aborted = true;
    ex->facts.aborted = true;
    if (ex->on_abort)
        ex->on_abort(ex);
}

static void count(struct exchange *ex)
{
    struct metrics *m = &ex->thread->metrics;
    metrics_add(m, requests_active, -1);
    if (ex->facts.cut)
        metrics_add(m, responses_cut, 1);
    if (!ex->responded)
        return;
    switch (ex->resp.status / 100) {
    case 2:
        metrics_add(m, responses_2xx, 1);
        break;
    case 3:
        metrics_add(m, responses_3xx, 1);
        break;
    case 4:
        metrics_add(m, responses_4xx, 1);
        break;
    case 5:
        metrics_add(m, responses_5xx, 1);
        break;
    default:
        break;
    }
}

void exchange_end(struct exchange *ex)
{
    ASSERT(ex->magic == EXCHANGE_MAGIC && !ex->walking);
    struct thread *t = ex->thread;
    loop_later_cancel(&ex->divert);
    body_close(ex->resp.body);
    body_close(ex->req.body);
    count(ex);
    const struct module_list *list = &module_lists()->log;
    const struct module *m = ex->path ? next_busy(ex, list, 0) : NULL;
    for (; m; m = next_busy(ex, list, m->index + 1))
        m->log(ex);
    list_remove(&ex->node);
    ex->magic = 0;
    // What was deferred may still look at the snapshot.
    struct snapshot *snapshot = ex->snapshot;
    give(t, ex);
    if (snapshot)
        snapshot_unref(snapshot);
}

const char *exchange_scope(struct exchange *ex)
{
    (void)snprintf(ex->scope, sizeof ex->scope, "req %s", ex->id);
    return ex->scope;
}
