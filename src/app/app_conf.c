// SPDX-License-Identifier: Apache-2.0
// app_conf -- see app_conf.h. The plan for the keeper is in app_conf_plan.c.
#include "app/app_conf.h"

#include <string.h>

#include "app/command.h"
#include "app/php.h"
#include "app/pool.h"
#include "app/restart_file.h"
#include "backend/lsapi_backend.h"
#include "base/assert.h"
#include "base/map.h"
#include "core/exchange.h"
#include "os/proc.h"

#define WORKERS_PER_CPU 4
#define WORKERS_LEAST   4

static const char *const ABORT_WORDS[] = {"stop", "finish", NULL};

STATIC_ASSERT(LSAPI_BACKEND_STOP == 0 && LSAPI_BACKEND_FINISH == 1);

// auto, all or a number, kept as in struct pool_settings.
static bool busy_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    int64_t *out = field;
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    if (!str_eq(node->args[0], STR("auto")) && !str_eq(node->args[0], STR("all")))
        return KEY_INT.parse(key, node, a, field, err);
    *out = str_eq(node->args[0], STR("auto")) ? 0 : (int64_t)POOL_BUSY_ANY;
    return true;
}

static void busy_print(const struct key *key, const void *field, struct buf *out)
{
    const int64_t *max = field;
    if (*max == 0 || *max == (int64_t)POOL_BUSY_ANY)
        buf_fmt(out, "%s", *max ? "all" : "auto");
    else
        KEY_INT.print(key, field, out);
}

static const struct key_type BUSY_TYPE = {"auto|all|int", "auto|all|N", busy_parse, busy_print};

