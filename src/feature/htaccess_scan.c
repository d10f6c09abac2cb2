// SPDX-License-Identifier: Apache-2.0
// htaccess_scan -- looks through whole trees for .htaccess files that make requests be refused.
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/site_conf.h"
#include "feature/htaccess.h"
#include "feature/htaccess_file.h"
#include "os/look.h"

#define DEPTH_MAX 32     // directories within directories
#define DIRS_MAX  200000 // looked at in all

// A directory still to be looked at.
struct place {
    struct list_node node;
    unsigned depth;
    size_t len;
    char path[];
};

struct scan {
    struct list waiting;
    const struct place *at;
    bool has_file;
};

static void add(struct scan *scan, struct str dir, struct str name, unsigned depth)
{
    struct place *place = mem_alloc(sizeof *place + dir.len + name.len + 2);
    memcpy(place->path, dir.ptr, dir.len);
    place->len = dir.len;
    if (name.len > 0) {
        place->path[place->len++] = '/';
        memcpy(place->path + place->len, name.ptr, name.len);
        place->len += name.len;
    }
    place->depth = depth;
    list_push_back(&scan->waiting, &place->node);
}

static void on_name(void *arg, const char *name, bool is_dir)
{
    struct scan *scan = arg;
    if (is_dir && scan->at->depth < DEPTH_MAX)
        add(scan, str_n(scan->at->path, scan->at->len), str_c(name), scan->at->depth + 1);
    else if (strcmp(name, ".htaccess") == 0)
        scan->has_file = true;
}

static void scan_root(struct str root,
                      void (*found)(void *arg, const char *file, unsigned line, const char *what),
                      void *arg)
{
    struct scan scan = {0};
    list_init(&scan.waiting);
    add(&scan, root, (struct str){0}, 0);
    struct list_node *node;
    for (unsigned count = 0; (node = list_pop_front(&scan.waiting)) != NULL; count++) {
        struct place *place = CONTAINER_OF(node, struct place, node);
        struct htaccess_finding finding;
        scan.at = place;
        scan.has_file = false;
        // What can't be listed can't be served either.
        if (count < DIRS_MAX && look_list(place->path, on_name, &scan) == 0 && scan.has_file
            && htaccess_file_look(str_n(place->path, place->len), &finding))
            found(arg, finding.file, finding.line, finding.what);
        mem_free(place);
    }
}

static bool is_refusing(const struct scope *scope)
{
    return htaccess_is_refusing(scope) && site_conf_at(scope)->root.len > 0;
}

// Tells whether an earlier scope of the snapshot has the same root in force.
static bool is_repeated(const struct snapshot *s, size_t site_at, size_t path_at, struct str root)
{
    for (size_t i = 0; i <= site_at; i++) {
        size_t count = i < site_at ? s->sites[i].path_count : path_at;
        for (size_t j = 0; j < count; j++) {
            const struct scope *scope = &s->sites[i].paths[j].scope;
            if (is_refusing(scope) && str_eq(site_conf_at(scope)->root, root))
                return true;
        }
    }
    return false;
}

void htaccess_scan(const struct snapshot *s,
                   void (*found)(void *arg, const char *file, unsigned line, const char *what),
                   void *arg)
{
    for (size_t i = 0; i < s->site_count; i++) {
        for (size_t j = 0; j < s->sites[i].path_count; j++) {
            const struct scope *scope = &s->sites[i].paths[j].scope;
            if (!is_refusing(scope))
                continue;
            struct str root = site_conf_at(scope)->root;
            if (!is_repeated(s, i, j, root))
                scan_root(site_conf_fixed_root(root), found, arg);
        }
    }
}
