// SPDX-License-Identifier: Apache-2.0
// snapshot_build -- makes a snapshot from a tree. One way for all scopes: the child's structs begin
// as copies of the parent's, then the block's directives are applied, then each module checks its
// own. Reads no file.
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "core/conf_path.h"
#include "core/module.h"
#include "core/module_block.h"
#include "core/snapshot.h"

#define PATHS_MAX 1000 // of one site: a lookup walks them

static const struct key_type SITE_TYPE = {"block", "NAME... { ... }", NULL, NULL};
static const struct key_type PATH_TYPE = {"block", "PREFIX { ... }", NULL, NULL};
static const struct key_type INCLUDE_TYPE = {"pattern", "PATTERN", NULL, NULL};

static const struct key STRUCTURE[] = {
    {
        .name = "site",
        .type = &SITE_TYPE,
        .scopes = KEY_TOP,
        .help =
            "One web site: its host names and, in the block, what it serves. A name may begin with *. "
            "for all names below; _ stands for any name. Requests for names that no site has go to the "
            "site with _, or else to the first site.",
        .example = "blog.example www.blog.example { root /srv/blog; }",
        .repeats = true,
    },
    {
        .name = "path",
        .type = &PATH_TYPE,
        .scopes = KEY_SITE,
        .help =
            "What holds for URL paths that begin with PREFIX, which ends at a slash: /wiki is for /wiki and "
            "/wiki/page, not for /wikipedia. It is written as decoded (\"/a b\", not /a%20b) and without "
            "wildcards. The longest prefix that fits counts; what its block does not say holds as in the site.",
        .example = "/wiki/ { root /usr/share/mediawiki; }",
        .repeats = true,
    },
    {
        .name = "include",
        .type = &INCLUDE_TYPE,
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH | KEY_APP,
        .help =
            "Puts in the directives of another file, or of all files that match a pattern with * and ?, in the "
            "order of their names. A relative name begins at the directory of the file it stands in.",
        .example = "sites/*.conf",
        .repeats = true,
    },
};

struct build {
    struct snapshot *s;
    struct err *err;
    struct arena draft; // confs of a scope that is not complete
};

// One scope being resolved.
struct level {
    struct scope *scope;
    unsigned kind; // KEY_TOP, KEY_SITE or KEY_PATH
    const struct tree_node *first;
    bool *failed; // by module index: not checked again below, so that one mistake gives one message
};

const struct key *snapshot_keys(size_t *out_count)
{
    *out_count = ARRAY_LEN(STRUCTURE);
    return STRUCTURE;
}

static void make_confs(struct build *b, struct scope *scope)
{
    scope->confs = arena_array(&b->draft, void *, module_count());
    for (size_t i = 0; i < module_count(); i++) {
        const struct module *m = module_at(i);
        scope->confs[i] = arena_alloc(&b->draft, m->conf_size);
        if (!scope->parent) {
            key_defaults(m->keys, m->key_count, &b->s->arena, scope->confs[i]);
        } else if (m->conf_size) {
            memcpy(scope->confs[i], scope->parent->confs[i], m->conf_size);
        }
    }
}

// Tells whether a complete scope has other confs than its parent.
static bool is_own(const struct scope *scope, size_t i)
{
    size_t size = module_at(i)->conf_size;
    return !scope->parent || memcmp(scope->confs[i], scope->parent->confs[i], size) != 0;
}

// Takes the confs out of the draft. What is as in the parent is the parent's: of a thousand sites
// each has its root, and all use the rest from the same memory, which stays in the cache.
static void keep_confs(struct build *b, struct scope *scope)
{
    struct arena *a = &b->s->arena;
    void **confs = scope->parent ? scope->parent->confs : NULL;
    for (size_t i = 0; i < module_count(); i++) {
        if (!is_own(scope, i))
            continue;
        if (!confs || (scope->parent && confs == scope->parent->confs)) {
            confs = arena_array(a, void *, module_count());
            if (scope->parent)
                memcpy(confs, scope->parent->confs, module_count() * sizeof *confs);
        }
        size_t size = module_at(i)->conf_size;
        confs[i] = arena_alloc(a, size);
        memcpy(confs[i], scope->confs[i], size);
    }
    scope->confs = confs;
    arena_reset(&b->draft);
}