// Rows of the block, in the order of the manual.
static const struct key BLOCK_KEYS[] = {
    {
        .name = "user",
        .type = &KEY_WORDS,
        .offset = offsetof(struct app_conf, user),
        .scopes = KEY_APP,
        .max = 2,
        .help =
            "User, and group if it is not the user's own groups, that the app runs as. Only for an instance "
            "that root starts.",
        .example = "blog",
        .def_words =
            "the owner of the site's root directory; the user of the server where that is root",
        .effect = KEY_WORKERS,
    },
    {
        .name = "workers",
        .type = &KEY_RANGE,
        .offset = offsetof(struct app_conf, workers),
        .scopes = KEY_APP,
        .min = 0,
        .max = SCOREBOARD_RECORDS_MAX,
        .unit = "workers",
        .help =
            "Least and most worker processes, each of which serves one request at a time. Workers are started "
            "when requests wait and leave when they were idle for the time of `idle`.",
        .example = "1..8",
        .def_words = "0 to four for each processor",
    },
    {
        .name = "busy_max",
        .type = &BUSY_TYPE,
        .offset = offsetof(struct app_conf, busy_max),
        .scopes = KEY_APP,
        .def = "auto",
        .min = 1,
        .max = SCOREBOARD_RECORDS_MAX,
        .unit = "workers",
        .help =
            "Most workers that have a request at the same time. Pages that only compute are served faster when "
            "no more of them run than there are processors; pages that wait, for a database say, need more. With "
            "auto this is measured ten times a second while requests wait: as many workers are busy as can "
            "keep all processors busy, and one; requests that run for more than a second are not counted. "
            "all: every worker. `godwit apps` shows the number in force as busy_max.",
        .example = "all",
    },
    {
        .name = "command",
        .type = &KEY_WORDS,
        .offset = offsetof(struct app_conf, command),
        .scopes = KEY_APP,
        .help =
            "Program, with arguments, that serves the app's requests over LSAPI: needed for the type lsapi, in "
            "place of godwit-php for the type php. A program without \"/\" is looked for in PATH.",
        .example = "/usr/local/bin/guestbook --fast",
        .effect = KEY_WORKERS,
    },
    {
        .name = "directory",
        .type = &KEY_FILE,
        .offset = offsetof(struct app_conf, directory),
        .scopes = KEY_APP,
        .help =
            "Directory that the app's processes start in; / when it is not given. PHP changes to "
            "the directory of the script for each request.",
        .example = "/srv/shop",
        .effect = KEY_WORKERS,
    },
    {
        .name = "env",
        .type = &KEY_PAIRS,
        .offset = offsetof(struct app_conf, env),
        .scopes = KEY_APP,
        .repeats = true,
        .help =
            "A variable of the app's environment. Besides these it has only PATH, HOME, USER and LANG: nothing "
            "of the environment that Godwit was started in.",
        .example = "APP_ENV production",
        .effect = KEY_WORKERS,
    },
    {
        .name = "ini",
        .type = &KEY_PAIRS,
        .offset = offsetof(struct app_conf, ini),
        .scopes = KEY_APP,
        .repeats = true,
        .help = "A setting of php.ini for this app. A script may change it where PHP allows that.",
        .example = "upload_max_filesize 64M",
        .effect = KEY_WORKERS,
    },
    {
        .name = "admin_ini",
        .type = &KEY_PAIRS,
        .offset = offsetof(struct app_conf, admin_ini),
        .scopes = KEY_APP,
        .repeats = true,
        .help = "A setting of php.ini for this app that no script can change.",
        .example = "open_basedir /srv/blog:/tmp",
    },
    {
        .name = "extensions",
        .type = &KEY_WORDS,
        .offset = offsetof(struct app_conf, extensions),
        .scopes = KEY_APP,
        .def = ".php .phtml .phar",
        .max = 16,
        .help = "Ends of the names of files that are PHP scripts. They are run, and never sent.",
        .example = ".php .inc",
    },
    {
        .name = "request_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, request_ms),
        .scopes = KEY_APP,
        .def = "60s",
        .min = 100,
        .max = 86400000,
        .unit = "ms",
        .help =
            "Longest time that a worker may spend on one request, the time that it waits for a slow client left "
            "out. Then it is killed; the client gets status 504, or a broken off answer if it has begun.",
        .example = "5m",
    },
    {
        .name = "queue",
        .type = &KEY_INT,
        .offset = offsetof(struct app_conf, queue_max),
        .scopes = KEY_APP,
        .def = "10000",
        .min = 0,
        .max = 1000000,
        .unit = "requests",
        .help =
            "Most requests that wait for a worker; the next one gets status 503 at once, before its body is read. "
            "Client addresses (IPv6: networks of 64 bits) take turns, and when the queue is full the newest "
            "request of the address that has the most of them makes room for another address's.",
        .example = "200",
    },
    {
        .name = "queue_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, queue_ms),
        .scopes = KEY_APP,
        .def = "60s",
        .min = 100,
        .max = 86400000,
        .unit = "ms",
        .help = "Longest time that a request waits for a worker; then it gets status 503.",
        .example = "10s",
    },
    {
        .name = "requests",
        .type = &KEY_INT,
        .offset = offsetof(struct app_conf, requests_max),
        .scopes = KEY_APP,
        .def = "0",
        .min = 0,
        .max = 1000000000,
        .unit = "requests",
        .help =
            "Requests after which a worker is replaced, a tenth more or less so that not all are replaced at once. "
            "It serves until the new one is ready. 0: never.",
        .example = "5000",
    },
    {
        .name = "memory",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, memory_max_bytes),
        .scopes = KEY_APP,
        .def = "0",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help =
            "Memory of its own, not shared with the process that starts the workers, above which a worker is "
            "replaced. It is measured after a request, at most once a second; the worker serves until "
            "the new one is ready, and no request is cut. 0: never.",
        .example = "256m",
    },
    {
        .name = "idle",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, idle_ms),
        .scopes = KEY_APP,
        .def = "60s",
        .min = 100,
        .max = 604800000,
        .unit = "ms",
        .help =
            "Time without a request after which a worker above the least count leaves, and with "
            "the last one the process that starts them.",
        .example = "10m",
    },
    {
        .name = "start_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, start_ms),
        .scopes = KEY_APP,
        .def = "30s",
        .min = 100,
        .max = 3600000,
        .unit = "ms",
        .help = "Longest time that loading the app, and then starting a worker, may take.",
        .example = "2m",
    },
    {
        .name = "stop_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, stop_ms),
        .scopes = KEY_APP,
        .def = "10s",
        .min = 100,
        .max = 3600000,
        .unit = "ms",
        .help = "Time that a worker has to end after it was asked to, before it is killed.",
        .example = "30s",
        .effect = KEY_WORKERS,
    },
    {
        .name = "detached_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, detached_ms),
        .scopes = KEY_APP,
        .def = "10m",
        .min = 100,
        .max = 86400000,
        .unit = "ms",
        .help =
            "Longest time that a worker may go on after it has finished its answer (litespeed_finish_request, "
            "fastcgi_finish_request) before it is killed. It counts as one of `workers` meanwhile.",
        .example = "1h",
    },
    {
        .name = "abort",
        .type = &KEY_ENUM,
        .offset = offsetof(struct app_conf, abort),
        .scopes = KEY_APP,
        .def = "stop",
        .words = ABORT_WORDS,
        .help =
            "What happens to a request whose client leaves. While it waits for a worker it is dropped. While it "
            "runs, stop closes the connection to the worker, so that PHP ends the script at its next output unless "
            "it has called ignore_user_abort; finish reads the answer to its end and drops it. A client whose "
            "connection breaks has left. One that closes its own direction only, which is all that can be seen of a "
            "browser that gives up, has left with stop if it does so later than a second after its request: within "
            "that second, and always with finish, it is served, as HTTP allows it to wait and some programs ask "
            "for work that they do not wait for.",
        .example = "finish",
    },
    {
        .name = "response_buffer",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, response_buffer_bytes),
        .scopes = KEY_APP,
        .def = "256k",
        .min = 16384,
        .max = 64 * 1024 * 1024,
        .unit = "bytes",
        .help =
            "How much of an answer is kept in memory for a slow client. An answer up to this size sets its worker "
            "free at once; what is longer goes to a temporary file if the client does not keep pace.",
        .example = "1m",
    },
    {
        .name = "response_spool_max",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, response_spool_bytes),
        .scopes = KEY_APP,
        .def = "1g",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help =
            "How much of an answer is kept in a temporary file (in `spool_dir`) for a slow client, so that its "
            "worker is free. Beyond it, and with 0, the worker waits for the client. Event streams "
            "(text/event-stream) and answers with X-Accel-Buffering: no are never kept in a file.",
        .example = "4g",
    },
    {
        .name = "spool_quota",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, spool_quota_bytes),
        .scopes = KEY_APP,
        .def = "0",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help =
            "What all temporary files of the app may hold together. Beyond it, a request body that needs a file is "
            "refused with 503, and an answer waits for its client in the worker. 0: no limit but `spool_max`.",
        .example = "2g",
    },
    {
        .name = "stream_request",
        .type = &KEY_FLAG,
        .offset = offsetof(struct app_conf, stream_request),
        .scopes = KEY_APP,
        .def = "off",
        .help =
            "Whether a request body is passed on to the worker as it comes, if the client has said its length; "
            "otherwise a worker gets the request when the body is complete. A slow client then holds a worker; "
            "`request_time` does not count while the worker waits for it. Such a request is not tried on "
            "a second worker.",
        .example = "on",
    },
    {
        .name = "keep_children",
        .type = &KEY_FLAG,
        .offset = offsetof(struct app_conf, keep_children),
        .scopes = KEY_APP,
        .def = "on",
        .help =
            "Whether programs that a worker has started in the background live on when the worker ends by itself. "
            "When it is killed they are killed in any case.",
        .example = "off",
        .effect = KEY_WORKERS,
    },
};

