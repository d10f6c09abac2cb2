// SPDX-License-Identifier: Apache-2.0
// site_conf -- see site_conf.h.
#include "core/site_conf.h"

#include "core/exchange.h"

static const struct key KEYS[] = {
    {
        .name = "root",
        .type = &KEY_FILE,
        .offset = offsetof(struct site_conf, root),
        .scopes = KEY_SITE | KEY_PATH,
        .help =
            "Directory with the files of the site. In a path, the directory takes the place of the path's "
            "prefix: with the example, /wiki/load.php is /usr/share/mediawiki/load.php. It may be a symbolic "
            "link, looked up for each request.",
        .example = "/usr/share/mediawiki",
    },
    {
        .name = "index",
        .type = &KEY_WORDS,
        .offset = offsetof(struct site_conf, index),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "index.html index.php",
        .max = 16,
        .syntax = "NAME...",
        .help = "Names that are tried, in this order, when the URL names a directory.",
        .example = "index.php index.html",
    },
};

static bool check_index(const struct site_conf *conf, struct tree_pos pos, struct err *err)
{
    for (size_t i = 0; i < conf->index.count; i++) {
        struct str name = conf->index.items[i];
        if (!name.len || str_find(name, '/') < name.len || name.ptr[0] == '.') {
            return tree_error(
                err, pos, "index \"%.*s\" is no plain file name, a name without \"/\" was expected",
                STR_ARG(name));
        }
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
    }
    conf->in_path = set_here && scope == KEY_PATH;
    conf->parent_root = conf->root.ptr;
    return check_index(conf, pos, err);
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

struct str site_conf_prefix(const struct path *path)
{
    if (!site_conf_at(&path->scope)->in_path)
        return str_slice(path->prefix, 0, 0);
    return str_slice(path->prefix, 0, path->prefix.len - str_ends(path->prefix, STR("/")));
}
