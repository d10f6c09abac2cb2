// SPDX-License-Identifier: Apache-2.0
// app_conf -- see app_conf.h. The rows of the block are in app_conf_block.c, the plan for the
// keeper is in app_conf_plan.c.
#include "app/app_conf.h"

#include <string.h>

#include "app/app_conf_block.h"
#include "app/command.h"
#include "app/php.h"
#include "app/php_ini.h"
#include "app/php_program.h"
#include "app/pool.h"
#include "app/restart_file.h"
#include "base/assert.h"
#include "base/map.h"
#include "core/exchange.h"
#include "os/proc.h"

#define WORKERS_PER_CPU 4
#define WORKERS_LEAST   4

// What a scope holds.
struct app_use {
    struct app_conf *app; // NULL: none
    int64_t workers_max, memory_max_bytes;
    struct key_words php_search;
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
        .name = "php_search",
        .type = &KEY_WORDS,
        .offset = offsetof(struct app_use, php_search),
        .scopes = KEY_TOP,
        .max = 16,
        .help =
            "Directories that are searched for PHP before the usual places: for godwit-php and godwit-php8.2, "
            "lsphp, lsphp8.2 and lsphp82/bin/lsphp, php-cgi and php-cgi8.2, or what the version is.",
        .example = "/opt/php /srv/lsws",
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
    if (app->version.len && (app->type != APP_CONF_PHP || app->command.count))
        return tree_error(err, app->pos, "version is for app php without a command");
    if (app->version.len && !php_program_is_version(app->version)) {
        return tree_error(err, app->pos, "version is \"%.*s\", one like 8.2 was expected",
                          STR_ARG(app->version));
    }
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
        app->special[i].value = php_ini_value(pair->value, a);
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
    if (node->arg_count == 2 && php_program_is_version(node->args[1])) {
        ok = tree_error(err, node->arg_pos[1],
                        "%.*s would be a name here; a version is chosen inside: { version %.*s; }",
                        STR_ARG(node->args[1]), STR_ARG(node->args[1]));
    }
    if (node->arg_count == 2)
        app->name = arena_dup(a, node->args[1]);
    key_defaults(app_conf_block_keys, APP_CONF_BLOCK_COUNT, a, app);
    ok = module_apply_block(node, app_conf_block_keys, APP_CONF_BLOCK_COUNT, a, app, err) && ok;
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
    const struct scope *top;
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
    app->search = &use_at(l->top)->php_search;
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
    struct listing l = {.arena = a, .top = &s->top, .err = err};
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

// Relative to what, a list could not say.
static bool check(void *conf, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    const struct app_use *use = conf;
    (void)a;
    for (size_t i = 0; scope == KEY_TOP && i < use->php_search.count; i++) {
        if (!str_starts(use->php_search.items[i], STR("/"))) {
            return tree_error(err, pos, "php_search has %.*s, absolute paths were expected",
                              STR_ARG(use->php_search.items[i]));
        }
    }
    return true;
}

struct module app_conf_module = {
    .name = "app",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .block_keys = app_conf_block_keys,
    .block_key_count = APP_CONF_BLOCK_COUNT,
    .conf_size = sizeof(struct app_use),
    .check = check,
    .hooks = {[PHASE_HANDLE] = handle},
    .runs_script = runs_script,
    .start = start,
};