// What a scope holds.
struct app_use {
    struct app_conf *app; // NULL: none
    int64_t workers_max, memory_max_bytes;
};

static bool app_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                      void *field, struct err *err);
static void app_print(const struct key *key, const void *field, struct buf *out);

static const struct key_type APP_TYPE = {"app", "TYPE [NAME] { ... }", app_parse, app_print};

static const struct key KEYS[] = {
    {
        .name = "app",
        .type = &APP_TYPE,
        .offset = offsetof(struct app_use, app),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .help =
            "The application that serves here. Type php runs the PHP scripts below the root; lsapi hands all "
            "requests that no file answers to the program of `command`; off ends what the scope above says. "
            "An app at top level is shared by all sites. NAME is what `godwit apps` and the logs call it: the "
            "site's name when it is not given.",
        .example = "php { workers 0..8; ini memory_limit 256M; }",
        .effect = KEY_WORKERS,
    },
    {
        .name = "workers_max",
        .type = &KEY_INT,
        .offset = offsetof(struct app_use, workers_max),
        .scopes = KEY_TOP,
        .def = "1000",
        .min = 0,
        .max = 100000,
        .unit = "workers",
        .help =
            "Most workers of all apps together. An app that needs one more gets the place of the worker of any app "
            "that was idle the longest, or of the app that has the most; until then its requests wait. 0: no limit.",
        .example = "64",
    },
    {
        .name = "memory_max",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_use, memory_max_bytes),
        .scopes = KEY_TOP,
        .def = "0",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help =
            "Memory of their own that all workers may hold together, measured as for `memory`. Above it the workers "
            "that were idle the longest leave, and no app gets more than one worker. 0: no limit.",
        .example = "4g",
    },
};

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                    || (c && strchr("._-/*", c));
        if (!fine)
            return false;
    }
    return name.len > 0 && name.len <= 200;
}

