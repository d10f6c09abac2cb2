// SPDX-License-Identifier: Apache-2.0
// redirect -- see redirect.h. Only the path that the client has asked for is looked at: one that
// the server has put in its place would lead the client in a circle.
#include "feature/redirect.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "core/conf_path.h"
#include "core/exchange.h"
#include "core/link.h"
#include "http/header.h"
#include "http/url.h"

struct rule {
    struct str from; // of a prefix: without the "*", ends with "/"
    struct str to;
    int status;
    bool is_prefix;
    struct tree_pos pos;
    size_t order; // among those of its scope
};

// Those of a scope, sorted by `from` once it is complete.
struct rules {
    struct rule *items;
    size_t count;
    const struct rules *outer; // asked when none of these fits; NULL: none
};

// The name that the site is to be asked for.
struct host {
    struct str text; // as written; empty: any
    struct url_host parts;
};

struct redirect_conf {
    struct rules own; // of the scope that is being read
    struct host host;
    bool to_https;
    // private
    const struct rules *all; // NULL: none
    bool has_own;            // begins with those of this scope
};

// Bytes that no URL holds unescaped (RFC 3986); "{host}" is one of those who think of "root".
static bool is_target(struct str to)
{
    for (size_t i = 0; i < to.len; i++)
        if ((unsigned char)to.ptr[i] <= ' ' || (unsigned char)to.ptr[i] >= 0x7f
            || strchr("\"<>\\^`{|}", to.ptr[i]))
            return false;
    if (str_starts(to, STR("/")))
        return !str_starts(to, STR("//"));
    size_t scheme_len = str_find(to, ':');
    return scheme_len > 0 && str_starts(str_skip(to, scheme_len), STR("://"))
           && to.len > scheme_len + 3;
}

// Without a slash behind the host, what follows the prefix would become a part of the name.
static bool can_be_continued(struct str to)
{
    if (str_find(to, '?') < to.len || str_find(to, '#') < to.len)
        return false;
    if (to.ptr[0] == '/')
        return true;
    struct str rest = str_skip(to, str_find(to, ':') + 3);
    return str_find(rest, '/') < rest.len;
}

static bool check_prefix(const struct tree_node *node, const struct rule *rule, struct err *err)
{
    if (!can_be_continued(rule->to)) {
        return tree_error(
            err, node->arg_pos[1],
            "what follows the prefix can't be put behind \"%.*s\", a path or URL with "
            "a \"/\" behind its host and without \"?\" was expected",
            STR_ARG(rule->to));
    }
    if (str_starts(rule->to, rule->from)) {
        return tree_error(err, node->arg_pos[1],
                          "\"redirect\" leads to where it begins, a target that does not begin "
                          "with \"%.*s\" was expected",
                          STR_ARG(rule->from));
    }
    return true;
}

static bool read_status(const struct tree_node *node, int *out)
{
    static const struct {
        struct str word;
        int status;
    } STATUSES[] = {
        {STR_INIT("301"), 301}, {STR_INIT("302"), 302}, {STR_INIT("303"), 303},
        {STR_INIT("307"), 307}, {STR_INIT("308"), 308},
    };

    for (size_t i = 0; i < ARRAY_LEN(STATUSES); i++) {
        if (str_eq(node->args[2], STATUSES[i].word)) {
            *out = STATUSES[i].status;
            return true;
        }
    }
    return false;
}

