// SPDX-License-Identifier: Apache-2.0
// target -- see target.h.
#include "core/target.h"

#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "core/exchange.h"
#include "core/site_conf.h"
#include "core/target_cache.h"

struct target_conf {
    int64_t file_check_ms;
    int links; // enum look_links
};

static const char *const LINKS[] = {"follow", "owner", "off", NULL};

STATIC_ASSERT(LOOK_LINKS_FOLLOW == 0 && LOOK_LINKS_OWNER == 1 && LOOK_LINKS_OFF == 2);

static const struct key KEYS[] = {
    {
        .name = "file_check",
        .type = &KEY_TIME,
        .offset = offsetof(struct target_conf, file_check_ms),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "1s",
        .min = 0,
        .max = 3600000,
        .unit = "ms",
        .help = "How long the server trusts what it has seen in the file system before it looks "
                "again: a changed, new or removed file counts at the latest after this time. 0 "
                "looks for each request.",
        .example = "5s",
    },
    {
        .name = "symlinks",
        .type = &KEY_ENUM,
        .offset = offsetof(struct target_conf, links),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "follow",
        .words = LINKS,
        .help = "Which symbolic links below the root are followed: follow, all; owner, those "
                "that belong to the owner of what they lead to; off, none. What lies behind "
                "another is answered with 403. The root itself may always be one.",
        .example = "owner",
    },
};

struct module target_module = {
    .name = "target",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct target_conf),
};

static enum look_links links_of(const struct exchange *ex)
{
    const struct target_conf *conf = module_conf(ex, &target_module);
    return (enum look_links)conf->links;
}

int target_links(const struct exchange *ex)
{
    return (int)links_of(ex);
}

struct target_look target_look(const struct exchange *ex, struct str path)
{
    return target_cache_look(ex->thread, path, ex->target.root.len, links_of(ex),
                             target_check_us(ex));
}

int target_open(const struct exchange *ex, struct str path)
{
    return look_below_open(path.ptr, ex->target.root.len, links_of(ex));
}

uint64_t target_check_us(const struct exchange *ex)
{
    const struct target_conf *conf = module_conf(ex, &target_module);
    return (uint64_t)conf->file_check_ms * 1000;
}

bool target_is_script(const struct exchange *ex, struct str file_name)
{
    const struct module_list *list = &module_lists()->runs_script;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->runs_script(ex, file_name))
            return true;
    return false;
}

// Tells whether a segment of the path begins with a dot. /.well-known/ is there to be read (RFC
// 8615), what is in it follows the rule.
static bool has_dotfile(struct str path)
{
    struct str rest = path;
    if (str_starts(path, STR("/.well-known/")))
        rest = str_skip(path, sizeof "/.well-known" - 1);
    for (size_t i = 0; i + 1 < rest.len; i++)
        if (rest.ptr[i] == '/' && rest.ptr[i + 1] == '.')
            return true;
    return false;
}

static enum target_kind kind_of_file(const struct exchange *ex, struct str url_path,
                                     size_t file_url_len)
{
    if (file_url_len == url_path.len)
        return TARGET_FILE;
    // Only what runs can make sense of more path; for the rest no such file exists.
    struct str file = str_slice(url_path, 0, file_url_len);
    return target_is_script(ex, str_skip(file, str_rfind(file, '/') + 1)) ? TARGET_SCRIPT
                                                                          : TARGET_NONE;
}

static enum target_kind kind_of(const struct exchange *ex, const struct target_look *look,
                                struct str url_path, size_t file_url_len)
{
    switch (look->seen) {
    case TARGET_SEEN_FILE:
        return kind_of_file(ex, url_path, file_url_len);
    case TARGET_SEEN_DIR:
        return TARGET_DIR;
    case TARGET_SEEN_SPECIAL:
    case TARGET_SEEN_FORBIDDEN:
        return TARGET_DENIED;
    case TARGET_SEEN_NOTHING:
        break;
    }
    return TARGET_NONE;
}

static struct str join(struct arena *a, struct str root, struct str below)
{
    char *text = arena_alloc(a, root.len + below.len + 1);
    if (root.len)
        memcpy(text, root.ptr, root.len);
    if (below.len)
        memcpy(text + root.len, below.ptr, below.len);
    return str_n(text, root.len + below.len);
}

void target_find(struct exchange *ex, struct str root, struct str prefix, struct str url_path)
{
    ASSERT(prefix.len <= url_path.len);
    struct str below = str_skip(url_path, prefix.len);
    ASSERT(below.len == 0 || below.ptr[0] == '/');
    struct target *target = &ex->target;
    struct str path = join(&ex->arena, root, below);
    struct target_look look =
        target_cache_look(ex->thread, path, root.len, links_of(ex), target_check_us(ex));
    // The part of the URL that names the file, without path info.
    size_t part_len = look.part_len < root.len ? root.len : look.part_len;
    size_t file_url_len = prefix.len + part_len - root.len;
    *target = (struct target){
        .kind = kind_of(ex, &look, url_path, file_url_len),
        .root = root,
        .file = str_slice(path, 0, part_len),
        .script_name = str_slice(url_path, 0, file_url_len),
        .path_info = str_skip(url_path, file_url_len),
        .size = look.facts.size,
        .mtime_s = look.facts.mtime_s,
        .mtime_ns = look.facts.mtime_ns,
        .inode = look.facts.inode,
        .file_hash = look.path_hash,
    };
    if (has_dotfile(str_slice(below, 0, part_len - root.len)))
        target->kind = TARGET_DENIED;
    if (part_len < path.len) // no NUL behind
        target->file = arena_dup(&ex->arena, target->file);
    if (target->kind == TARGET_DIR)
        target->slash_missing = url_path.len == 0 || url_path.ptr[url_path.len - 1] != '/';
}

enum target_kind target_need(struct exchange *ex)
{
    if (ex->target.kind != TARGET_UNKNOWN)
        return ex->target.kind;
    const struct site_conf *conf = site_conf(ex);
    struct str root = site_conf_root(ex, conf);
    if (root.len == 0)
        return TARGET_UNKNOWN;
    struct str prefix = conf->in_path ? site_conf_prefix(ex->path) : (struct str){0};
    target_find(ex, root, prefix, ex->req.path);
    return ex->target.kind;
}
