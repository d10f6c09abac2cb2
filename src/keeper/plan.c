// SPDX-License-Identifier: Apache-2.0
// plan -- see plan.h. A version word, then the fields in the order of the structs: integers
// little-endian, byte runs with their length in front, tables with their count in front. Nothing
// may follow. Another version is refused: the writer is meant to be the same binary.
#include "keeper/plan.h"

#include <string.h>

#include "base/map.h"
#include "base/rd.h"
#include "base/wr.h"
#include "wire/scoreboard.h"

#define VERSION       0x47500003u
#define APP_BYTES_MIN 52 // of one app without any text

static void put_bytes(struct buf *out, struct str bytes)
{
    // Without a ceiling nothing is refused.
    (void)!buf_put(out, bytes);
}

static void put_u32(struct buf *out, uint32_t value)
{
    char room[4];
    struct wr w = {.ptr = room, .size = sizeof room};
    wr_u32le(&w, value);
    put_bytes(out, wr_view(&w));
}

static void put_u64(struct buf *out, uint64_t value)
{
    char room[8];
    struct wr w = {.ptr = room, .size = sizeof room};
    wr_u64le(&w, value);
    put_bytes(out, wr_view(&w));
}

static void put_str(struct buf *out, struct str s)
{
    put_u32(out, (uint32_t)s.len);
    put_bytes(out, s);
}

static void put_strings(struct buf *out, const char *const *list)
{
    uint32_t count = 0;
    while (list && list[count])
        count++;
    put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        put_str(out, str_c(list[i]));
}

static void put_user(struct buf *out, bool has_user, const struct proc_user *user)
{
    put_u32(out, has_user);
    if (!has_user)
        return;
    put_u32(out, user->uid);
    put_u32(out, user->gid);
    put_u32(out, (uint32_t)user->group_count);
    for (size_t i = 0; i < user->group_count; i++)
        put_u32(out, user->groups[i]);
}

static void put_app(struct buf *out, const struct plan_app *app)
{
    put_str(out, app->name);
    put_u64(out, app->digest);
    put_strings(out, app->argv);
    put_str(out, str_c(app->program));
    put_strings(out, app->envp);
    put_str(out, str_c(app->dir));
    put_user(out, app->has_user, &app->user);
    put_u32(out, app->workers_max);
    put_u64(out, app->start_ms);
    put_u64(out, app->stop_ms);
    put_u32(out, app->keep_children);
}

static bool get_bool(struct rd *r)
{
    uint32_t value = rd_u32le(r);
    if (value > 1)
        r->failed = true;
    return value == 1;
}

// A count of elements of at least `least` bytes each; 0 and failed when so many can't follow.
static size_t get_count(struct rd *r, size_t least)
{
    uint32_t count = rd_u32le(r);
    if (count <= r->left.len / least)
        return count;
    r->failed = true;
    return 0;
}

static struct str get_str(struct rd *r, struct arena *a)
{
    return arena_dup(a, rd_str(r));
}

static const char *get_cstr(struct rd *r, struct arena *a)
{
    const char *text = arena_cstr(a, rd_str(r));
    if (!text)
        r->failed = true;
    return text;
}

static const char *const *get_strings(struct rd *r, struct arena *a)
{
    size_t count = get_count(r, 4);
    const char **list = arena_array(a, const char *, count + 1);
    for (size_t i = 0; i < count && rd_ok(r); i++)
        list[i] = get_cstr(r, a);
    return list;
}

static bool get_user(struct rd *r, struct proc_user *out)
{
    if (!get_bool(r))
        return false;
    out->uid = rd_u32le(r);
    out->gid = rd_u32le(r);
    out->group_count = get_count(r, 4);
    if (out->group_count > ARRAY_LEN(out->groups)) {
        r->failed = true;
        return false;
    }
    for (size_t i = 0; i < out->group_count; i++)
        out->groups[i] = rd_u32le(r);
    return true;
}

static void get_app(struct rd *r, struct arena *a, struct plan_app *app)
{
    app->name = get_str(r, a);
    app->digest = rd_u64le(r);
    app->argv = get_strings(r, a);
    app->program = get_cstr(r, a);
    app->envp = get_strings(r, a);
    const char *dir = get_cstr(r, a);
    app->dir = dir && *dir ? dir : NULL;
    app->has_user = get_user(r, &app->user);
    app->workers_max = rd_u32le(r);
    app->start_ms = rd_u64le(r);
    app->stop_ms = rd_u64le(r);
    app->keep_children = get_bool(r);
    if (app->name.len == 0 || !rd_ok(r) || !app->argv[0] || app->argv[0][0] != '/'
        || app->workers_max == 0 || app->workers_max > SCOREBOARD_RECORDS_MAX)
        r->failed = true;
}

