// SPDX-License-Identifier: Apache-2.0
// cors -- see cors.h. A browser's first question (preflight) carries no password, so it is answered
// before one is asked for.
#include "feature/cors.h"

#include "core/exchange.h"
#include "http/header.h"
#include "http/url.h"

#define ORIGINS_MAX 64
#define MAX_AGE_S   "600"

struct cors_conf {
    struct key_words origins; // none: off
    bool any;                 // "*"
    bool credentials;
};

// "https://name", "https://*.name", with a port perhaps, as browsers write it: never the usual one.
static bool is_origin(struct str text, struct arena *a)
{
    struct str rest = text;
    struct url_host host;
    bool is_tls = str_starts(rest, STR("https://"));
    if (is_tls)
        rest = str_skip(rest, sizeof "https://" - 1);
    else if (str_starts(rest, STR("http://")))
        rest = str_skip(rest, sizeof "http://" - 1);
    else
        return false;
    if (str_starts(rest, STR("*.")))
        rest = str_skip(rest, 2);
    return url_host_parse(rest, a, &host) && str_starts(rest, host.name) // in lower case
           && host.port != (is_tls ? URL_HTTPS_PORT : URL_HTTP_PORT);
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct cors_conf *conf = field;
    if (!key_args_check(key, node, 1, ORIGINS_MAX, err))
        return false;
    bool is_one = node->arg_count == 1;
    conf->origins = (struct key_words){0};
    conf->any = is_one && str_eq(node->args[0], STR("*"));
    if (is_one && (conf->any || str_eq(node->args[0], STR("off"))))
        return true;
    conf->origins.items = arena_array(a, struct str, node->arg_count);
    for (size_t i = 0; i < node->arg_count; i++) {
        if (!is_origin(node->args[i], a)) {
            return tree_error(err, node->arg_pos[i],
                              "\"cors\" has \"%.*s\", an origin as browsers write it, such as "
                              "https://app.example or https://*.example:8443, or * alone, was "
                              "expected",
                              STR_ARG(node->args[i]));
        }
        conf->origins.items[conf->origins.count++] = arena_dup(a, node->args[i]);
    }
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct cors_conf *conf = field;
    (void)key;
    if (conf->origins.count)
        KEY_WORDS.print(key, &conf->origins, out);
    else
        buf_fmt(out, "%s", conf->any ? "*" : "off");
}

static const struct key_type TYPE = {"origins", "ORIGIN...|*|off", parse, print};

static const struct key KEYS[] = {
    {
        .name = "cors",
        .type = &TYPE,
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "Lets scripts of pages from these origins read the answers: adds "
                "Access-Control-Allow-Origin and answers the questions that browsers ask first "
                "(OPTIONS), for all methods and the headers they ask for. * stands for all "
                "origins. Requests of others are answered as before; their browsers keep the "
                "answer from the script.",
        .example = "https://app.example https://*.partner.example",
    },
    {
        .name = "cors_credentials",
        .type = &KEY_FLAG,
        .offset = offsetof(struct cors_conf, credentials),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "Lets those scripts send cookies and passwords too. Not together with cors *.",
        .example = "on",
    },
};

static bool check(void *arg, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    const struct cors_conf *conf = arg;
    (void)scope;
    (void)a;
    if (conf->any && conf->credentials) {
        return tree_error(err, pos,
                          "cors_credentials would let scripts of all sites act for a "
                          "user, a list of origins in cors was expected");
    }
    return true;
}

static bool fits(struct str pattern, struct str origin)
{
    size_t star = str_find(pattern, '*');
    if (star == pattern.len)
        return str_eq(pattern, origin);
    struct str tail = str_skip(pattern, star + 1);
    if (origin.len <= star + tail.len || !str_starts(origin, str_slice(pattern, 0, star))
        || !str_ends(origin, tail))
        return false;
    struct str labels = str_slice(origin, star, origin.len - tail.len);
    for (size_t i = 0; i < labels.len; i++) {
        char c = labels.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.')
            return false;
    }
    return true;
}

static bool is_on(const struct cors_conf *conf)
{
    return conf->any || conf->origins.count > 0;
}

// {NULL, 0}: a script of this origin may not read.
static struct str allowed(const struct cors_conf *conf, struct str origin)
{
    if (conf->any)
        return STR("*");
    for (size_t i = 0; i < conf->origins.count; i++)
        if (fits(conf->origins.items[i], origin))
            return origin;
    return (struct str){0};
}

static bool is_name_list(struct str value)
{
    struct str name;
    while (header_next_member(&value, &name))
        if (!header_is_token(name))
            return false;
    return true;
}

static enum phase_result access(struct exchange *ex)
{
    const struct cors_conf *conf = module_conf(ex, &cors_module);
    if (!is_on(conf) || ex->req.method != HTTP_OPTIONS)
        return PHASE_NEXT;
    const struct header_list *asked = &ex->req.headers;
    struct str origin = header_list_value(asked, HEADER_ORIGIN);
    if (!origin.len || !header_list_find(asked, STR("Access-Control-Request-Method"))
        || !allowed(conf, origin).len)
        return PHASE_NEXT;
    struct header_list *headers = &ex->resp.headers;
    header_list_add(headers, STR("Access-Control-Allow-Methods"),
                    STR("GET, HEAD, POST, PUT, PATCH, DELETE"));
    const struct header *names = header_list_find(asked, STR("Access-Control-Request-Headers"));
    if (names && is_name_list(names->value))
        header_list_add(headers, STR("Access-Control-Allow-Headers"), names->value);
    header_list_add(headers, STR("Access-Control-Max-Age"), STR(MAX_AGE_S));
    ex->resp.status = 204;
    exchange_respond(ex);
    return PHASE_DONE;
}

static void respond(struct exchange *ex)
{
    const struct cors_conf *conf = module_conf(ex, &cors_module);
    if (!is_on(conf))
        return;
    struct header_list *headers = &ex->resp.headers;
    // What is kept for one origin must not be given to another.
    if (!conf->any && !header_has_token(header_list_joined(headers, HEADER_VARY), STR("Origin")))
        header_list_add_id(headers, HEADER_VARY, STR("Origin"));
    struct str origin = header_list_value(&ex->req.headers, HEADER_ORIGIN);
    struct str to = origin.len ? allowed(conf, origin) : (struct str){0};
    if (!to.len)
        return;
    header_list_set(headers, STR("Access-Control-Allow-Origin"), to);
    if (conf->credentials)
        header_list_set(headers, STR("Access-Control-Allow-Credentials"), STR("true"));
}

static bool is_idle(const void *arg)
{
    const struct cors_conf *conf = arg;
    return !is_on(conf);
}

struct module cors_module = {
    .name = "cors",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct cors_conf),
    .idle = is_idle,
    .check = check,
    .hooks = {[PHASE_ACCESS] = access},
    .respond = respond,
};
