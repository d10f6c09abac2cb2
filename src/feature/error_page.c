// SPDX-License-Identifier: Apache-2.0
// error_page -- see error_page.h. The page is answered by the site's handlers as for a GET of its
// path, without the access rules in between: who may not see a page may see that. Its status is
// that of the refusal; if there is no such page, the server's own is sent.
#include "feature/error_page.h"

#include <string.h>

#include "core/conf_path.h"
#include "core/exchange.h"
#include "http/header.h"

#define STATUS_MIN 400
#define STATUS_MAX 599

struct rule {
    int status;
    struct str path;
};

struct error_page_conf {
    struct rule *rules; // one per status
    size_t count;
};

static bool read_status(struct str text, int *out)
{
    uint64_t status;
    if (!str_to_u64(text, &status) || status < STATUS_MIN || status > STATUS_MAX)
        return false;
    *out = (int)status;
    return true;
}

// A page that is named later, or further inside, replaces one for the same status.
static void put(struct error_page_conf *conf, struct rule rule)
{
    size_t at = 0;
    while (at < conf->count && conf->rules[at].status != rule.status)
        at++;
    conf->rules[at] = rule;
    conf->count += at == conf->count;
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct error_page_conf *conf = field;
    if (!key_args_check(key, node, 2, TREE_ARGS_MAX, err))
        return false;
    size_t last = node->arg_count - 1;
    struct str path = node->args[last];
    if (!str_starts(path, STR("/")) || str_has_ctl(path) || str_find(path, '?') < path.len) {
        return tree_error(err, node->arg_pos[last],
                          "\"error_page\" is \"%.*s\", a path of the site such as /404.html was "
                          "expected",
                          STR_ARG(path));
    }
    if (!conf_path_check("error_page", path, node->arg_pos[last], a, err))
        return false;
    path = arena_dup(a, path);
    struct rule *rules = arena_array(a, struct rule, conf->count + last);
    if (conf->count)
        memcpy(rules, conf->rules, conf->count * sizeof *rules);
    struct error_page_conf more = {rules, conf->count};
    for (size_t i = 0; i < last; i++) {
        struct rule rule = {.path = path};
        if (!read_status(node->args[i], &rule.status)) {
            return tree_error(err, node->arg_pos[i],
                              "\"error_page\" is for \"%.*s\", a status from %d to %d was expected",
                              STR_ARG(node->args[i]), STATUS_MIN, STATUS_MAX);
        }
        put(&more, rule);
    }
    *conf = more;
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct error_page_conf *conf = field;
    (void)key;
    for (size_t i = 0; i < conf->count; i++) {
        buf_fmt(out, "%s%d ", i ? "\n" : "", conf->rules[i].status);
        tree_quote(conf->rules[i].path, out);
    }
}

static const struct key_type TYPE = {"error page", "STATUS... PATH", parse, print};

static const struct key KEYS[] = {
    {
        .name = "error_page",
        .type = &TYPE,
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .help =
            "The page of the site that the client gets when the server refuses a request with "
            "one of these statuses. PATH is a file or a script of the site. Errors that an app "
            "answers itself stay as they are. What cannot be understood as a request (400, 408, "
            "414, 417, 431, 501, 505) gets the page of its site if the head was whole and only "
            "the address is wrong, else that of the site for unknown hosts; what stands in the "
            "site itself or in its path / counts.",
        .example = "404 410 /errors/missing.html",
        .repeats = true,
        .def_words = "a short page of the server's",
    },
};

// The refusal that a page stands for; kept on the exchange.
struct refusal {
    int status;
};

// The page is asked for as a whole, with no body, whatever the request was.
static void make_plain(struct exchange *ex)
{
    static const enum header_id CONDITIONS[] = {
        HEADER_IF_MATCH, HEADER_IF_NONE_MATCH, HEADER_IF_MODIFIED_SINCE, HEADER_IF_UNMODIFIED_SINCE,
        HEADER_RANGE,    HEADER_IF_RANGE,
    };

    for (size_t i = 0; i < ARRAY_LEN(CONDITIONS); i++)
        header_list_remove_id(&ex->req.headers, CONDITIONS[i]);
    if (ex->req.method != HTTP_HEAD) {
        ex->req.method = HTTP_GET;
        ex->req.method_text = method_name(HTTP_GET);
    }
    ex->req.has_body = false;
    ex->req.content_length = -1;
}

static bool refuse(struct exchange *ex, int *status)
{
    const struct refusal *before = exchange_data(ex, &error_page_module);
    if (before) {
        *status = before->status;
        return false;
    }
    const struct error_page_conf *conf = module_conf(ex, &error_page_module);
    size_t at = 0;
    while (at < conf->count && conf->rules[at].status != *status)
        at++;
    if (at == conf->count)
        return false;
    struct refusal *refusal = arena_new(&ex->arena, struct refusal);
    refusal->status = *status;
    exchange_set_data(ex, &error_page_module, refusal);
    exchange_divert(ex, conf->rules[at].path, *status);
    make_plain(ex);
    return true;
}

static void respond(struct exchange *ex)
{
    const struct refusal *refusal = exchange_data(ex, &error_page_module);
    if (refusal)
        ex->resp.status = refusal->status;
}

struct module error_page_module = {
    .name = "error_page",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct error_page_conf),
    .refuse = refuse,
    .respond = respond,
};
