// SPDX-License-Identifier: Apache-2.0
// php -- see php.h.
#include "app/php.h"

#include "app/php_root.h"
#include "app/pool.h"
#include "backend/lsapi_backend.h"
#include "core/site_conf.h"
#include "core/target.h"

bool php_is_script(const struct app_conf *app, struct str file_name)
{
    for (size_t i = 0; i < app->extensions.count; i++)
        if (str_ends(file_name, app->extensions.items[i]))
            return true;
    return false;
}

// The script below the root as it is called without links.
static struct str move_below(struct exchange *ex, const struct target *t, struct str root)
{
    if (root.ptr == t->root.ptr || !str_starts(t->file, t->root))
        return t->file;
    return arena_fmt(&ex->arena, "%.*s%.*s", STR_ARG(root),
                     STR_ARG(str_skip(t->file, t->root.len)));
}

enum phase_result php_handle(struct exchange *ex, const struct app_conf *app)
{
    enum target_kind kind = target_need(ex);
    if (kind != TARGET_FILE && kind != TARGET_SCRIPT)
        return PHASE_NEXT;
    const struct target *t = &ex->target;
    if (!php_is_script(app, t->file))
        return PHASE_NEXT;
    // Like Apache with an alias: the document root stays the site's.
    struct str site_root = site_conf_root(ex, site_conf_at(&ex->site->scope));
    struct str root = php_root_resolve(ex, t->root);
    struct cgi_env_script script = {
        .document_root = site_root.len ? php_root_resolve(ex, site_root) : root,
        .context_root = root,
        .context_prefix = site_conf(ex)->in_path ? site_conf_prefix(ex->path) : STR(""),
        .file = move_below(ex, t, root),
        .name = t->script_name,
        .path_info = t->path_info,
    };
    struct lsapi_backend_conf conf = {
        .endpoint = pool_endpoint(app->pool),
        .request_ms = app->request_ms,
        .abort = (enum lsapi_backend_abort)app->abort,
        .response_buffer_bytes = (size_t)app->response_buffer_bytes,
        .response_spool_bytes = app->response_spool_bytes,
        .spool_share = {pool_spool(app->pool), app->spool_quota_bytes},
        .stream_request = app->stream_request,
        .special = app->special,
        .special_count = app->special_count,
    };
    lsapi_backend_serve(ex, &conf, &script);
    return PHASE_DONE;
}