// Structure directives are resolved by our callers, where they may stand.
static void apply_one(struct build *b, const struct level *l, const struct tree_node *node)
{
    struct module *m = NULL;
    bool ok = true;
    const struct key *structure = key_find(STRUCTURE, ARRAY_LEN(STRUCTURE), node->name);
    const struct key *key = module_key(node->name, &m);
    if (structure) {
        ok = key_scope_check(structure, node, l->kind, b->err);
    } else if (!key) {
        ok = module_block_unknown(node, l->kind, NULL, 0, b->err);
    } else if (!key->repeats && module_block_repeats(l->first, node, b->err)) {
        ok = false;
    } else {
        ok = key_apply(key, node, l->kind, &b->s->arena, l->scope->confs[m->index], b->err);
    }
    if (!ok && m)
        l->failed[m->index] = true;
}

// Resolves one scope whose parent, if any, is resolved; `above` is the parent's failures.
static struct level resolve(struct build *b, struct scope *scope, unsigned kind,
                            const struct tree_node *first, const bool *above)
{
    struct level l = {.scope = scope, .kind = kind, .first = first};
    l.failed = arena_array(&b->s->arena, bool, module_count());
    if (above)
        memcpy(l.failed, above, module_count() * sizeof *above);
    make_confs(b, scope);
    for (const struct tree_node *node = first; node; node = node->next)
        apply_one(b, &l, node);
    for (size_t i = 0; i < module_count(); i++) {
        const struct module *m = module_at(i);
        if (m->check && !l.failed[i])
            l.failed[i] = !m->check(scope->confs[i], kind, scope->pos, &b->s->arena, b->err);
        if (m->idle && !l.failed[i] && m->idle(scope->confs[i]))
            scope->idle |= UINT64_C(1) << i;
    }
    keep_confs(b, scope);
    return l;
}

// The next node with this name from `node` on.
static const struct tree_node *next_named(const struct tree_node *node, struct str name)
{
    while (node && !str_eq(node->name, name))
        node = node->next;
    return node;
}

static size_t count_named(const struct tree_node *first, struct str name)
{
    size_t count = 0;
    for (const struct tree_node *node = first; node; node = node->next)
        count += str_eq(node->name, name);
    return count;
}

static bool need_block(const struct tree_node *node, struct err *err)
{
    if (node->has_block)
        return true;
    return tree_error(err, node->pos, "\"%.*s\" has no block, \"{\" was expected",
                      STR_ARG(node->name));
}

static bool is_prefix(struct str prefix)
{
    if (!str_starts(prefix, STR("/")) || str_has_ctl(prefix))
        return false;
    struct str rest = str_skip(prefix, 1);
    while (rest.len) {
        size_t end = str_find(rest, '/');
        struct str segment = str_slice(rest, 0, end);
        if (!segment.len || str_eq(segment, STR(".")) || str_eq(segment, STR("..")))
            return false;
        rest = str_skip(rest, end + 1);
    }
    return true;
}

static size_t significant(struct str prefix)
{
    return prefix.len - str_ends(prefix, STR("/"));
}

static bool same_prefix(struct str a, struct str b)
{
    return str_eq(str_slice(a, 0, significant(a)), str_slice(b, 0, significant(b)));
}

