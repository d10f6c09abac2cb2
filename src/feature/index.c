// SPDX-License-Identifier: Apache-2.0
// index -- see index.h.
#include "feature/index.h"

#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "core/exchange.h"
#include "core/link.h"
#include "core/site_conf.h"
#include "core/target.h"

// To the same URL with a final slash, or relative links on the page would go wrong. The path has
// one slash in front, so it cannot be taken for a host.
static void redirect(struct exchange *ex)
{
    struct buf location = {0};
    bool ok = link_put_path(ex, 0, &location) && buf_put(&location, STR("/"));
    if (ok && ex->req.has_query)
        ok = buf_put(&location, STR("?")) && buf_put(&location, ex->req.query);
    ASSERT(ok); // no ceiling
    struct str text = arena_dup(&ex->arena, buf_view(&location));
    buf_done(&location);
    // 308 keeps the method; 301 is what everybody knows.
    bool is_read = ex->req.method == HTTP_GET || ex->req.method == HTTP_HEAD;
    exchange_redirect(ex, is_read ? 301 : 308, text);
}

static struct str join(struct arena *a, struct str dir, struct str name)
{
    char *text = arena_alloc(a, dir.len + name.len + 1);
    memcpy(text, dir.ptr, dir.len);
    memcpy(text + dir.len, name.ptr, name.len);
    return str_n(text, dir.len + name.len);
}

// Tells whether there is one.
static bool choose_file(struct exchange *ex)
{
    const struct site_conf *conf = site_conf(ex);
    struct str prefix = conf->in_path ? site_conf_prefix(ex->path) : (struct str){0};
    struct target dir = ex->target;
    for (size_t i = 0; i < conf->index.count; i++) {
        target_find(ex, dir.root, prefix, join(&ex->arena, dir.script_name, conf->index.items[i]));
        if (ex->target.kind == TARGET_FILE)
            return true;
    }
    ex->target = dir;
    return false;
}

static enum phase_result handle(struct exchange *ex)
{
    if (target_need(ex) != TARGET_DIR)
        return PHASE_NEXT;
    if (ex->target.slash_missing) {
        redirect(ex);
        return PHASE_DONE;
    }
    // Who may not ask for the file by its name must not get it by that of its directory.
    if (choose_file(ex) && exchange_narrow(ex, ex->target.script_name))
        return PHASE_DONE;
    return PHASE_NEXT;
}

struct module index_module = {
    .name = "index",
    .hooks = {[PHASE_HANDLE] = handle},
};
