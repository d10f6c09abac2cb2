// SPDX-License-Identifier: Apache-2.0
// app_conf_plan -- what the keeper must know of the apps, see app_conf.h: programs, environments,
// users and a digest of it all.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app_conf.h"
#include "app/php_ini.h"
#include "app/php_program.h"
#include "base/hash.h"
#include "core/server_conf.h"
#include "core/site_conf.h"
#include "os/proc.h"

#define LANG_DEFAULT "C.UTF-8"
#define SERVER_USER  "www-data" // of an instance that root starts without `user`
#define ENV_OWN      13         // variables that an app may have besides its own
#define LSPHP_SPARE  16
#define LSPHP_YEAR_S "31536000"

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
    fold(&text, app->version);
    fold(&text, app->directory);
    fold_pairs(&text, &app->env);
    fold_pairs(&text, &app->ini);
    fold_pairs(&text, &app->admin_ini);
    if (!app->user.count && app->site) // its owner is the app's user
        fold(&text, site_conf_at(&app->site->scope)->root);
    uint64_t digest = hash_fixed(buf_view(&text));
    buf_done(&text);
    return digest;
}

// The program that does the work.
static bool find_program(const struct app_conf *app, struct arena *a, struct php_program *out,
                         struct err *err)
{
    if (!app->command.count) {
        struct buf looked = {0};
        bool found = php_program_find(a, app->version, app->search, out, &looked);
        if (!found) {
            tree_error(
                err, app->pos, "app php needs PHP%s%.*s, which was not found; looked for: %.*s",
                app->version.len ? " " : "", STR_ARG(app->version), STR_ARG(buf_view(&looked)));
        }
        buf_done(&looked);
        return found;
    }
    struct str name = app->command.items[0];
    const char *path =
        str_find(name, '/') < name.len ? arena_dup(a, name).ptr : php_program_in_path(a, name);
    if (path && path[0] == '/' && php_program_is_there(path)) {
        bool is_php = app->type == APP_CONF_PHP;
        *out = (struct php_program){is_php ? php_program_kind(name) : PHP_PROGRAM_GODWIT, path};
        return true;
    }
    return tree_error(err, app->pos,
                      "command is %.*s, a program that exists was expected (an absolute path, "
                      "or a name in " PHP_PROGRAM_PATH ")",
                      STR_ARG(name));
}

// Our program that starts one that is not ours.
static const char *find_host(const struct app_conf *app, const struct php_program *program,
                             struct arena *a, struct err *err)
{
    bool is_cgi = program->kind == PHP_PROGRAM_CGI;
    const char *name = is_cgi ? "godwit-fcgi" : "godwit-lsapi";
    const char *path = php_program_own(a, is_cgi ? "fcgi" : "lsapi", str_c(name));
    if (!path) {
        tree_error(err, app->pos, "%s needs the program %s, which is not installed beside this one",
                   program->path, name);
    } else if (is_cgi && app->admin_ini.count) {
        // It has no settings for a request, and a script could change those of its start.
        tree_error(err, app->pos, "admin_ini cannot be kept by %s, another PHP was expected",
                   program->path);
        path = NULL;
    }
    return path;
}

// godwit-php, godwit-lsapi and php-cgi take settings as options: -d NAME=VALUE, the value as it
// stands in an ini file.
static void add_settings(const char **argv, size_t *count, const char *option,
                         const struct key_pairs *pairs, struct arena *a)
{
    for (size_t i = 0; i < pairs->count; i++) {
        argv[(*count)++] = option;
        argv[(*count)++] = arena_fmt(a, "%.*s=%s", STR_ARG(pairs->items[i].name),
                                     php_ini_text(pairs->items[i].value, a))
                               .ptr;
    }
}

// A program of `command` that is not known to take settings.
static bool is_foreign(const struct app_conf *app, const struct php_program *program)
{
    struct str path = str_c(program->path);
    size_t slash = str_rfind(path, '/');
    struct str name = str_slice(path, slash < path.len ? slash + 1 : 0, path.len);
    return program->kind == PHP_PROGRAM_GODWIT && app->command.count
           && !str_starts(name, STR("godwit-php"));
}

