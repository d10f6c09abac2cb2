// SPDX-License-Identifier: Apache-2.0
// pool_request -- see pool_request.h.
#include "app/pool_request.h"

#include <stdio.h>
#include <string.h>

#include "app/pool_state.h"
#include "app/pool_worker.h"
#include "core/snapshot.h"
#include "log/log.h"

// Appends what has room; returns the new length.
static size_t keep(char *room, size_t len, size_t size, struct str text)
{
    size_t count = text.len < size - len ? text.len : size - len;
    if (count)
        memcpy(room + len, text.ptr, count);
    return len + count;
}

void pool_request_note(struct pool_request *request, const struct exchange *ex)
{
    const struct target *t = &ex->target;
    bool is_script = t->kind == TARGET_FILE || t->kind == TARGET_SCRIPT;
    struct str site = ex->site ? ex->site->name : STR("");
    struct pool_request *r = request;
    memcpy(r->id, ex->id, sizeof r->id);
    r->site_len = (uint8_t)keep(r->site, 0, sizeof r->site, site);
    size_t len = keep(r->what, 0, sizeof r->what, ex->req.method_text);
    len = keep(r->what, len, sizeof r->what, STR(" "));
    r->what_len = (uint16_t)keep(r->what, len, sizeof r->what, ex->req.target);
    r->script_len = (uint16_t)keep(r->script, 0, sizeof r->script, is_script ? t->file : STR(""));
}

const char *pool_request_text(const struct pool_request *request,
                              char room[static POOL_REQUEST_TEXT_BYTES])
{
    char what[4 * POOL_REQUEST_WHAT_BYTES + 8];
    char script[4 * POOL_REQUEST_SCRIPT_BYTES + 8];
    (void)snprintf(room, POOL_REQUEST_TEXT_BYTES, "%s (site %.*s): %s%s%s", request->id,
                   (int)request->site_len, request->site,
                   log_quote(str_n(request->what, request->what_len), what, sizeof what),
                   request->script_len ? ", script " : "",
                   request->script_len ? log_quote(str_n(request->script, request->script_len),
                                                   script, sizeof script)
                                       : "");
    return room;
}

static bool takes_no_other(const struct pool_worker *w)
{
    bool leaves = w->state == POOL_WORKER_DETACHED && !w->comes_back;
    return w->has_request && (leaves || w->state == POOL_WORKER_RETIRING);
}

static bool is_meant(const struct pool_worker *w, uint32_t worker_id, struct str id)
{
    if (worker_id && w->slot.worker_id != worker_id)
        return false;
    if (id.len)
        return str_eq(id, str_c(w->request.id));
    return worker_id && takes_no_other(w);
}

bool pool_request_find(struct str app, uint32_t worker_id, struct str id, struct pool_request *out,
                       int32_t *out_pid)
{
    bool found = false;
    struct list none;
    list_init(&none);
    pool_state_lock();
    struct pool *p = map_find(&pool_state.by_name, app);
    list_foreach(p ? &p->workers : &none, struct pool_worker, node, w) {
        if (found || !is_meant(w, worker_id, id))
            continue;
        *out = w->request;
        *out_pid = w->slot.worker_pid;
        found = true;
    }
    pool_state_unlock();
    return found;
}
