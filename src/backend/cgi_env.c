// SPDX-License-Identifier: Apache-2.0
// cgi_env -- see cgi_env.h.
#include "backend/cgi_env.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/wr.h"
#include "http/escape.h"
#include "http/url.h"

#define VARS_MAX    29 // pairs that the server itself sets
#define DECIMAL_MAX 24

static void add(struct cgi_env *env, struct str name, struct str value)
{
    env->vars[env->var_count++] = (struct lsapi_pair){name, value};
}

static struct str decimal(struct arena *a, uint64_t value)
{
    struct wr w = {.ptr = arena_alloc(a, DECIMAL_MAX), .size = DECIMAL_MAX};
    wr_dec(&w, value);
    return wr_view(&w);
}

static struct str protocol_text(unsigned version)
{
    switch (version) {
    case 9:
        return STR("HTTP/0.9");
    case 10:
        return STR("HTTP/1.0");
    case 20:
        return STR("HTTP/2.0");
    case 30:
        return STR("HTTP/3.0");
    default:
        return STR("HTTP/1.1");
    }
}

static struct str joined(struct arena *a, struct str left, struct str between, struct str right)
{
    size_t size = left.len + between.len + right.len;
    struct wr w = {.ptr = arena_alloc(a, size + 1), .size = size};
    wr_bytes(&w, left);
    wr_bytes(&w, between);
    wr_bytes(&w, right);
    ASSERT(wr_ok(&w));
    return wr_view(&w);
}

// A target in absolute form ("http://host/path?q") is shown from its path on. Apache shows it
// whole; but applications take the variable for a path, and the host is in HTTP_HOST.
static struct str shown_target(struct arena *a, struct str target)
{
    if (target.len == 0 || target.ptr[0] == '/' || target.ptr[0] == '*')
        return target;
    static const struct str SCHEMES[] = {STR_INIT("http://"), STR_INIT("https://")};
    for (size_t i = 0; i < ARRAY_LEN(SCHEMES); i++) {
        if (!str_starts_nocase(target, SCHEMES[i]))
            continue;
        struct str rest = str_skip(target, SCHEMES[i].len);
        size_t slash = str_find(rest, '/');
        size_t mark = str_find(rest, '?');
        if (mark < slash) // "http://host?q"
            return joined(a, STR("/"), STR(""), str_skip(rest, mark));
        return slash < rest.len ? str_skip(rest, slash) : STR("/");
    }
    return target;
}

// What was refused because it cannot be read in one way only is not for an app to read: the script
// that explains it sees its own path.
static struct str request_uri(struct exchange *ex)
{
    if (!exchange_is_rejected(ex))
        return shown_target(&ex->arena, ex->req.target);
    struct buf path = {0};
    bool ok = escape_path(&path, ex->req.path);
    ASSERT(ok); // no ceiling
    struct str uri = arena_dup(&ex->arena, buf_view(&path));
    buf_done(&path);
    return uri;
}

// What the client has called the server; if it has not, the site's own name.
static struct str server_name(const struct exchange *ex)
{
    if (ex->req.host.len)
        return ex->req.host;
    if (ex->site && str_find(ex->site->name, '*') == ex->site->name.len
        && !str_eq(ex->site->name, STR("_")))
        return ex->site->name;
    return str_c(ex->peer->local_ip);
}

static void add_connection(struct exchange *ex, struct cgi_env *env)
{
    const struct peer *peer = ex->peer;
    unsigned port = ex->req.host_port ? ex->req.host_port : peer->local_port;
    if (!port)
        port = peer->is_tls ? URL_HTTPS_PORT : URL_HTTP_PORT;
    add(env, STR("SERVER_SOFTWARE"), STR("godwit"));
    add(env, STR("SERVER_NAME"), server_name(ex));
    add(env, STR("SERVER_ADDR"), str_c(peer->local_ip));
    add(env, STR("SERVER_PORT"), decimal(&ex->arena, port));
    add(env, STR("REMOTE_ADDR"), str_c(peer->ip));
    add(env, STR("REMOTE_PORT"), decimal(&ex->arena, peer->port));
    add(env, STR("REQUEST_SCHEME"), peer->is_tls ? STR("https") : STR("http"));
    if (peer->is_tls)
        add(env, STR("HTTPS"), STR("on"));
    if (ex->facts.user.len) {
        add(env, STR("AUTH_TYPE"), STR("Basic"));
        add(env, STR("REMOTE_USER"), ex->facts.user);
    }
}

