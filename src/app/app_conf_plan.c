// SPDX-License-Identifier: Apache-2.0
// app_conf_plan -- what the keeper must know of the apps, see app_conf.h: programs, environments,
// users and a digest of it all.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app_conf.h"
#include "base/hash.h"
#include "core/server_conf.h"
#include "core/site_conf.h"
#include "os/proc.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LANG_DEFAULT "C.UTF-8"
#define SERVER_USER  "www-data" // of an instance that root starts without `user`
#define ENV_OWN      4          // variables that each app has

static void fold(struct buf *out, struct str s)
{
    buf_fmt(out, "%zu:%.*s,", s.len, STR_ARG(s));
}

static void fold_words(struct buf *out, const struct key_words *words)
{
    buf_fmt(out, "%zu words ", words->count);
    for (size_t i = 0; i < words->count; i++)
        fold(out, words->items[i]);
}

static void fold_pairs(struct buf *out, const struct key_pairs *pairs)
{
    buf_fmt(out, "%zu pairs ", pairs->count);
    for (size_t i = 0; i < pairs->count; i++) {
        fold(out, pairs->items[i].name);
        fold(out, pairs->items[i].value);
    }
}

uint64_t app_conf_digest(const struct app_conf *app)
{
    struct buf text = {0};
    buf_fmt(&text, "%d %d ", (int)app->type, app->keep_children);
    fold_words(&text, &app->user);
    fold_words(&text, &app->command);
    fold(&text, app->directory);
    fold_pairs(&text, &app->env);
    fold_pairs(&text, &app->ini);
    if (!app->user.count && app->site) // its owner is the app's user
        fold(&text, site_conf_at(&app->site->scope)->root);
    uint64_t digest = hash_fixed(buf_view(&text));
    buf_done(&text);
    return digest;
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

// A program named without "/" as a shell would find it; NULL when there is none.
static const char *find_in_path(struct arena *a, struct str name)
{
    struct str rest = STR(PATH_DEFAULT);
    while (rest.ptr) {
        struct str dir = str_cut(&rest, ':');
        const char *path = arena_fmt(a, "%.*s/%.*s", STR_ARG(dir), STR_ARG(name)).ptr;
        if (is_program(path))
            return path;
    }
    return NULL;
}

// godwit-php lies in a place known from this program's: in the build tree or as installed.
static const char *find_php(struct arena *a)
{
    static const char *const PLACES[] = {
        "runtime/php/godwit-php",       "../runtime/php/godwit-php", "../../runtime/php/godwit-php",
        "../libexec/godwit/godwit-php", "../lib/godwit/godwit-php",  "godwit-php",
    };
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self);
    if (len <= 0 || (size_t)len == sizeof self)
        return NULL;
    struct str dir =
        str_slice(str_n(self, (size_t)len), 0, str_rfind(str_n(self, (size_t)len), '/'));
    for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
        const char *path = arena_fmt(a, "%.*s/%s", STR_ARG(dir), PLACES[i]).ptr;
        if (is_program(path))
            return path;
    }
    return NULL;
}

static const char *find_program(const struct app_conf *app, struct arena *a, struct err *err)
{
    if (!app->command.count) {
        const char *php = find_php(a);
        if (!php) {
            tree_error(err, app->pos,
                       "app php needs the program godwit-php, which is not installed "
                       "beside this one");
        }
        return php;
    }
    struct str name = app->command.items[0];
    const char *path =
        str_find(name, '/') < name.len ? arena_dup(a, name).ptr : find_in_path(a, name);
    if (path && path[0] == '/' && is_program(path))
        return path;
    tree_error(err, app->pos,
               "command is %.*s, a program that exists was expected (an absolute path, "
               "or a name in " PATH_DEFAULT ")",
               STR_ARG(name));
    return NULL;
}

// godwit-php takes settings as options: -d NAME=VALUE.
static void add_settings(const char **argv, size_t *count, const struct key_pairs *pairs,
                         struct arena *a)
{
    for (size_t i = 0; i < pairs->count; i++) {
        argv[(*count)++] = "-d";
        argv[(*count)++] =
            arena_fmt(a, "%.*s=%.*s", STR_ARG(pairs->items[i].name), STR_ARG(pairs->items[i].value))
                .ptr;
    }
}

static bool make_argv(const struct app_conf *app, struct arena *a, struct plan_app *out,
                      struct err *err)
{
    const char *program = find_program(app, a, err);
    if (!program)
        return false;
    size_t most = 2 + app->command.count + 2 * app->ini.count;
    const char **argv = arena_array(a, const char *, most);
    size_t count = 0;
    argv[count++] = program;
    for (size_t i = 1; i < app->command.count; i++)
        argv[count++] = arena_dup(a, app->command.items[i]).ptr;
    if (!app->command.count)
        add_settings(argv, &count, &app->ini, a);
    out->argv = argv;
    return true;
}

