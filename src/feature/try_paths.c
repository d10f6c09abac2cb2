// SPDX-License-Identifier: Apache-2.0
// try_paths -- see try_paths.h. Stands behind the rules of access for the path that was asked for;
// those of the path that is taken instead are asked as well, since it goes through all phases.
#include "feature/try_paths.h"

#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "core/conf_path.h"
#include "core/exchange.h"
#include "core/site_conf.h"
#include "core/target.h"

#define PATHS_MAX 16

static const struct str PLACEHOLDER = STR_INIT("{path}");

struct try_paths_conf {
    struct str *paths; // in order
    size_t count;
    struct str fallback; // a path, perhaps with a query; empty: `status` is answered
    int status;
};

// Only {path} may stand in braces, and the rest must be a path as a request has it.
static bool is_path(struct str text)
{
    struct str rest = text;
    if (!str_starts(text, STR("/")) && !str_starts(text, PLACEHOLDER))
        return false;
    for (size_t at = str_find(rest, '{'); at < rest.len; at = str_find(rest, '{')) {
        rest = str_skip(rest, at);
        if (!str_starts(rest, PLACEHOLDER))
            return false;
        rest = str_skip(rest, PLACEHOLDER.len);
    }
    struct str path = str_slice(text, 0, str_find(text, '?'));
    while (path.ptr) {
        struct str segment = str_cut(&path, '/');
        if (str_eq(segment, STR(".")) || str_eq(segment, STR("..")))
            return false;
    }
    return !str_has_ctl(text);
}

static bool read_fallback(const struct tree_node *node, struct arena *a,
                          struct try_paths_conf *conf, struct err *err)
{
    size_t last = node->arg_count - 1;
    struct str text = node->args[last];
    uint64_t status;
    if (str_to_u64(text, &status) && status >= 400 && status <= 599) {
        conf->status = (int)status;
        return true;
    }
    if (is_path(text) && text.ptr[0] == '/') {
        struct str path = str_slice(text, 0, str_find(text, '?'));
        if (!conf_path_check("try", path, node->arg_pos[last], a, err))
            return false;
        conf->fallback = arena_dup(a, text);
        return true;
    }
    return tree_error(
        err, node->arg_pos[last],
        "\"try\" ends with \"%.*s\", a path such as /index.php or a status from 400 to "
        "599 was expected",
        STR_ARG(text));
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct try_paths_conf conf = {0};
    if (node->arg_count == 1 && !node->has_block && str_eq(node->args[0], STR("off"))) {
        *(struct try_paths_conf *)field = conf;
        return true;
    }
    if (!key_args_check(key, node, 2, PATHS_MAX, err) || !read_fallback(node, a, &conf, err))
        return false;
    conf.count = node->arg_count - 1;
    conf.paths = arena_array(a, struct str, conf.count);
    for (size_t i = 0; i < conf.count; i++) {
        struct str path = node->args[i];
        if (!is_path(path) || str_find(path, '?') < path.len) {
            return tree_error(err, node->arg_pos[i],
                              "\"try\" has \"%.*s\", a path such as {path}, {path}/ or "
                              "/cache{path}.html was expected",
                              STR_ARG(path));
        }
        if (!conf_path_check("try", path, node->arg_pos[i], a, err))
            return false;
        conf.paths[i] = arena_dup(a, path);
    }
    *(struct try_paths_conf *)field = conf;
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct try_paths_conf *conf = field;
    (void)key;
    for (size_t i = 0; i < conf->count; i++) {
        tree_quote(conf->paths[i], out);
        buf_fmt(out, " ");
    }
    if (conf->count == 0)
        buf_fmt(out, "off");
    else if (conf->fallback.len)
        tree_quote(conf->fallback, out);
    else
        buf_fmt(out, "%d", conf->status);
}

static const struct key_type TYPE = {"paths", "PATH... FALLBACK|off", parse, print};