static bool read_rule(const struct tree_node *node, struct rule *rule, struct arena *a,
                      struct err *err)
{
    struct str from = node->args[0];
    if (!str_starts(from, STR("/")) || str_find(from, '?') < from.len || str_has_ctl(from)) {
        return tree_error(err, node->arg_pos[0],
                          "\"redirect\" is from \"%.*s\", a path, or a prefix and \"*\" as in "
                          "/old/*, was expected",
                          STR_ARG(from));
    }
    rule->is_prefix = str_ends(from, STR("/*"));
    rule->from = str_slice(from, 0, from.len - rule->is_prefix);
    if (!conf_path_check("redirect", rule->from, node->arg_pos[0], a, err))
        return false;
    if (str_find(rule->from, '*') < rule->from.len) {
        return tree_error(err, node->arg_pos[0],
                          "\"redirect\" is from \"%.*s\", but \"*\" stands for what follows only "
                          "as \"/*\" at the end, one path or a prefix as in /old/* was expected",
                          STR_ARG(from));
    }
    rule->pos = node->arg_pos[0];
    rule->to = node->args[1];
    rule->status = 302;
    if (!is_target(rule->to)) {
        return tree_error(err, node->arg_pos[1],
                          "\"redirect\" is to \"%.*s\", a path or a URL such as "
                          "https://www.example.org/ was expected",
                          STR_ARG(rule->to));
    }
    if (node->arg_count > 2 && !read_status(node, &rule->status)) {
        return tree_error(err, node->arg_pos[2],
                          "the status of \"redirect\" is \"%.*s\", 301, 302, 303, 307 or 308 was "
                          "expected",
                          STR_ARG(node->args[2]));
    }
    if (rule->is_prefix)
        return check_prefix(node, rule, err);
    if (str_eq(rule->from, rule->to))
        return tree_error(err, node->arg_pos[1], "\"redirect\" leads to where it begins");
    return true;
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct rules *rules = field;
    struct rule rule = {0};
    if (!key_args_check(key, node, 2, 3, err) || !read_rule(node, &rule, a, err))
        return false;
    rule.from = arena_dup(a, rule.from);
    rule.to = arena_dup(a, rule.to);
    rule.order = rules->count;
    rules->items = arena_more(a, rules->items, rules->count, sizeof rule);
    rules->items[rules->count++] = rule;
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct rules *rules = field;
    (void)key;
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        buf_fmt(out, "%s", i ? "\n" : "");
        tree_quote(rule->from, out);
        buf_fmt(out, "%s ", rule->is_prefix ? "*" : "");
        tree_quote(rule->to, out);
        buf_fmt(out, " %d", rule->status);
    }
}

static const struct key_type TYPE = {"redirect", "FROM TO [STATUS]", parse, print};

static bool parse_host(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    struct host host;
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    host.text = arena_dup(a, node->args[0]);
    if (!url_host_parse(host.text, a, &host.parts)) {
        return tree_error(err, node->arg_pos[0],
                          "\"redirect_host\" is \"%.*s\", a host name, perhaps with a port, was "
                          "expected",
                          STR_ARG(host.text));
    }
    *(struct host *)field = host;
    return true;
}

static void print_host(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    tree_quote(((const struct host *)field)->text, out);
}

static const struct key_type HOST_TYPE = {"host", "NAME", parse_host, print_host};

static const struct key KEYS[] = {
    {
        .name = "redirect",
        .type = &TYPE,
        .offset = offsetof(struct redirect_conf, own),
        .scopes = KEY_SITE | KEY_PATH,
        .help =
            "Sends the client from the path FROM to TO, a path or a whole URL. FROM is one "
            "path as decoded (\"/a b\", not /a%20b), or with * at its end all below it: then what "
            "follows is put behind TO. The "
            "query is kept unless TO has one. STATUS is 302 if it is not given; 301 and 308 "
            "are kept by browsers for long. The first rule that fits counts, those of a path "
            "before those of its site; one that another before it leaves nothing to is refused.",
        .example = "/blog/* https://blog.example/ 301",
        .repeats = true,
        .def_words = "no redirects",
    },
    {
        .name = "redirect_https",
        .type = &KEY_FLAG,
        .offset = offsetof(struct redirect_conf, to_https),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "Sends clients that have come without TLS to the same URL with https. Behind a "
                "proxy that does TLS, say who it is with trusted_proxies.",
        .example = "on",
    },
    {
        .name = "redirect_host",
        .type = &HOST_TYPE,
        .offset = offsetof(struct redirect_conf, host),
        .scopes = KEY_SITE | KEY_PATH,
        .help = "Sends clients that have asked for another of the site's names to the same URL at "
                "this one.",
        .example = "www.example.org",
        .def_words = "any name of the site",
    },
};

