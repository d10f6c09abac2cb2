// SPDX-License-Identifier: Apache-2.0
// expires -- see expires.h.
#include "feature/expires.h"

#include "core/exchange.h"
#include "http/date.h"
#include "http/header.h"

#define OFF (-1)

struct expires_conf {
    int64_t keep_ms; // OFF: nothing is said
};

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    if (node->arg_count == 1 && !node->has_block && str_eq(node->args[0], STR("off"))) {
        *(int64_t *)field = OFF;
        return true;
    }
    return KEY_TIME.parse(key, node, a, field, err);
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    if (*(const int64_t *)field == OFF)
        buf_fmt(out, "off");
    else
        KEY_TIME.print(key, field, out);
}

static const struct key_type TYPE = {"time in seconds or with ms, s, m, h, d, or off", "TIME|off",
                                     parse, print};

static const struct key KEYS[] = {
    {
        .name = "expires",
        .type = &TYPE,
        .offset = offsetof(struct expires_conf, keep_ms),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .min = 0,
        .max = (int64_t)3650 * 86400 * 1000,
        .unit = "ms",
        .help = "How long clients and caches may use an answer without asking again: sets "
                "Cache-Control and Expires in good answers to GET and HEAD that have neither. 0 "
                "has them ask each time.",
        .example = "30d",
    },
};

static bool is_kept(const struct exchange *ex)
{
    int status = ex->resp.status;
    if (ex->req.method != HTTP_GET && ex->req.method != HTTP_HEAD)
        return false;
    return status == 200 || status == 206 || status == 304;
}

static void respond(struct exchange *ex)
{
    const struct expires_conf *conf = module_conf(ex, &expires_module);
    struct header_list *headers = &ex->resp.headers;
    if (conf->keep_ms == OFF || !is_kept(ex) || header_list_find_id(headers, HEADER_CACHE_CONTROL)
        || header_list_find_id(headers, HEADER_EXPIRES))
        return;
    char *room = arena_alloc(&ex->arena, DATE_BYTES + 1);
    int64_t keep_s = conf->keep_ms / 1000;
    int64_t now_s = loop_wall_us(ex->thread->loop) / 1000000;
    header_list_add_id(headers, HEADER_CACHE_CONTROL,
                       arena_fmt(&ex->arena, "max-age=%lld", (long long)keep_s));
    header_list_add_id(headers, HEADER_EXPIRES, date_format(now_s + keep_s, room));
}

static bool is_idle(const void *arg)
{
    const struct expires_conf *conf = arg;
    return conf->keep_ms == OFF;
}

struct module expires_module = {
    .name = "expires",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct expires_conf),
    .idle = is_idle,
    .respond = respond,
};