static const struct key KEYS[] = {
    {
        .name = "try",
        .type = &TYPE,
        .scopes = KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "Answers with the first of the paths that is there: a file, or a directory where "
                "the path ends with a slash. {path} is the path that was asked for. If none is "
                "there, FALLBACK is taken: a path, such as the script through which all of an app "
                "goes, or a status. The app sees in REQUEST_URI what was asked for; the query "
                "goes along, behind that of FALLBACK if it has one.",
        .example = "{path} {path}/ /index.php",
    },
};

static void put(struct buf *b, struct str s)
{
    bool ok = buf_put(b, s);
    ASSERT(ok); // no ceiling
}

// As a value of a query: what would end it, or mean white space, is escaped.
static void put_in_query(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                        || c == '/' || c == '-' || c == '_' || c == '.' || c == '~';
        if (is_plain)
            put(b, str_slice(s, i, i + 1));
        else
            buf_fmt(b, "%%%02X", c);
    }
}

static struct str expand(struct exchange *ex, struct str text, bool is_query)
{
    struct buf b = {0};
    while (text.len) {
        size_t at = str_find(text, '{');
        put(&b, str_slice(text, 0, at));
        text = str_skip(text, at);
        if (!text.len)
            break;
        if (is_query)
            put_in_query(&b, ex->req.path);
        else
            put(&b, ex->req.path);
        text = str_skip(text, PLACEHOLDER.len);
    }
    struct str expanded = arena_dup(&ex->arena, buf_view(&b));
    buf_done(&b);
    return expanded;
}

// Looks where the path would be found, which may be below another root.
static enum target_kind look(struct exchange *ex, struct str path)
{
    const struct path *scope = snapshot_path(ex->site, path);
    const struct site_conf *conf = site_conf_at(&scope->scope);
    struct str root = site_conf_root(ex, conf);
    if (!root.len)
        return TARGET_NONE;
    target_find(ex, root, conf->in_path ? site_conf_prefix(scope) : (struct str){0}, path);
    return ex->target.kind;
}

static bool is_there(enum target_kind kind, struct str text)
{
    if (str_ends(text, STR("/")))
        return kind == TARGET_DIR;
    return kind == TARGET_FILE || kind == TARGET_SCRIPT;
}

static enum phase_result take(struct exchange *ex, struct str path, struct str query)
{
    if (!exchange_rewrite(ex, path, query))
        exchange_refuse(ex, 500, NULL, "The directive try leads in a circle.");
    return PHASE_DONE;
}

static enum phase_result fall_back(struct exchange *ex, const struct try_paths_conf *conf)
{
    if (!conf->fallback.len) {
        exchange_refuse(ex, conf->status, NULL, "None of the paths of try is there.");
        return PHASE_DONE;
    }
    struct str query = conf->fallback;
    struct str path = expand(ex, str_cut(&query, '?'), false);
    struct str whole = ex->req.query;
    if (query.len) {
        query = expand(ex, query, true);
        whole =
            whole.len ? arena_fmt(&ex->arena, "%.*s&%.*s", STR_ARG(query), STR_ARG(whole)) : query;
    }
    return take(ex, path, whole);
}

static enum phase_result handle(struct exchange *ex)
{
    const struct try_paths_conf *conf = module_conf(ex, &try_paths_module);
    // The fallback is taken as it is, also when it is not there.
    if (conf->count == 0 || exchange_is_rewritten(ex))
        return PHASE_NEXT;
    enum target_kind kind = target_need(ex);
    struct target own = ex->target;
    if (kind == TARGET_DENIED)
        return PHASE_NEXT;
    for (size_t i = 0; i < conf->count; i++) {
        struct str text = conf->paths[i];
        if (str_eq(text, PLACEHOLDER) || str_eq(text, STR("{path}/"))) {
            if (!is_there(kind, text))
                continue;
            ex->target = own;
            return PHASE_NEXT;
        }
        struct str path = expand(ex, text, false);
        if (is_there(look(ex, path), text))
            return take(ex, path, ex->req.query);
    }
    return fall_back(ex, conf);
}

static bool is_idle(const void *arg)
{
    const struct try_paths_conf *conf = arg;
    return conf->count == 0;
}

struct module try_paths_module = {
    .name = "try",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct try_paths_conf),
    .idle = is_idle,
    .hooks = {[PHASE_HANDLE] = handle},
};
