// SPDX-License-Identifier: Apache-2.0
// htaccess -- see htaccess.h. What lines mean is htaccess_text.c; looking through whole trees is
// htaccess_scan.c.
#include "feature/htaccess.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/exchange.h"
#include "core/target.h"
#include "feature/htaccess_file.h"
#include "log/log.h"
#include "os/look.h"

#define DIRS_KEPT_MAX 1024 // directories of a thread whose verdict is kept

enum { HTACCESS_REFUSE, HTACCESS_IGNORE };

static const char *const WORDS[] = {"refuse", "ignore", NULL};

struct htaccess_conf {
    int mode;
};

static const struct key KEYS[] = {
    {
        .name = "htaccess",
        .type = &KEY_ENUM,
        .offset = offsetof(struct htaccess_conf, mode),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "refuse",
        .help = "What an .htaccess file that protects something does. The server does not carry "
                "out such files: `refuse` answers 403 for all that is below the file's directory, "
                "so that nothing is open that was meant to be closed; `ignore` serves it as if the "
                "file were not there. `godwit check` lists the files in question.",
        .example = "ignore",
        .words = WORDS,
    },
};

// The verdict about a directory and those above it, up to the root.
struct verdict {
    struct list_node node;
    uint64_t seen_us;
    size_t root_len;
    bool is_told; // in the log, since it was made
    struct htaccess_finding finding;
    struct str dir;
    char room[];
};

struct cache {
    struct map map; // directory -> verdict
    struct list verdicts;
    struct verdict *last; // asked for last: most requests come for the same directory again
};

static const char CACHE_OWNER;

static void drop(struct cache *c, struct verdict *v)
{
    if (c->last == v)
        c->last = NULL;
    map_remove(&c->map, v->dir);
    list_remove(&v->node);
    mem_free(v);
}

static void drop_oldest(struct cache *c)
{
    struct list_node *node = list_first(&c->verdicts);
    if (node)
        drop(c, CONTAINER_OF(node, struct verdict, node));
}

static void free_cache(void *data)
{
    struct cache *c = data;
    list_foreach(&c->verdicts, struct verdict, node, v)
        drop(c, v);
    map_done(&c->map);
    mem_free(c);
}

static struct cache *cache_of(struct thread *t)
{
    struct cache *c = thread_attached(t, &CACHE_OWNER);
    if (!c) {
        c = mem_new(struct cache);
        list_init(&c->verdicts);
        thread_attach(t, &CACHE_OWNER, c, free_cache);
    }
    return c;
}

static bool is_dir(struct str dir)
{
    struct look look;
    struct buf path = {0};
    buf_fmt(&path, "%.*s%c", STR_ARG(dir), '\0');
    bool is = look_at(buf_view(&path).ptr, &look) == 0 && look.kind == LOOK_DIR;
    buf_done(&path);
    return is;
}

// Looks at each directory from the root down: the first finding stands. Ends where nothing is, or a
// stranger's path of a thousand segments would be a thousand looks.
static void judge(struct str dir, size_t root_len, struct htaccess_finding *out)
{
    *out = (struct htaccess_finding){0};
    for (size_t at = root_len; at <= dir.len; at++) {
        if (at > root_len && at < dir.len && dir.ptr[at] != '/')
            continue;
        struct str part = str_slice(dir, 0, at);
        if (htaccess_file_look(part, out) || (at < dir.len && !is_dir(part)))
            return;
    }
}

static struct verdict *verdict_of(struct exchange *ex, struct str dir, size_t root_len)
{
    struct cache *c = cache_of(ex->thread);
    uint64_t now_us = loop_now_us(ex->thread->loop);
    struct verdict *v = c->last;
    if (!v || !str_eq(v->dir, dir))
        v = map_find(&c->map, dir);
    if (v && v->root_len == root_len && !v->finding.is_passing
        && now_us - v->seen_us < target_check_us(ex)) {
        list_remove(&v->node);
        list_push_back(&c->verdicts, &v->node);
        c->last = v;
        return v;
    }
    if (v)
        drop(c, v);
    if (map_count(&c->map) >= DIRS_KEPT_MAX)
        drop_oldest(c);
    v = mem_alloc(sizeof *v + dir.len);
    memcpy(v->room, dir.ptr, dir.len);
    v->dir = str_n(v->room, dir.len);
    v->seen_us = now_us;
    v->root_len = root_len;
    judge(dir, root_len, &v->finding);
    map_put(&c->map, v->dir, v);
    list_push_back(&c->verdicts, &v->node);
    return v;
}

// The directory of the target: what is above its last slash.
static struct str dir_of(const struct target *target)
{
    struct str dir = target->file;
    if (target->kind != TARGET_DIR || str_ends(dir, STR("/")))
        dir.len = str_rfind(dir, '/');
    return dir.len < target->root.len ? target->root : dir;
}

static void refuse(struct exchange *ex, struct verdict *v)
{
    if (v->finding.is_passing) {
        exchange_refuse(ex, 503, "htaccess.failed", "%s could not be read (%s).", v->finding.file,
                        v->finding.what);
        return;
    }
    metrics_add(&ex->thread->metrics, htaccess_refused, 1);
    // Once for each look at the files: a stranger's requests must not fill the log.
    if (!v->is_told) {
        char what[160];
        log_warn(exchange_scope(ex), "htaccess.refused",
                 "%s:%u: %s protects something, and such files are not carried out; requests below "
                 "it get 403 (htaccess ignore would serve them)",
                 v->finding.file, v->finding.line,
                 log_quote(str_c(v->finding.what), what, sizeof what));
        v->is_told = true;
    }
    exchange_refuse(ex, 403, NULL, "An .htaccess file protects this place.");
}

static enum phase_result access(struct exchange *ex)
{
    const struct htaccess_conf *conf = module_conf(ex, &htaccess_module);
    if (conf->mode == HTACCESS_IGNORE)
        return PHASE_NEXT;
    switch (target_need(ex)) {
    case TARGET_UNKNOWN:
    case TARGET_DENIED:
        return PHASE_NEXT;
    case TARGET_NONE: // an app may answer it, and whether there is something is protected too
    case TARGET_FILE:
    case TARGET_DIR:
    case TARGET_SCRIPT:
        break;
    }
    struct verdict *v = verdict_of(ex, dir_of(&ex->target), ex->target.root.len);
    if (v->finding.line == 0)
        return PHASE_NEXT;
    refuse(ex, v);
    return PHASE_DONE;
}

bool htaccess_is_refusing(const struct scope *scope)
{
    const struct htaccess_conf *conf = module_conf_at(scope, &htaccess_module);
    return conf->mode == HTACCESS_REFUSE;
}

static bool is_idle(const void *arg)
{
    const struct htaccess_conf *conf = arg;
    return conf->mode == HTACCESS_IGNORE;
}

struct module htaccess_module = {
    .name = "htaccess",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct htaccess_conf),
    .idle = is_idle,
    .hooks = {[PHASE_ACCESS] = access},
};