// Sets the workers that were not given and refuses keys that do not fit the type.
static bool complete(struct app_conf *app, struct err *err)
{
    if (app->workers.max == 0) {
        if (app->workers.min == 0)
            app->workers.max = (int64_t)proc_cpu_count() * WORKERS_PER_CPU;
        if (app->workers.max < WORKERS_LEAST)
            app->workers.max = WORKERS_LEAST;
        if (app->workers.max > SCOREBOARD_RECORDS_MAX)
            app->workers.max = SCOREBOARD_RECORDS_MAX;
    }
    if (app->type == APP_CONF_LSAPI && !app->command.count)
        return tree_error(err, app->pos,
                          "app lsapi has no command, one was expected: command PROGRAM;");
    if (app->type != APP_CONF_PHP && (app->ini.count || app->admin_ini.count))
        return tree_error(err, app->pos, "ini and admin_ini are for app php only");
    for (size_t i = 0; i < app->extensions.count; i++) {
        if (!str_starts(app->extensions.items[i], STR(".")) || app->extensions.items[i].len < 2) {
            return tree_error(
                err, app->pos,
                "extension \"%.*s\" was given, one that begins with a dot was expected",
                STR_ARG(app->extensions.items[i]));
        }
    }
    return true;
}

// LSAPI's form of a setting that holds for one request: 1, its kind (4: admin), its name.
static void make_special(struct app_conf *app, struct arena *a)
{
    app->special_count = app->admin_ini.count;
    app->special = arena_array(a, struct lsapi_pair, app->special_count);
    for (size_t i = 0; i < app->special_count; i++) {
        const struct key_pair *pair = &app->admin_ini.items[i];
        app->special[i].name = arena_fmt(a, "\001\004%.*s", STR_ARG(pair->name));
        app->special[i].value = pair->value;
    }
}

static bool read_type(const struct tree_node *node, struct app_conf *app, struct err *err)
{
    if (str_eq(node->args[0], STR("php")))
        app->type = APP_CONF_PHP;
    else if (str_eq(node->args[0], STR("lsapi")))
        app->type = APP_CONF_LSAPI;
    else
        return tree_error(err, node->arg_pos[0], "\"app\" is %.*s, php, lsapi or off was expected",
                          STR_ARG(node->args[0]));
    return true;
}

static bool app_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                      void *field, struct err *err)
{
    (void)key;
    struct app_conf **out = field;
    if (node->arg_count < 1 || node->arg_count > 2)
        return tree_error(err, node->pos, "\"app\" has %zu arguments, TYPE [NAME] was expected",
                          node->arg_count);
    if (str_eq(node->args[0], STR("off")) && node->arg_count == 1 && !node->has_block) {
        *out = NULL;
        return true;
    }
    struct app_conf *app = arena_new(a, struct app_conf);
    app->pos = node->pos;
    bool ok = read_type(node, app, err);
    if (node->arg_count == 2 && !is_name(node->args[1])) {
        ok = tree_error(err, node->arg_pos[1],
                        "\"%.*s\" is no name of an app, up to 200 letters, digits and any of "
                        "\"._-/\" were expected",
                        STR_ARG(node->args[1]));
    }
    if (node->arg_count == 2)
        app->name = arena_dup(a, node->args[1]);
    key_defaults(BLOCK_KEYS, ARRAY_LEN(BLOCK_KEYS), a, app);
    ok = module_apply_block(node, BLOCK_KEYS, ARRAY_LEN(BLOCK_KEYS), a, app, err) && ok;
    if (!ok || !complete(app, err))
        return false;
    make_special(app, a);
    *out = app;
    return true;
}

static void app_print(const struct key *key, const void *field, struct buf *out)
{
    (void)key;
    const struct app_conf *app = *(const struct app_conf *const *)field;
    if (app)
        buf_fmt(out, "%s %.*s", app->type == APP_CONF_PHP ? "php" : "lsapi", STR_ARG(app->name));
    else
        buf_fmt(out, "off");
}

static const struct app_use *use_at(const struct scope *scope)
{
    return module_conf_at(scope, &app_conf_module);
}

const struct app_conf *app_conf(const struct exchange *ex)
{
    return use_at(&ex->path->scope)->app;
}

struct listing {
    struct arena *arena;
    struct app_conf **apps;
    size_t count;
    struct map names;
    struct err *err;
    bool failed;
};

// Lists the app of a scope if it was given there and not further up.
static void list_scope(struct listing *l, const struct scope *scope, struct str name,
                       struct str mount, const struct site *site)
{
    struct app_conf *app = use_at(scope)->app;
    if (!app || (scope->parent && use_at(scope->parent)->app == app))
        return;
    if (!app->name.len)
        app->name = arena_dup(l->arena, name);
    app->mount = mount;
    app->site = site;
    const struct app_conf *first = map_find(&l->names, app->name);
    if (first) {
        tree_error(l->err, app->pos,
                   "there is an app \"%.*s\" already (at %s:%u:%u), another name was expected",
                   STR_ARG(app->name), first->pos.file, first->pos.line, first->pos.column);
        l->failed = true;
        return;
    }
    (void)map_put(&l->names, app->name, app);
    l->apps[l->count++] = app;
}