static int compare(const struct rule *a, const struct rule *b)
{
    size_t len = a->from.len < b->from.len ? a->from.len : b->from.len;
    int order = memcmp(a->from.ptr, b->from.ptr, len);
    if (order)
        return order;
    if (a->from.len != b->from.len)
        return a->from.len < b->from.len ? -1 : 1;
    return (int)a->is_prefix - (int)b->is_prefix;
}

static int by_from(const void *a, const void *b)
{
    const struct rule *left = a;
    const struct rule *right = b;
    int order = compare(left, right);
    return order ? order : (left->order > right->order) - (left->order < right->order);
}

// The first with this `from`; NULL: there is none.
static const struct rule *find(const struct rules *rules, struct str from, bool is_prefix)
{
    struct rule wanted = {.from = from, .is_prefix = is_prefix};
    size_t low = 0;
    size_t high = rules->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&rules->items[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_there = low < rules->count && compare(&rules->items[low], &wanted) == 0;
    return is_there ? &rules->items[low] : NULL;
}

// One before it that takes all of the rule's requests, so that it would wait for ever.
static const struct rule *find_cover(const struct rules *rules, const struct rule *rule)
{
    const struct rule *same = find(rules, rule->from, rule->is_prefix);
    if (same != rule)
        return same;
    for (size_t len = rule->from.len - rule->is_prefix; len > 0; len--) {
        if (rule->from.ptr[len - 1] != '/')
            continue;
        const struct rule *prefix = find(rules, str_slice(rule->from, 0, len), true);
        if (prefix && prefix->order < rule->order)
            return prefix;
    }
    return NULL;
}

static bool check_order(const struct rules *rules, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        const struct rule *first = find_cover(rules, rule);
        if (first) {
            ok =
                tree_error(err, rule->pos,
                           "\"redirect\" is from \"%.*s%s\", but the rule for \"%.*s%s\" before it "
                           "takes that already, another order was expected",
                           STR_ARG(rule->from), rule->is_prefix ? "*" : "", STR_ARG(first->from),
                           first->is_prefix ? "*" : "");
        }
    }
    return ok;
}

static bool check(void *arg, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    struct redirect_conf *conf = arg;
    (void)scope;
    (void)pos;
    conf->has_own = conf->own.count > 0;
    if (!conf->has_own)
        return true;
    struct rules *rules = arena_new(a, struct rules);
    *rules = conf->own;
    rules->outer = conf->all;
    qsort(rules->items, rules->count, sizeof *rules->items, by_from);
    conf->all = rules;
    conf->own = (struct rules){0};
    return check_order(rules, err);
}

// A rule of a path is asked only for what lies below it.
static bool check_path(const void *arg, struct str prefix, struct tree_pos pos, struct err *err)
{
    (void)pos; // each rule has its own
    const struct redirect_conf *conf = arg;
    bool ok = true;
    struct str inside = str_slice(prefix, 0, prefix.len - str_ends(prefix, STR("/")));
    for (size_t i = 0; conf->has_own && i < conf->all->count; i++) {
        const struct rule *rule = &conf->all->items[i];
        bool is_below = str_starts(rule->from, inside)
                        && (rule->from.len == inside.len || rule->from.ptr[inside.len] == '/');
        if (is_below || (rule->is_prefix && str_starts(inside, rule->from)))
            continue;
        ok =
            tree_error(err, rule->pos,
                       "\"redirect\" is from \"%.*s%s\", but stands in path \"%.*s\", a path below "
                       "that was expected",
                       STR_ARG(rule->from), rule->is_prefix ? "*" : "", STR_ARG(prefix));
    }
    return ok;
}

