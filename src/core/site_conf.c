// SPDX-License-Identifier: Apache-2.0
// site_conf -- see site_conf.h.
#include "core/site_conf.h"

#include "core/conf_path.h"
#include "core/exchange.h"

// Names of files in a directory, as they are there.
static bool parse_index(const struct key *key, const struct tree_node *node, struct arena *a,
                        void *field, struct err *err)
{
    if (!KEY_WORDS.parse(key, node, a, field, err))
        return false;
    for (size_t i = 0; i < node->arg_count; i++) {
        struct str name = node->args[i];
        if (!name.len || str_find(name, '/') < name.len || name.ptr[0] == '.') {
            return tree_error(
                err, node->arg_pos[i],
                "index \"%.*s\" is no plain file name, a name without \"/\" was expected",
                STR_ARG(name));
        }
        if (!conf_path_check("index", name, node->arg_pos[i], a, err))
            return false;
    }
    return true;
}

static void print_index(const struct key *key, const void *field, struct buf *out)
{
    KEY_WORDS.print(key, field, out);
}

static const struct key_type INDEX = {"words", "NAME...", parse_index, print_index};

static const struct key KEYS[] = {
    {
        .name = "root",
        .type = &KEY_FILE,
        .offset = offsetof(struct site_conf, root),
        .scopes = KEY_SITE | KEY_PATH,
        .help =
            "Directory with the files of the site. In a path, the directory takes the place of the path's "
            "prefix: with the example, /wiki/load.php is /usr/share/mediawiki/load.php. It may be a symbolic "
            "link, looked up for each request. {host} in it is the host name that was asked for, so that "
            "/srv/{host}/public serves many sites; there is nothing for hosts with other characters than "
            "letters, digits, - and single dots.",
        .example = "/usr/share/mediawiki",
    },
    {
        .name = "index",
        .type = &INDEX,
        .offset = offsetof(struct site_conf, index),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "index.html index.php",
        .max = 16,
        .help = "Names that are tried, in this order, when the URL names a directory.",
        .example = "index.php index.html",
    },
};

static const struct str HOST = STR_INIT("{host}");

// The place of the first {host}, or the length.
static size_t find_host(struct str root)
{
    size_t at = str_find(root, '{');
    return at < root.len && str_starts(str_skip(root, at), HOST) ? at : root.len;
}

static bool check_root(struct site_conf *conf, struct tree_pos pos, struct err *err)
{
    struct str rest = conf->root;
    conf->has_host = false;
    for (size_t at = str_find(rest, '{'); at < rest.len; at = str_find(rest, '{')) {
        if (find_host(rest) != at) {
            return tree_error(err, pos,
                              "root is \"%.*s\", no other word than {host} was expected in braces",
                              STR_ARG(conf->root));
        }
        conf->has_host = true;
        rest = str_skip(rest, at + HOST.len);
    }
    return true;
}

static bool check(void *arg, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    struct site_conf *conf = arg;
    bool set_here = conf->root.ptr != conf->parent_root;
    if (set_here) {
        while (conf->root.len > 1 && str_ends(conf->root, STR("/")))
            conf->root.len--;
        conf->root = arena_dup(a, conf->root);
        if (!check_root(conf, pos, err))
            return false;
    }
    conf->in_path = set_here && scope == KEY_PATH;
    conf->parent_root = conf->root.ptr;
    return true;
}

struct module site_conf_module = {
    .name = "site",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct site_conf),
    .check = check,
};

const struct site_conf *site_conf(const struct exchange *ex)
{
    return module_conf(ex, &site_conf_module);
}

const struct site_conf *site_conf_at(const struct scope *scope)
{
    return module_conf_at(scope, &site_conf_module);
}

// A name that can be one segment of a path and leads nowhere else.
static bool is_plain_host(struct str host)
{
    char before = '.';
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        bool is_label = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        if (!is_label && (c != '.' || before == '.'))
            return false;
        before = c;
    }
    return before != '.';
}

struct str site_conf_root(struct exchange *ex, const struct site_conf *conf)
{
    struct str host = ex->req.host;
    if (!conf->has_host)
        return conf->root;
    if (!is_plain_host(host))
        return (struct str){0};
    struct str made = {0};
    for (struct str rest = conf->root; rest.len;) {
        size_t at = find_host(rest);
        bool found = at < rest.len;
        made = arena_fmt(&ex->arena, "%.*s%.*s%.*s", STR_ARG(made), (int)at, rest.ptr,
                         (int)(found ? host.len : 0), host.ptr);
        rest = str_skip(rest, found ? at + HOST.len : at);
    }
    return made;
}

struct str site_conf_fixed_root(struct str root)
{
    size_t at = find_host(root);
    if (at == root.len)
        return root;
    struct str before = str_slice(root, 0, at);
    size_t slash = str_rfind(before, '/');
    return str_slice(before, 0, slash ? slash : 1);
}

struct str site_conf_prefix(const struct path *path)
{
    if (!site_conf_at(&path->scope)->in_path)
        return str_slice(path->prefix, 0, 0);
    return str_slice(path->prefix, 0, path->prefix.len - str_ends(path->prefix, STR("/")));
}
