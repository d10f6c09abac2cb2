// SPDX-License-Identifier: Apache-2.0
// access_log -- see access_log.h. The lines themselves are made by access_log_line.c.
//
// A path of a configuration leads to one destination, which lives as long as the process: the
// configuration points to it, and the server's role puts a sink into it.
#include "feature/access_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/exchange.h"
#include "feature/access_log_line.h"

struct destination {
    _Atomic(struct sink *) sink;
    struct str path;
    char room[];
};

// The field of the directive.
struct setting {
    struct destination *to; // NULL: off
    bool is_json;
};

struct access_log_conf {
    struct setting setting;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards: destinations
static struct map destinations;

static struct destination *destination_of(struct str path)
{
    pthread_mutex_lock(&lock);
    struct destination *d = map_find(&destinations, path);
    if (!d) {
        d = mem_alloc(sizeof *d + path.len + 1);
        memcpy(d->room, path.ptr, path.len);
        d->path = str_n(d->room, path.len);
        map_put(&destinations, d->path, d);
    }
    pthread_mutex_unlock(&lock);
    return d;
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    if (!key_args_check(key, node, 1, 2, err))
        return false;
    struct setting setting = {0};
    if (node->arg_count == 2) {
        setting.is_json = str_eq(node->args[1], STR("json"));
        if (!setting.is_json && !str_eq(node->args[1], STR("combined"))) {
            return tree_error(err, node->arg_pos[1],
                              "the format of \"access_log\" is not known, combined or json was "
                              "expected");
        }
    }
    struct str path = node->args[0];
    if (path.len == 0 || str_has_ctl(path))
        return tree_error(err, node->arg_pos[0],
                          "\"access_log\" names no file, a path, stdout or off was expected");
    if (!str_eq(path, STR("stdout")) && !str_eq(path, STR("off")))
        path = key_path(node, path, a);
    if (!str_eq(path, STR("off")))
        setting.to = destination_of(path);
    *(struct setting *)field = setting;
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct setting *setting = field;
    (void)key;
    tree_quote(setting->to ? setting->to->path : STR("off"), out);
    if (setting->to)
        buf_fmt(out, " %s", setting->is_json ? "json" : "combined");
}

static const struct key_type TYPE = {"access log", "PATH|stdout|off [combined|json]", parse, print};

static const struct key KEYS[] = {
    {
        .name = "access_log",
        .type = &TYPE,
        .offset = offsetof(struct access_log_conf, setting),
        .scopes = KEY_TOP | KEY_SITE,
        .def = "stdout combined",
        .help = "Where a line is written for each request, and in which form: combined, followed "
                "by what this server knows besides (request id, site, app, worker, times), or one "
                "JSON object a line. Lines that cannot be written, or not fast enough, are "
                "dropped and counted (log_lines_dropped). Files are opened anew on SIGUSR1.",
        .example = "/var/log/godwit/access.log json",
    },
};

static void log_exchange(struct exchange *ex)
{
    const struct access_log_conf *conf = module_conf(ex, &access_log_module);
    if (!conf->setting.to)
        return;
    struct sink *sink = atomic_load_explicit(&conf->setting.to->sink, memory_order_acquire);
    if (!sink)
        return;
    struct str line = conf->setting.is_json ? access_log_line_json(ex) : access_log_line_text(ex);
    // The sink counts what it loses, now or later, and the server's role tells of it.
    (void)sink_write(sink, line);
}

static bool is_among(const struct str *list, size_t count, struct str path)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(list[i], path))
            return true;
    return false;
}

size_t access_log_paths(const struct snapshot *s, struct str *out, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < s->site_count && count < max; i++) {
        const struct access_log_conf *conf = module_conf_at(&s->sites[i].scope, &access_log_module);
        const struct destination *to = conf->setting.to;
        if (to && !is_among(out, count, to->path))
            out[count++] = to->path;
    }
    return count;
}

void access_log_sink(const char *path, struct sink *sink)
{
    struct destination *d = destination_of(str_c(path));
    atomic_store_explicit(&d->sink, sink, memory_order_release);
}

static bool is_idle(const void *arg)
{
    const struct access_log_conf *conf = arg;
    return !conf->setting.to;
}

struct module access_log_module = {
    .name = "access_log",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct access_log_conf),
    .idle = is_idle,
    .log = log_exchange,
};
