// SPDX-License-Identifier: Apache-2.0
// app_conf -- the directive `app`: which application serves a site or a path, and with which
// limits. Gives the keeper its table of apps, the pools their settings, and requests to their
// handler.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/key.h"
#include "core/module.h"
#include "core/snapshot.h"
#include "keeper/plan.h"
#include "wire/lsapi.h"

struct exchange;
struct pool;

extern struct module app_conf_module;

enum app_conf_type { APP_CONF_PHP, APP_CONF_LSAPI };

// One app. What the directives of its block say, then what follows from them.
struct app_conf {
    struct key_words user; // empty, or NAME, or NAME GROUP
    struct key_range workers;
    struct str directory; // empty: "/"
    struct key_words command;
    struct str version;             // of PHP; empty: any
    const struct key_words *search; // directories of php_search
    struct key_pairs env, ini, admin_ini;
    int64_t request_ms, start_ms, stop_ms, idle_ms, detached_ms;
    int64_t requests_max, memory_max_bytes, queue_max, queue_ms;
    int abort; // enum lsapi_backend_abort
    struct key_words extensions;
    int64_t response_buffer_bytes, response_spool_bytes, spool_quota_bytes;
    int64_t busy_max; // as in struct pool_settings
    bool stream_request;
    bool keep_children;

    enum app_conf_type type;
    struct lsapi_pair *special; // admin_ini as it is sent with each request
    size_t special_count;
    struct str name; // NUL-terminated behind
    struct str
        mount; // URL prefix of the path it was given in, without final slash; empty in a site
    const struct site *site; // whose block it stands in; NULL: at top level
    struct tree_pos pos;
    struct pool *pool; // in the server, from the snapshot's start on
};

// app_conf returns the app of the exchange's path, NULL when there is none.
const struct app_conf *app_conf(const struct exchange *ex);

// app_conf_list names the snapshot's apps (those without a name of their own: their site, or site
// and path, or at top level their type) and returns them in the order of the file; *out_count of
// them. False: two have the same name, reported. Before the snapshot is used.
MUST_USE bool app_conf_list(const struct snapshot *s, struct arena *a, struct app_conf ***out_apps,
                            size_t *out_count, struct err *err);

// app_conf_commit puts the snapshot's settings in force in the pools. Control thread, right before
// snapshot_commit: no request may meet an app whose pool does not know it yet.
void app_conf_commit(struct snapshot *s);

// app_conf_digest hashes everything that a running worker depends on.
uint64_t app_conf_digest(const struct app_conf *app);

// app_conf_plan makes the keeper's table: programs, environments, users. Looks users and files up:
// in the loader. All errors are reported; false if any.
//
// The user, when root starts the instance: `user`, else the owner of the site's root, else (root's
// own files, and apps at top level) the user of the server. Never root.
MUST_USE bool app_conf_plan(const struct snapshot *s, struct arena *a, struct plan_app **out_apps,
                            size_t *out_count, struct err *err);