static bool check_path(const struct build *b, const struct site *site, const struct tree_node *node)
{
    if (!need_block(node, b->err))
        return false;
    if (node->arg_count != 1) {
        return tree_error(b->err, node->pos,
                          "\"path\" has %zu arguments, one was expected: a prefix such as /wiki/",
                          node->arg_count);
    }
    struct str prefix = node->args[0];
    if (!is_prefix(prefix)) {
        return tree_error(b->err, node->arg_pos[0],
                          "\"%.*s\" is no prefix of paths, \"/\" and whole segments were expected",
                          STR_ARG(prefix));
    }
    if (!conf_path_check("path", prefix, node->arg_pos[0], &b->s->arena, b->err))
        return false;
    if (str_find(prefix, '*') < prefix.len || str_find(prefix, '?') < prefix.len) {
        return tree_error(b->err, node->arg_pos[0],
                          "\"path\" has \"%.*s\", but all below a prefix is meant, and never its "
                          "query: one without \"*\" and \"?\" was expected",
                          STR_ARG(prefix));
    }
    for (size_t i = 0; i < site->path_count; i++) {
        struct tree_pos first = site->paths[i].scope.pos;
        if (same_prefix(site->paths[i].prefix, prefix)) {
            return tree_error(
                b->err, node->arg_pos[0],
                "path \"%.*s\" stands here again, once was expected (first at %s:%u:%u)",
                STR_ARG(prefix), first.file, first.line, first.column);
        }
    }
    return true;
}

static void add_path(struct build *b, struct site *site, struct str prefix, struct tree_pos pos,
                     const struct tree_node *first, const bool *above)
{
    struct path *path = &site->paths[site->path_count++];
    path->prefix = arena_dup(&b->s->arena, prefix);
    path->scope = (struct scope){.parent = &site->scope, .pos = pos};
    struct level l = resolve(b, &path->scope, KEY_PATH, first, above);
    for (size_t i = 0; i < module_count(); i++) {
        const struct module *m = module_at(i);
        if (m->check_path && !l.failed[i])
            (void)m->check_path(module_conf_at(&path->scope, m), path->prefix, pos, b->err);
    }
}

static int longest_first(const void *a, const void *b)
{
    size_t a_len = significant(((const struct path *)a)->prefix);
    size_t b_len = significant(((const struct path *)b)->prefix);
    return (a_len < b_len) - (a_len > b_len);
}

static void build_paths(struct build *b, struct site *site, const struct tree_node *first,
                        const bool *above)
{
    size_t count = count_named(first, STR("path"));
    if (count > PATHS_MAX) {
        tree_error(b->err, site->scope.pos, "site has %zu paths, at most %d were expected", count,
                   PATHS_MAX);
        return;
    }
    site->paths = arena_array(&b->s->arena, struct path, count + 1);
    for (const struct tree_node *node = first; (node = next_named(node, STR("path")));
         node = node->next) {
        if (check_path(b, site, node))
            add_path(b, site, node->args[0], node->pos, node->first_child, above);
    }
    bool has_all = false;
    for (size_t i = 0; i < site->path_count; i++)
        has_all = has_all || significant(site->paths[i].prefix) == 0;
    if (!has_all)
        add_path(b, site, STR("/"), site->scope.pos, NULL, above);
    qsort(site->paths, site->path_count, sizeof *site->paths, longest_first);
}

static bool is_host_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// A name, "*.name", "_", an IPv4 address or "[IPv6]"; lower case.
static bool is_host(struct str name)
{
    bool is_v6 = str_starts(name, STR("[")) && str_ends(name, STR("]"));
    if (is_v6) {
        name = str_slice(name, 1, name.len - 1);
    } else if (str_starts(name, STR("*."))) {
        name = str_skip(name, 2);
    }
    if (!name.len || name.ptr[0] == '.' || str_ends(name, STR(".")))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        bool is_empty_label = i > 0 && name.ptr[i] == '.' && name.ptr[i - 1] == '.';
        if (is_empty_label || (!is_host_byte(name.ptr[i]) && !(is_v6 && name.ptr[i] == ':')))
            return false;
    }
    return true;
}