static void get_error_log(struct rd *r, struct arena *a, struct plan *plan)
{
    plan->error_log = get_str(r, a);
    uint32_t level = rd_u32le(r);
    uint32_t format = rd_u32le(r);
    bool is_known = str_eq(plan->error_log, STR("stderr"));
    for (size_t i = 0; i < plan->log_count && !is_known; i++)
        is_known = str_eq(plan->logs[i].name, plan->error_log);
    if (!is_known || level > LOG_DEBUG || format > LOG_JOURNALD) {
        r->failed = true;
        return;
    }
    plan->log_level = (enum log_level)level;
    plan->log_format = (enum log_format)format;
}

static bool is_instance(struct str name)
{
    static const char OTHERS[] = "._-";
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alnum && !memchr(OTHERS, c, sizeof OTHERS - 1))
            return false;
    }
    return name.len > 0 && name.ptr[0] != '.';
}

static bool names_are_unique(const struct plan *plan)
{
    struct map seen = {0};
    bool unique = true;
    for (size_t i = 0; i < plan->app_count && unique; i++)
        unique = !map_put(&seen, plan->apps[i].name, &plan->apps[i]);
    map_done(&seen);
    return unique;
}

void plan_encode(const struct plan *plan, struct buf *out)
{
    put_u32(out, VERSION);
    put_str(out, plan->instance);
    put_user(out, plan->has_user, &plan->user);
    put_u32(out, plan->threads);
    put_u64(out, plan->drain_ms);
    put_u32(out, (uint32_t)plan->listener_count);
    for (size_t i = 0; i < plan->listener_count; i++) {
        put_str(out, plan->listeners[i].address);
        put_u32(out, plan->listeners[i].mode);
        put_u32(out, plan->listeners[i].is_tls);
    }
    put_u32(out, (uint32_t)plan->log_count);
    for (size_t i = 0; i < plan->log_count; i++)
        put_str(out, plan->logs[i].name);
    put_str(out, plan->error_log);
    put_u32(out, plan->log_level);
    put_u32(out, plan->log_format);
    put_u32(out, (uint32_t)plan->app_count);
    for (size_t i = 0; i < plan->app_count; i++)
        put_app(out, &plan->apps[i]);
}

bool plan_decode(struct str bytes, struct arena *a, struct plan *out)
{
    struct rd r = {.left = bytes};
    struct plan plan = {0};
    if (rd_u32le(&r) != VERSION)
        return false;
    plan.instance = get_str(&r, a);
    plan.has_user = get_user(&r, &plan.user);
    plan.threads = rd_u32le(&r);
    plan.drain_ms = rd_u64le(&r);
    plan.listener_count = get_count(&r, 12);
    plan.listeners = arena_array(a, struct plan_listener, plan.listener_count);
    for (size_t i = 0; i < plan.listener_count && rd_ok(&r); i++) {
        plan.listeners[i].address = get_str(&r, a);
        plan.listeners[i].mode = rd_u32le(&r);
        plan.listeners[i].is_tls = rd_u32le(&r) != 0;
    }
    plan.log_count = get_count(&r, 4);
    plan.logs = arena_array(a, struct plan_log, plan.log_count);
    for (size_t i = 0; i < plan.log_count && rd_ok(&r); i++)
        plan.logs[i].name = get_str(&r, a);
    get_error_log(&r, a, &plan);
    plan.app_count = get_count(&r, APP_BYTES_MIN);
    plan.apps = arena_array(a, struct plan_app, plan.app_count);
    for (size_t i = 0; i < plan.app_count && rd_ok(&r); i++)
        get_app(&r, a, &plan.apps[i]);
    if (!rd_end(&r) || !is_instance(plan.instance) || !names_are_unique(&plan))
        return false;
    *out = plan;
    return true;
}

struct plan_app *plan_app_find(const struct plan *plan, struct str name)
{
    for (size_t i = 0; i < plan->app_count; i++)
        if (str_eq(plan->apps[i].name, name))
            return &plan->apps[i];
    return NULL;
}