// Puts the query of the request behind a location that has none.
static void go(struct exchange *ex, int status, struct buf *location)
{
    bool ok = true;
    struct str text = buf_view(location);
    if (ex->req.has_query && str_find(text, '?') == text.len) {
        // What stands behind "#" stays at the end.
        struct str fragment = arena_dup(&ex->arena, str_skip(text, str_find(text, '#')));
        struct str before = arena_dup(&ex->arena, str_slice(text, 0, text.len - fragment.len));
        buf_take(location, text.len);
        ok = buf_put(location, before) && buf_put(location, STR("?"))
             && buf_put(location, ex->req.query) && buf_put(location, fragment);
    }
    ASSERT(ok); // no ceiling
    struct str whole = arena_dup(&ex->arena, buf_view(location));
    buf_done(location);
    exchange_redirect(ex, status, whole);
}

// The rule of one path stands before those of prefixes, and the longest of these before others:
// any other order was refused.
static const struct rule *find_fit(const struct rules *rules, struct str path)
{
    const struct rule *rule = find(rules, path, false);
    for (size_t len = path.len; !rule && len > 0; len--)
        if (path.ptr[len - 1] == '/')
            rule = find(rules, str_slice(path, 0, len), true);
    return rule;
}

static void go_by_rule(struct exchange *ex, const struct rule *rule)
{
    struct buf location = {0};
    bool ok = buf_put(&location, rule->to);
    if (rule->is_prefix)
        ok = ok && link_put_path(ex, rule->from.len, &location);
    ASSERT(ok);
    go(ex, rule->status, &location);
}

// Clients leave out the usual port also where they are sent to it.
static bool is_host(const struct exchange *ex, const struct url_host *wanted)
{
    unsigned usual_port = ex->peer->is_tls ? URL_HTTPS_PORT : URL_HTTP_PORT;
    unsigned port = ex->req.host_port ? ex->req.host_port : usual_port;
    return str_eq(wanted->name, ex->req.host)
           && (wanted->port < 0 || (unsigned)wanted->port == port);
}

// To the same path elsewhere. HTTP/1.0 clients without Host cannot be told where they are.
static bool go_canonical(struct exchange *ex, const struct redirect_conf *conf)
{
    bool wrong_host = conf->host.text.len && !is_host(ex, &conf->host.parts);
    bool wrong_scheme = conf->to_https && !ex->peer->is_tls;
    struct str host = conf->host.text.len ? conf->host.text : ex->req.host;
    if ((!wrong_host && !wrong_scheme) || !host.len)
        return false;
    struct buf location = {0};
    bool is_https = conf->to_https || ex->peer->is_tls;
    bool ok = buf_put(&location, is_https ? STR("https://") : STR("http://"))
              && buf_put(&location, host) && link_put_path(ex, 0, &location);
    ASSERT(ok);
    // 308 keeps the method; 301 is what everybody knows.
    bool is_read = ex->req.method == HTTP_GET || ex->req.method == HTTP_HEAD;
    go(ex, is_read ? 301 : 308, &location);
    return true;
}

static enum phase_result rewrite(struct exchange *ex)
{
    const struct redirect_conf *conf = module_conf(ex, &redirect_module);
    if (!conf->all && !conf->to_https && !conf->host.text.len)
        return PHASE_NEXT;
    if (exchange_is_rewritten(ex))
        return PHASE_NEXT;
    if (go_canonical(ex, conf))
        return PHASE_DONE;
    for (const struct rules *rules = conf->all; rules; rules = rules->outer) {
        const struct rule *rule = find_fit(rules, ex->req.path);
        if (rule) {
            go_by_rule(ex, rule);
            return PHASE_DONE;
        }
    }
    return PHASE_NEXT;
}

static bool is_idle(const void *arg)
{
    const struct redirect_conf *conf = arg;
    return !conf->all && !conf->to_https && !conf->host.text.len;
}

struct module redirect_module = {
    .name = "redirect",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct redirect_conf),
    .idle = is_idle,
    .check = check,
    .check_path = check_path,
    .hooks = {[PHASE_REWRITE] = rewrite},
};
