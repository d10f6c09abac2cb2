// SPDX-License-Identifier: Apache-2.0
// api -- see api.h.
#include "admin/api.h"

#include <jansson.h>
#include <string.h>

#include "admin/api_json.h"
#include "app/pool_restart.h"
#include "base/assert.h"
#include "base/list.h"
#include "http/url.h"

#define BODY_BYTES_MAX (16 * 1024 * 1024) // of an answer

// An exchange that waits for the keeper.
struct wait {
    struct list_node node;
    struct exchange *exchange;
    uint32_t id;
    enum api_command command;
    struct str app; // to be restarted
};

static struct api_host host;
static struct list waits;
static uint32_t next_id;

static void answer_text(struct exchange *ex, int status, struct str type, struct str body)
{
    ex->resp.status = status;
    header_list_add_id(&ex->resp.headers, HEADER_CONTENT_TYPE, type);
    header_list_add_id(&ex->resp.headers, HEADER_CACHE_CONTROL, STR("no-store"));
    ex->resp.body = body_text(&ex->arena, body);
    exchange_respond(ex);
}

static int put_json(const char *bytes, size_t len, void *arg)
{
    return buf_put(arg, str_n(bytes, len)) ? 0 : -1;
}

// Takes `root` over.
static void answer_json(struct exchange *ex, int status, json_t *root)
{
    struct buf text = {.ceiling_bytes = BODY_BYTES_MAX};
    bool fits = json_dump_callback(root, put_json, &text, JSON_COMPACT) == 0;
    json_decref(root);
    if (fits && arena_room(&ex->arena, buf_len(&text) + 1))
        answer_text(ex, status, STR("application/json"), arena_dup(&ex->arena, buf_view(&text)));
    else
        exchange_refuse(ex, 500, NULL, "The answer is too large.");
    buf_done(&text);
}

static json_t *error_list(struct str lines)
{
    json_t *errors = json_array();
    while (lines.ptr) {
        struct str line = str_cut(&lines, '\n');
        json_t *text = line.len ? json_stringn(line.ptr, line.len) : NULL;
        if (line.len)
            json_array_append_new(errors, text ? text : json_string("(not readable as UTF-8)"));
    }
    json_t *root = json_object();
    json_object_set_new(root, "errors", errors);
    return root;
}

static void refuse(struct exchange *ex, int status, const char *why)
{
    answer_json(ex, status, error_list(str_c(why)));
}

static void get_status(struct exchange *ex)
{
    answer_json(ex, 200, api_json_status(&host, &ex->arena));
}

static void get_apps(struct exchange *ex)
{
    answer_json(ex, 200, api_json_apps(&ex->arena));
}

static void get_metrics(struct exchange *ex)
{
    struct buf text = {0};
    api_json_metrics(&host, &text);
    answer_text(ex, 200, STR("text/plain; version=0.0.4"), arena_dup(&ex->arena, buf_view(&text)));
    buf_done(&text);
}

static void on_abort(struct exchange *ex)
{
    struct wait *w = ex->handler_data;
    list_remove(&w->node);
}

static struct wait *begin_wait(struct exchange *ex, enum api_command command)
{
    struct wait *w = arena_new(&ex->arena, struct wait);
    w->exchange = ex;
    w->id = ++next_id ? next_id : ++next_id; // 0 is nobody
    w->command = command;
    list_push_back(&waits, &w->node);
    ex->handler_data = w;
    ex->on_abort = on_abort;
    return w;
}

static void ask(struct exchange *ex, enum api_command command)
{
    host.ask(host.arg, command, begin_wait(ex, command)->id);
}

static void post_reload(struct exchange *ex)
{
    ask(ex, API_RELOAD);
}

static void post_stop(struct exchange *ex)
{
    if (str_eq(ex->req.query, STR("now=1")))
        ask(ex, API_STOP_NOW);
    else if (!ex->req.query.len || str_eq(ex->req.query, STR("now=0")))
        ask(ex, API_STOP);
    else
        refuse(ex, 400, "now=0 or now=1 was expected");
}

static void post_restart(struct exchange *ex)
{
    struct str app;
    if (!str_starts(ex->req.query, STR("app="))
        || !url_decode(str_skip(ex->req.query, STR("app=").len), &ex->arena, &app)) {
        refuse(ex, 400, "app=NAME was expected");
        return;
    }
    switch (pool_restart(app)) {
    case POOL_RESTART_UNKNOWN:
        refuse(ex, 404, "there is no such app; `godwit apps`, or /api/apps, lists them");
        break;
    case POOL_RESTART_BEGUN:
        begin_wait(ex, API_RESTART)->app = app;
        break;
    }
}

static void post_reopen_logs(struct exchange *ex)
{
    ask(ex, API_REOPEN_LOGS);
}

static const struct route {
    struct str path;
    enum http_method method;
    void (*answer)(struct exchange *ex);
} ROUTES[] = {
    {STR_INIT("/api/status"), HTTP_GET, get_status},
    {STR_INIT("/api/apps"), HTTP_GET, get_apps},
    {STR_INIT("/api/metrics"), HTTP_GET, get_metrics},
    {STR_INIT("/api/reload"), HTTP_POST, post_reload},
    {STR_INIT("/api/stop"), HTTP_POST, post_stop},
    {STR_INIT("/api/restart"), HTTP_POST, post_restart},
    {STR_INIT("/api/reopen-logs"), HTTP_POST, post_reopen_logs},
};

static void handle(struct exchange *ex)
{
    for (size_t i = 0; i < ARRAY_LEN(ROUTES); i++) {
        const struct route *r = &ROUTES[i];
        if (!str_eq(ex->req.path, r->path))
            continue;
        bool fits =
            ex->req.method == r->method || (ex->req.method == HTTP_HEAD && r->method == HTTP_GET);
        if (fits) {
            r->answer(ex);
        } else {
            header_list_add_id(&ex->resp.headers, HEADER_ALLOW, method_name(r->method));
            refuse(ex, 405, "this method is not served here");
        }
        return;
    }
    refuse(ex, 404, "there is no such resource; see /api/status and /api/apps");
}

void api_open(const struct api_host *given)
{
    host = *given;
    list_init(&waits);
    exchange_set_control(handle);
}

static void finish(struct wait *w, int32_t status, struct str text)
{
    struct exchange *ex = w->exchange;
    bool stops = w->command == API_STOP || w->command == API_STOP_NOW;
    ex->on_abort = NULL;
    if (status != 0) {
        answer_json(ex, 422, error_list(text));
        return;
    }
    json_t *root = json_object();
    json_object_set_new(root, "done", json_boolean(!stops));
    if (text.len && w->command == API_RELOAD)
        json_object_set_new(root, "warnings", json_pack("[s%]", text.ptr, text.len));
    answer_json(ex, stops ? 202 : 200, root);
}

void api_answer(uint32_t id, int32_t status, struct str text)
{
    list_foreach(&waits, struct wait, node, w) {
        if (w->id != id)
            continue;
        list_remove(&w->node);
        finish(w, status, text);
        return;
    }
}

void api_restarted(struct str app, bool ok, struct str text)
{
    list_foreach(&waits, struct wait, node, w) {
        if (w->command != API_RESTART || !str_eq(w->app, app))
            continue;
        list_remove(&w->node);
        finish(w, !ok, text);
    }
}

void api_close(void)
{
    exchange_set_control(NULL);
    host = (struct api_host){0};
}