// The owner of the site's root directory, unless that is root.
static bool find_owner(const struct app_conf *app, struct arena *a, struct proc_user *out)
{
    struct stat st;
    char room[64];
    struct str root = app->site ? site_conf_at(&app->site->scope)->root : STR("");
    const char *path = root.len ? arena_cstr(a, root) : NULL;
    if (!path || stat(path, &st) < 0 || st.st_uid == 0)
        return false;
    if (proc_user_find(proc_user_name(st.st_uid, room), NULL, out))
        return true;
    // An owner that has no name on this machine: no groups either.
    *out = (struct proc_user){.uid = st.st_uid, .gid = st.st_gid};
    return st.st_gid != 0;
}

static bool find_server_user(const struct snapshot *s, struct arena *a, struct proc_user *out)
{
    const struct key_words *user = &server_conf(s)->user;
    const char *name = user->count ? arena_cstr(a, user->items[0]) : SERVER_USER;
    const char *group = user->count > 1 ? arena_cstr(a, user->items[1]) : NULL;
    return name && proc_user_find(name, group, out);
}

static bool find_user(const struct snapshot *s, const struct app_conf *app, struct arena *a,
                      struct plan_app *out, struct err *err)
{
    if (geteuid() != 0) {
        if (app->user.count) {
            return tree_error(err, app->pos,
                              "user of an app can only be chosen when root starts the "
                              "instance, no user was expected");
        }
        return true;
    }
    bool found;
    if (app->user.count) {
        const char *name = arena_cstr(a, app->user.items[0]);
        const char *group = app->user.count > 1 ? arena_cstr(a, app->user.items[1]) : NULL;
        found = name && proc_user_find(name, group, &out->user);
    } else {
        found = find_owner(app, a, &out->user) || find_server_user(s, a, &out->user);
    }
    if (!found)
        return tree_error(err, app->pos, "the user that app \"%.*s\" is to run as does not exist",
                          STR_ARG(app->name));
    if (out->user.uid == 0) {
        return tree_error(err, app->pos,
                          "app \"%.*s\" would run as root, another user was expected",
                          STR_ARG(app->name));
    }
    out->has_user = true;
    return true;
}

static bool has_pair(const struct key_pairs *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (str_eq(pairs->items[i].name, str_c(name)))
            return true;
    return false;
}

static void add_own(const struct app_conf *app, const char **envp, size_t *count, const char *name,
                    const char *value, struct arena *a)
{
    if (!has_pair(&app->env, name))
        envp[(*count)++] = arena_fmt(a, "%s=%s", name, value).ptr;
}

static void make_envp(const struct app_conf *app, struct arena *a, struct plan_app *out)
{
    char name[64];
    char home[PROC_HOME_MAX];
    uid_t uid = out->has_user ? out->user.uid : geteuid();
    const char **envp = arena_array(a, const char *, ENV_OWN + app->env.count + 1);
    size_t count = 0;
    add_own(app, envp, &count, "PATH", PATH_DEFAULT, a);
    add_own(app, envp, &count, "HOME", proc_user_home(uid, home), a);
    add_own(app, envp, &count, "USER", proc_user_name(uid, name), a);
    add_own(app, envp, &count, "LANG", LANG_DEFAULT, a);
    for (size_t i = 0; i < app->env.count; i++) {
        envp[count++] = arena_fmt(a, "%.*s=%.*s", STR_ARG(app->env.items[i].name),
                                  STR_ARG(app->env.items[i].value))
                            .ptr;
    }
    out->envp = envp;
}

static bool plan_one(const struct snapshot *s, const struct app_conf *app, struct arena *a,
                     struct plan_app *out, struct err *err)
{
    struct plan_app plan = {
        .name = app->name,
        .digest = app_conf_digest(app),
        .dir = app->directory.len ? app->directory.ptr : "/",
        .workers_max = (uint32_t)app->workers.max,
        .start_ms = (uint64_t)app->start_ms,
        .stop_ms = (uint64_t)app->stop_ms,
        .keep_children = app->keep_children,
    };
    bool ok = make_argv(app, a, &plan, err);
    ok = find_user(s, app, a, &plan, err) && ok;
    if (!ok)
        return false;
    make_envp(app, a, &plan);
    *out = plan;
    return true;
}

bool app_conf_plan(const struct snapshot *s, struct arena *a, struct plan_app **out_apps,
                   size_t *out_count, struct err *err)
{
    struct app_conf **apps;
    size_t count;
    if (!app_conf_list(s, a, &apps, &count, err))
        return false;
    struct plan_app *plans = arena_array(a, struct plan_app, count + 1);
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        ok = plan_one(s, apps[i], a, &plans[i], err) && ok;
    if (!ok)
        return false;
    *out_apps = plans;
    *out_count = count;
    return true;
}