// Apache sets these after an internal redirect only; applications take them as the sign of one, and
// scripts for error pages read from them what has gone wrong and where.
static void add_origin(struct exchange *ex, struct cgi_env *env)
{
    const struct exchange_origin *origin = ex->origin;
    if (!origin)
        return;
    add(env, STR("REDIRECT_STATUS"), decimal(&ex->arena, (uint64_t)origin->status));
    add(env, STR("REDIRECT_URL"), origin->path);
    if (origin->query.len)
        add(env, STR("REDIRECT_QUERY_STRING"), origin->query);
    if (origin->status >= 400)
        add(env, STR("REDIRECT_REQUEST_METHOD"), origin->method);
}

static void add_request(struct exchange *ex, const struct cgi_env_script *script,
                        struct cgi_env *env)
{
    // First what workers look for by name in every request.
    add(env, STR("REQUEST_URI"), request_uri(ex));
    add(env, STR("SERVER_PROTOCOL"), protocol_text(ex->req.version));
    add(env, STR("DOCUMENT_ROOT"), script->document_root);
    if (script->context_root.len) {
        add(env, STR("CONTEXT_PREFIX"), script->context_prefix);
        add(env, STR("CONTEXT_DOCUMENT_ROOT"), script->context_root);
    }
    add(env, STR("SCRIPT_FILENAME"), script->file);
    add(env, STR("GATEWAY_INTERFACE"), STR("CGI/1.1"));
    add(env, STR("REQUEST_METHOD"), ex->req.method_text);
    add(env, STR("QUERY_STRING"), ex->req.query);
    add(env, STR("SCRIPT_NAME"), script->name);
    if (script->path_info.len) {
        add(env, STR("PATH_INFO"), script->path_info);
        add(env, STR("PATH_TRANSLATED"),
            joined(&ex->arena, script->document_root, STR(""), script->path_info));
    }
}

// "X-A", "X_A" and "X.A" would all become HTTP_X_A: only the first kind is unambiguous.
static bool name_is_plain(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-')
            return false;
    }
    return name.len > 0;
}

static bool passes(const struct header *h)
{
    if (header_id_is_hop_by_hop((enum header_id)h->id))
        return false;
    if (h->id == HEADER_PROXY || h->id == HEADER_PROXY_AUTHORIZATION || h->id == HEADER_EXPECT)
        return false;
    if (h->id == HEADER_CONTENT_LENGTH) // set from what was received
        return false;
    return h->id != HEADER_OTHER || name_is_plain(h->name);
}

static struct header *same_name(struct cgi_env *env, const struct header *h)
{
    for (size_t i = 0; i < env->header_count; i++) {
        struct header *have = &env->headers[i];
        if (have->id != h->id)
            continue;
        if (h->id != HEADER_OTHER || str_eq_nocase(have->name, h->name))
            return have;
    }
    return NULL;
}

static void add_headers(struct exchange *ex, int64_t body_bytes, struct cgi_env *env)
{
    const struct header_list *list = &ex->req.headers;
    env->headers = arena_array(&ex->arena, struct header, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        const struct header *h = &list->items[i];
        if (!passes(h))
            continue;
        struct header *have = same_name(env, h);
        if (have) {
            struct str between = h->id == HEADER_COOKIE ? STR("; ") : STR(", ");
            have->value = joined(&ex->arena, have->value, between, h->value);
        } else {
            env->headers[env->header_count++] = *h;
        }
    }
    // Without a body the client may have said so: 0.
    if (body_bytes < 0 && header_list_find_id(list, HEADER_CONTENT_LENGTH))
        body_bytes = 0;
    if (body_bytes >= 0) {
        env->headers[env->header_count++] =
            (struct header){.name = STR("Content-Length"),
                            .value = decimal(&ex->arena, (uint64_t)body_bytes),
                            .id = HEADER_CONTENT_LENGTH};
    }
}

void cgi_env_make(struct exchange *ex, const struct cgi_env_script *script, int64_t body_bytes,
                  struct cgi_env *out)
{
    struct cgi_env env = {0};
    env.vars = arena_array(&ex->arena, struct lsapi_pair, VARS_MAX);
    add_request(ex, script, &env);
    add_connection(ex, &env);
    add_origin(ex, &env);
    ASSERT(env.var_count <= VARS_MAX);
    add_headers(ex, body_bytes, &env);
    *out = env;
}

struct str cgi_env_find(const struct cgi_env *env, struct str name)
{
    for (size_t i = 0; i < env->var_count; i++) {
        if (str_eq(env->vars[i].name, name))
            return env->vars[i].value;
    }
    return STR("");
}
