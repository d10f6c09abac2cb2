// SPDX-License-Identifier: Apache-2.0
// loader_plan -- see loader_plan.h.
#include "main/loader_plan.h"

#include <unistd.h>

#include "app/app_conf.h"
#include "core/listen.h"
#include "core/server_conf.h"
#include "feature/access_log.h"

#define USER_DEFAULT "www-data" // of a server that root starts without `user`
#define LOGS_MAX     1024

static bool find_user(const struct server_conf *conf, struct arena *a, struct plan *plan,
                      struct err *err)
{
    if (geteuid() != 0)
        return true; // the server stays who we are; `user` was refused before
    bool is_given = conf->user.count > 0;
    const char *name = is_given ? arena_cstr(a, conf->user.items[0]) : USER_DEFAULT;
    const char *group = conf->user.count > 1 ? arena_cstr(a, conf->user.items[1]) : NULL;
    plan->has_user = name && proc_user_find(name, group, &plan->user);
    if (plan->has_user && plan->user.uid == 0) {
        return err_set(
            err,
            "user is %s, another than root was expected: what talks to the network must not be root",
            name);
    }
    if (!plan->has_user && !is_given) {
        return err_set(err, "there is no user " USER_DEFAULT
                            ", the directive user with an ordinary user was expected");
    }
    return plan->has_user || err_set(err, "there is no user %s", name);
}

static void list_listeners(const struct snapshot *s, struct arena *a, struct plan *plan)
{
    const struct listen_address *addresses = listen_addresses(s, &plan->listener_count);
    plan->listeners = arena_array(a, struct plan_listener, plan->listener_count);
    for (size_t i = 0; i < plan->listener_count; i++)
        plan->listeners[i] =
            (struct plan_listener){addresses[i].text, addresses[i].mode, addresses[i].tls};
}

static void add_log(struct plan *plan, struct str name)
{
    for (size_t i = 0; i < plan->log_count; i++) {
        if (str_eq(plan->logs[i].name, name))
            return;
    }
    plan->logs[plan->log_count++].name = name;
}

static bool list_logs(const struct snapshot *s, struct arena *a, struct plan *plan, struct err *err)
{
    struct str *paths = arena_array(a, struct str, LOGS_MAX);
    size_t count = access_log_paths(s, paths, LOGS_MAX);
    if (count > LOGS_MAX) {
        return err_set(err, "the sites have %zu access logs, at most %d were expected", count,
                       LOGS_MAX);
    }
    plan->logs = arena_array(a, struct plan_log, count + 1);
    add_log(plan, server_conf(s)->error_log);
    for (size_t i = 0; i < count; i++)
        add_log(plan, paths[i]);
    return true;
}

bool loader_plan_make(const struct snapshot *s, const char *instance, struct arena *a,
                      struct plan *out, struct err *err)
{
    const struct server_conf *conf = server_conf(s);
    struct plan plan = {
        .instance = str_c(instance),
        .threads = (uint32_t)conf->threads,
        .drain_ms = (uint64_t)conf->drain_ms,
        .error_log = conf->error_log,
        .log_level = (enum log_level)conf->log_level,
        .log_format = (enum log_format)conf->log_format,
    };
    bool ok = find_user(conf, a, &plan, err);
    list_listeners(s, a, &plan);
    ok = list_logs(s, a, &plan, err) && ok;
    ok = app_conf_plan(s, a, &plan.apps, &plan.app_count, err) && ok;
    if (ok)
        *out = plan;
    return ok;
}