static struct str lower(struct arena *a, struct str name)
{
    char *room = arena_alloc(a, name.len + 1);
    for (size_t i = 0; i < name.len; i++)
        room[i] = (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] + 32 : name.ptr[i]);
    return str_n(room, name.len);
}

// Clients write an address in one way (RFC 5952): another would never be asked for.
static bool check_address(struct build *b, struct str name, struct tree_pos pos)
{
    struct in6_addr address;
    char text[INET6_ADDRSTRLEN + 1] = "";
    if (!str_starts(name, STR("[")))
        return true;
    if (name.len - 2 < sizeof text)
        memcpy(text, name.ptr + 1, name.len - 2);
    if (inet_pton(AF_INET6, text, &address) != 1) {
        return tree_error(b->err, pos,
                          "\"%.*s\" is no IPv6 address, one such as [::1] was expected",
                          STR_ARG(name));
    }
    (void)inet_ntop(AF_INET6, &address, text, sizeof text);
    if (str_eq(str_slice(name, 1, name.len - 1), str_c(text)))
        return true;
    return tree_error(b->err, pos, "\"%.*s\" is asked for as \"[%s]\", which was expected",
                      STR_ARG(name), text);
}

static void add_name(struct build *b, struct site *site, struct str written, struct tree_pos pos)
{
    struct str name = lower(&b->s->arena, written);
    if (!is_host(name)) {
        tree_error(
            b->err, pos,
            "\"%.*s\" is no host name, a name, *.name, _ or an address without port was expected",
            STR_ARG(written));
        return;
    }
    if (!check_address(b, name, pos))
        return;
    struct str host = str_starts(name, STR("*.")) ? str_skip(name, 1) : name;
    const struct site *first = map_find(&b->s->hosts, host);
    if (first) {
        tree_error(
            b->err, pos,
            "name \"%.*s\" stands here again, once was expected (first in the site at %s:%u:%u)",
            STR_ARG(name), first->scope.pos.file, first->scope.pos.line, first->scope.pos.column);
        return;
    }
    (void)map_put(&b->s->hosts, host, site);
    b->s->has_wildcards |= host.ptr != name.ptr;
    site->names[site->name_count++] = name;
}

static void build_site(struct build *b, const struct tree_node *node, const bool *above)
{
    struct site *site = &b->s->sites[b->s->site_count++];
    site->scope = (struct scope){.parent = &b->s->top, .pos = node->pos};
    site->names = arena_array(&b->s->arena, struct str, node->arg_count);
    if (!node->arg_count)
        tree_error(b->err, node->pos, "\"site\" has no name, a host name or _ was expected");
    for (size_t i = 0; i < node->arg_count; i++)
        add_name(b, site, node->args[i], node->arg_pos[i]);
    if (site->name_count)
        site->name = site->names[0];
    struct level l = resolve(b, &site->scope, KEY_SITE, node->first_child, above);
    build_paths(b, site, node->first_child, l.failed);
}

struct snapshot *snapshot_build(struct snapshot *empty, const struct tree_node *tree,
                                struct err *err)
{
    struct build b = {.s = empty, .err = err};
    int errors_before = err->count;
    ASSERT(!empty->sites && !empty->tree);
    empty->tree = tree;
    if (tree) {
        empty->top.pos = (struct tree_pos){tree->pos.file, 1, 1};
    } else {
        empty->top.pos = (struct tree_pos){"configuration", 1, 1};
    }
    struct level top = resolve(&b, &empty->top, KEY_TOP, tree, NULL);
    empty->sites = arena_array(&empty->arena, struct site, count_named(tree, STR("site")));
    for (const struct tree_node *node = tree; (node = next_named(node, STR("site")));
         node = node->next) {
        if (need_block(node, err))
            build_site(&b, node, top.failed);
    }
    empty->fallback = map_find(&empty->hosts, STR("_"));
    if (!empty->fallback)
        empty->fallback = empty->sites;
    arena_done(&b.draft);
    return err->count == errors_before ? empty : NULL;
}
