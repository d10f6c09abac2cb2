// SPDX-License-Identifier: Apache-2.0
// maintenance -- see maintenance.h. The page is that of error_page for 503.
#include "feature/maintenance.h"

#include "core/exchange.h"
#include "core/target.h"
#include "core/target_cache.h"
#include "http/header.h"

struct maintenance_conf {
    struct str file; // empty: off
    int64_t retry_ms;
};

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    if (node->arg_count == 1 && !node->has_block && str_eq(node->args[0], STR("off"))) {
        *(struct str *)field = (struct str){0};
        return true;
    }
    return KEY_FILE.parse(key, node, a, field, err);
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct str *file = field;
    (void)key;
    tree_quote(file->len ? *file : STR("off"), out);
}

static const struct key_type TYPE = {"path", "FILE|off", parse, print};

static const struct key KEYS[] = {
    {
        .name = "maintenance",
        .type = &TYPE,
        .offset = offsetof(struct maintenance_conf, file),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "While FILE is there, all requests are answered with 503, Retry-After and the page "
                "that error_page names for 503. Making and removing it needs no reload; it counts "
                "after file_check at the latest. If the server may not look for it, that counts as "
                "if it were there.",
        .example = "/srv/shop/maintenance",
    },
    {
        .name = "maintenance_retry",
        .type = &KEY_TIME,
        .offset = offsetof(struct maintenance_conf, retry_ms),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "60s",
        .min = 1000,
        .max = (int64_t)30 * 86400 * 1000,
        .unit = "ms",
        .help = "When clients are told to come back during maintenance (Retry-After).",
        .example = "10m",
    },
};

static enum phase_result access(struct exchange *ex)
{
    const struct maintenance_conf *conf = module_conf(ex, &maintenance_module);
    if (!conf->file.len)
        return PHASE_NEXT;
    struct target_look look = target_cache_look(ex->thread, conf->file, conf->file.len,
                                                LOOK_LINKS_FOLLOW, target_check_us(ex));
    if (look.seen == TARGET_SEEN_NOTHING)
        return PHASE_NEXT;
    header_list_set_id(&ex->resp.headers, HEADER_RETRY_AFTER,
                       arena_fmt(&ex->arena, "%lld", (long long)conf->retry_ms / 1000));
    exchange_refuse(ex, 503, NULL, "Maintenance: %s (maintenance) %s.", conf->file.ptr,
                    look.seen == TARGET_SEEN_FORBIDDEN ? "may not be looked for by the server"
                                                       : "is there");
    return PHASE_DONE;
}

static bool is_idle(const void *arg)
{
    const struct maintenance_conf *conf = arg;
    return !conf->file.len;
}

struct module maintenance_module = {
    .name = "maintenance",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct maintenance_conf),
    .idle = is_idle,
    .hooks = {[PHASE_ACCESS] = access},
};