static struct str without_slash(struct str prefix)
{
    return str_slice(prefix, 0, prefix.len - str_ends(prefix, STR("/")));
}

bool app_conf_list(const struct snapshot *s, struct arena *a, struct app_conf ***out_apps,
                   size_t *out_count, struct err *err)
{
    struct listing l = {.arena = a, .err = err};
    size_t most = 1;
    for (size_t i = 0; i < s->site_count; i++)
        most += 1 + s->sites[i].path_count;
    l.apps = arena_array(a, struct app_conf *, most);
    const struct app_conf *top = use_at(&s->top)->app;
    list_scope(&l, &s->top, top && top->type == APP_CONF_PHP ? STR("php") : STR("lsapi"), STR(""),
               NULL);
    for (size_t i = 0; i < s->site_count; i++) {
        const struct site *site = &s->sites[i];
        list_scope(&l, &site->scope, site->name, STR(""), site);
        for (size_t j = 0; j < site->path_count; j++) {
            struct str mount = without_slash(site->paths[j].prefix);
            struct str name = arena_fmt(a, "%.*s%.*s", STR_ARG(site->name), STR_ARG(mount));
            list_scope(&l, &site->paths[j].scope, name, mount, site);
        }
    }
    map_done(&l.names);
    if (l.failed)
        return false;
    *out_apps = l.apps;
    *out_count = l.count;
    return true;
}

static void unref_pool(void *pool)
{
    pool_unref(pool);
}

static bool start(struct snapshot *s, struct err *err)
{
    struct app_conf **apps;
    size_t count;
    if (!app_conf_list(s, &s->arena, &apps, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        apps[i]->pool = pool_ref(apps[i]->name);
        arena_defer(&s->arena, unref_pool, apps[i]->pool);
    }
    return true;
}

static struct pool_settings settings_of(const struct app_conf *app)
{
    return (struct pool_settings){
        .name = app->name,
        .digest = app_conf_digest(app),
        .workers_min = (uint32_t)app->workers.min,
        .workers_max = (uint32_t)app->workers.max,
        .busy_max = (uint32_t)app->busy_max,
        .queue_max = (uint32_t)app->queue_max,
        .queue_us = (uint64_t)app->queue_ms * 1000,
        .idle_us = (uint64_t)app->idle_ms * 1000,
        .stop_us = (uint64_t)app->stop_ms * 1000,
        .request_us = (uint64_t)app->request_ms * 1000,
        .detached_us = (uint64_t)app->detached_ms * 1000,
        .requests_max = (uint64_t)app->requests_max,
        .memory_max_bytes = (uint64_t)app->memory_max_bytes,
    };
}

void app_conf_commit(struct snapshot *s)
{
    struct err err = {0};
    struct app_conf **apps;
    size_t count;
    bool ok = app_conf_list(s, &s->arena, &apps, &count, &err); // as it was at start
    ASSERT(ok);
    struct pool_settings *settings = arena_array(&s->arena, struct pool_settings, count);
    for (size_t i = 0; i < count; i++)
        settings[i] = settings_of(apps[i]);
    const struct app_use *top = use_at(&s->top);
    struct pool_limits limits = {(uint32_t)top->workers_max, (uint64_t)top->memory_max_bytes};
    pool_commit(settings, count, &limits);
}

static enum phase_result handle(struct exchange *ex)
{
    const struct app_conf *app = app_conf(ex);
    if (!app)
        return PHASE_NEXT;
    restart_file_look(pool_restart_file(app->pool), ex, app);
    switch (app->type) {
    case APP_CONF_PHP:
        return php_handle(ex, app);
    case APP_CONF_LSAPI:
        return command_handle(ex, app);
    }
    return PHASE_NEXT;
}

static bool runs_script(const struct exchange *ex, struct str file_name)
{
    const struct app_conf *app = app_conf(ex);
    return app && app->type == APP_CONF_PHP && php_is_script(app, file_name);
}

struct module app_conf_module = {
    .name = "app",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .block_keys = BLOCK_KEYS,
    .block_key_count = ARRAY_LEN(BLOCK_KEYS),
    .conf_size = sizeof(struct app_use),
    .hooks = {[PHASE_HANDLE] = handle},
    .runs_script = runs_script,
    .start = start,
};
