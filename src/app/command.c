// SPDX-License-Identifier: Apache-2.0
// command -- see command.h.
#include "app/command.h"

#include "app/pool.h"
#include "backend/lsapi_backend.h"
#include "core/site_conf.h"
#include "core/target.h"

enum phase_result command_handle(struct exchange *ex, const struct app_conf *app)
{
    switch (target_need(ex)) {
    case TARGET_FILE:
    case TARGET_SCRIPT:
    case TARGET_DENIED:
        return PHASE_NEXT;
    case TARGET_UNKNOWN:
    case TARGET_NONE:
    case TARGET_DIR:
        break;
    }
    // The program is mounted at the path it was given in: that is its SCRIPT_NAME.
    struct str mount = app->mount;
    struct str root = site_conf_root(ex, site_conf(ex));
    struct cgi_env_script script = {
        .document_root = root.len ? root : app->directory,
        .file = app->command.items[0],
        .name = mount,
        .path_info = str_skip(ex->req.path, mount.len),
    };
    struct lsapi_backend_conf conf = {
        .endpoint = pool_endpoint(app->pool),
        .request_ms = app->request_ms,
        .abort = (enum lsapi_backend_abort)app->abort,
        .response_buffer_bytes = (size_t)app->response_buffer_bytes,
        .response_spool_bytes = app->response_spool_bytes,
        .spool_share = {pool_spool(app->pool), app->spool_quota_bytes},
        .stream_request = app->stream_request,
    };
    lsapi_backend_serve(ex, &conf, &script);
    return PHASE_DONE;
}