static bool make_argv(const struct app_conf *app, const struct php_program *program,
                      struct arena *a, struct plan_app *out, struct err *err)
{
    size_t most = 5 + app->command.count + 2 * (app->ini.count + app->admin_ini.count);
    const char **argv = arena_array(a, const char *, most);
    size_t count = 0;
    out->program = program->path;
    out->argv = argv;
    if (program->kind != PHP_PROGRAM_GODWIT)
        argv[count++] = find_host(app, program, a, err);
    // What no script may change goes with each request too, see app_conf: the start is for what PHP
    // heeds only there, such as disable_functions.
    if (program->kind == PHP_PROGRAM_LSPHP) {
        add_settings(argv, &count, "-d", &app->ini, a);
        add_settings(argv, &count, "-d", &app->admin_ini, a);
    }
    argv[count++] = program->path;
    for (size_t i = 1; i < app->command.count; i++)
        argv[count++] = arena_dup(a, app->command.items[i]).ptr;
    bool is_other = is_foreign(app, program);
    if (program->kind != PHP_PROGRAM_LSPHP && !is_other)
        add_settings(argv, &count, "-d", &app->ini, a);
    if (program->kind == PHP_PROGRAM_GODWIT && !is_other)
        add_settings(argv, &count, "-a", &app->admin_ini, a);
    if (is_other && app->ini.count + app->admin_ini.count) {
        return tree_error(err, app->pos,
                          "ini and admin_ini cannot be given to %s, a program whose name begins "
                          "with godwit-php, lsphp or php-cgi was expected",
                          program->path);
    }
    return argv[0] != NULL;
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

// What makes an lsphp a program that forks one process for each connection, and leaves the rest to
// us: how many there are, how long they live and when one is killed. The number of a process comes
// at once; acknowledgements are not needed, the end of a Unix socket tells what was taken.
static void add_lsphp(const struct app_conf *app, const char **envp, size_t *count, struct arena *a)
{
    // Not the limit that matters: those that leave and those that come for them stand beside.
    int64_t children = 2 * app->workers.max + LSPHP_SPARE;
    const char *text = arena_fmt(a, "%lld", (long long)children).ptr;
    add_own(app, envp, count, "PHP_LSAPI_CHILDREN", text, a);
    add_own(app, envp, count, "LSAPI_EXTRA_CHILDREN", "0", a);
    add_own(app, envp, count, "LSAPI_MAX_IDLE_CHILDREN", text, a);
    add_own(app, envp, count, "LSAPI_KEEP_LISTEN", "0", a);
    add_own(app, envp, count, "LSAPI_MAX_IDLE", LSPHP_YEAR_S, a);
    add_own(app, envp, count, "LSAPI_MAX_PROCESS_TIME", LSPHP_YEAR_S, a);
    add_own(app, envp, count, "LSAPI_PPID_NO_CHECK", "1", a);
    add_own(app, envp, count, "LSAPI_ACCEPT_NOTIFY", "1", a);
    add_own(app, envp, count, "LSPHP_ENABLE_USER_INI", "on", a);
}

static void make_envp(const struct app_conf *app, enum php_program_kind kind, struct arena *a,
                      struct plan_app *out)
{
    char name[64];
    char home[PROC_HOME_MAX];
    uid_t uid = out->has_user ? out->user.uid : geteuid();
    const char **envp = arena_array(a, const char *, ENV_OWN + app->env.count + 1);
    size_t count = 0;
    add_own(app, envp, &count, "PATH", PHP_PROGRAM_PATH, a);
    add_own(app, envp, &count, "HOME", proc_user_home(uid, home), a);
    add_own(app, envp, &count, "USER", proc_user_name(uid, name), a);
    add_own(app, envp, &count, "LANG", LANG_DEFAULT, a);
    if (kind == PHP_PROGRAM_LSPHP)
        add_lsphp(app, envp, &count, a);
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
    struct php_program program;
    bool ok = find_program(app, a, &program, err) && make_argv(app, &program, a, &plan, err);
    ok = find_user(s, app, a, &plan, err) && ok;
    if (!ok)
        return false;
    make_envp(app, program.kind, a, &plan);
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
