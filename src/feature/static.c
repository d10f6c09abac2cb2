// SPDX-License-Identifier: Apache-2.0
// static -- see static.h.
#include "feature/static.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "core/exchange.h"
#include "core/target.h"
#include "feature/static_body.h"
#include "feature/static_cache.h"
#include "feature/static_conf.h"
#include "feature/static_type.h"
#include "feature/static_variant.h"
#include "http/condition.h"
#include "http/range.h"
#include "os/fd.h"
#include "os/look.h"

// A file changed this shortly before it was read may change again within the same tick of the file
// system's clock, and look the same: it is not kept.
#define SETTLED_AFTER_S 2

static const char ACCEPT_RANGES_LINE[] = "Accept-Ranges: bytes\r\n";
static const struct header ACCEPT_RANGES = {
    .name = {ACCEPT_RANGES_LINE, sizeof "Accept-Ranges" - 1},
    .value = {ACCEPT_RANGES_LINE + sizeof "Accept-Ranges: " - 1, sizeof "bytes" - 1},
    .id = HEADER_ACCEPT_RANGES,
    .is_line = true,
};

// Sources that are sent to nobody when no app runs them.
static bool is_source(struct str name)
{
    static const struct str ENDS[] = {
        STR_INIT(".php"),  STR_INIT(".phtml"), STR_INIT(".phar"), STR_INIT(".php3"),
        STR_INIT(".php4"), STR_INIT(".php5"),  STR_INIT(".php7"), STR_INIT(".php8"),
    };
    size_t dot = str_rfind(name, '.');
    if (dot + 1 >= name.len || (name.ptr[dot + 1] != 'p' && name.ptr[dot + 1] != 'P'))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++)
        if (str_eq_nocase(str_skip(name, dot), ENDS[i]))
            return true;
    return false;
}

static void unref_file(void *arg)
{
    static_cache_unref(arg);
}

// Makes the description of what `fd` is open on, and keeps it.
static struct static_file *describe(struct exchange *ex, struct str path, int fd,
                                    const struct look *facts)
{
    const struct static_conf *conf = module_conf(ex, &static_module);
    struct thread *t = ex->thread;
    int64_t now_s = loop_wall_us(t->loop) / 1000000;
    struct static_file *file = static_cache_new(path, facts, fd, now_s);
    if (file->fd != FD_NONE || facts->mtime_s + SETTLED_AFTER_S < now_s)
        static_cache_put(t, file, conf->cache_bytes_max, conf->open_files_max);
    return file;
}

// The file is the exchange's until it is over. 0 or -errno; -ENOENT when there is no regular file
// any more.
static int open_file(struct exchange *ex, const struct static_variant *variant,
                     struct static_file **out)
{
    struct static_file *file =
        static_cache_find(ex->thread, variant->path, variant->path_hash, &variant->facts);
    if (!file) {
        int fd = target_open(ex, variant->path);
        if (fd < 0)
            return fd;
        // What was opened may be another file than the one seen before.
        struct look facts;
        int rc = look_behind(fd, &facts);
        if (rc == 0 && facts.kind != LOOK_FILE)
            rc = -ENOENT;
        if (rc < 0) {
            fd_close(&fd);
            return rc;
        }
        file = describe(ex, variant->path, fd, &facts);
    }
    arena_defer(&ex->arena, unref_file, file);
    *out = file;
    return 0;
}

static void refuse_open(struct exchange *ex, int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO: // a pipe or socket in its place
    case ENAMETOOLONG:
        exchange_refuse(ex, 404, NULL, "There is no such file.");
        break;
    case EACCES:
    case EPERM:
    case ELOOP:
        exchange_refuse(ex, 403, NULL, "The server may not read this file.");
        break;
    default:
        exchange_refuse(ex, 500, "static.failed", "A file could not be opened (%s).",
                        strerrordesc_np(error));
        break;
    }
}

// The verdict of the conditional headers; most requests have none.
static enum condition_result evaluate(const struct exchange *ex, const struct static_file *file,
                                      bool *out_range_applies)
{
    const struct header_list *headers = &ex->req.headers;
    struct condition c = {
        .if_match = header_list_joined(headers, HEADER_IF_MATCH),
        .if_none_match = header_list_joined(headers, HEADER_IF_NONE_MATCH),
        .if_modified_since = header_list_value(headers, HEADER_IF_MODIFIED_SINCE),
        .if_unmodified_since = header_list_value(headers, HEADER_IF_UNMODIFIED_SINCE),
        .if_range = header_list_value(headers, HEADER_IF_RANGE),
    };
    struct condition_state state = {
        .exists = true,
        .has_mtime = true,
        .mtime_s = file->facts.mtime_s,
        .etag = file->etag,
    };
    return condition_eval(&c, ex->req.method, &state, loop_wall_us(ex->thread->loop) / 1000000,
                          out_range_applies);
}

static void set_whole(struct exchange *ex, const struct static_file *file)
{
    struct range all = {0, (uint64_t)file->facts.size};
    ex->resp.status = 200;
    ex->resp.body = file->fd == FD_NONE ? body_text(&ex->arena, file->content)
                                        : static_body_range(&ex->arena, file, &all);
}

static void set_range(struct exchange *ex, const struct static_file *file,
                      const struct range *range)
{
    ex->resp.status = 206;
    header_list_add_id(&ex->resp.headers, HEADER_CONTENT_RANGE,
                       arena_fmt(&ex->arena, "bytes %llu-%llu/%lld",
                                 (unsigned long long)range->first,
                                 (unsigned long long)(range->first + range->len - 1),
                                 (long long)file->facts.size));
    ex->resp.body = static_body_range(&ex->arena, file, range);
}

static void set_ranges(struct exchange *ex, const struct static_file *file,
                       const struct range_set *set, struct str content_type)
{
    struct str boundary = arena_fmt(&ex->arena, "part-%s", ex->id);
    ex->resp.status = 206;
    header_list_set_id(
        &ex->resp.headers, HEADER_CONTENT_TYPE,
        arena_fmt(&ex->arena, "multipart/byteranges; boundary=%.*s", STR_ARG(boundary)));
    ex->resp.body = static_body_ranges(&ex->arena, file, set, content_type, boundary);
}

static void refuse_range(struct exchange *ex, const struct static_file *file)
{
    header_list_add_id(&ex->resp.headers, HEADER_CONTENT_RANGE,
                       arena_fmt(&ex->arena, "bytes */%lld", (long long)file->facts.size));
    exchange_refuse(ex, 416, NULL, "The range lies behind the end of the file.");
}

// Ranges that come to more than the whole are answered with that (RFC 9110 §14.2).
static bool is_less_than_all(const struct range_set *set, uint64_t size)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < set->count; i++)
        bytes += set->ranges[i].len;
    return set->count == 1 || bytes < size;
}

// Adds Content-Type, and returns its value. A compressed file has that of the one whose place it
// takes, so that is not kept with it.
static struct str add_type(struct exchange *ex, struct static_file *file, bool is_coded)
{
    const struct static_conf *conf = module_conf(ex, &static_module);
    uint32_t generation = ex->snapshot->generation;
    const struct header *kept = is_coded ? NULL : static_cache_type(file, conf, generation);
    if (!kept) {
        struct str type = static_type_of(conf, ex->target.file, &ex->arena);
        if (!is_coded && header_value_ok(type))
            kept = static_cache_keep_type(file, conf, generation, type);
        if (!kept) {
            header_list_add_id(&ex->resp.headers, HEADER_CONTENT_TYPE, type);
            return type;
        }
    }
    header_list_copy(&ex->resp.headers, kept, 1);
    return kept->value;
}

static void answer_content(struct exchange *ex, struct static_file *file, bool is_coded,
                           bool range_applies)
{
    uint64_t size = (uint64_t)file->facts.size;
    struct range_set set = {.count = 0};
    enum range_result result = RANGE_NONE;
    if (range_applies)
        result = range_parse(header_list_value(&ex->req.headers, HEADER_RANGE), size, &set);
    if (result == RANGE_UNSATISFIABLE) {
        refuse_range(ex, file);
        return;
    }
    struct str content_type = add_type(ex, file, is_coded);
    header_list_copy(&ex->resp.headers, &ACCEPT_RANGES, 1);
    if (result != RANGE_OK || !is_less_than_all(&set, size))
        set_whole(ex, file);
    else if (set.count == 1)
        set_range(ex, file, &set.ranges[0]);
    else
        set_ranges(ex, file, &set, content_type);
    exchange_respond(ex);
}

static void answer(struct exchange *ex, struct static_file *file,
                   const struct static_variant *variant)
{
    bool range_applies = false;
    enum condition_result verdict = evaluate(ex, file, &range_applies);
    if (verdict == CONDITION_FAILED) {
        exchange_refuse(ex, 412, NULL, "A condition of the request is not met.");
        return;
    }
    struct header_list *headers = &ex->resp.headers;
    header_list_copy(headers, file->fields, ARRAY_LEN(file->fields));
    if (variant->varies)
        header_list_add_id(headers, HEADER_VARY, STR("Accept-Encoding"));
    if (verdict == CONDITION_NOT_MODIFIED) {
        ex->resp.status = 304;
        exchange_respond(ex);
        return;
    }
    if (variant->coding.len)
        header_list_add_id(headers, HEADER_CONTENT_ENCODING, variant->coding);
    answer_content(ex, file, variant->coding.len > 0, range_applies);
}

static void serve(struct exchange *ex)
{
    if (ex->req.method != HTTP_GET && ex->req.method != HTTP_HEAD) {
        header_list_add_id(&ex->resp.headers, HEADER_ALLOW, STR("GET, HEAD"));
        exchange_refuse(ex, 405, NULL, "Files can only be read.");
        return;
    }
    if (is_source(ex->target.file)) {
        exchange_refuse(ex, 403, "static.script_refused",
                        "No app runs this script, and its source is not sent.");
        return;
    }
    struct static_variant variant = static_variant_choose(module_conf(ex, &static_module), ex);
    struct static_file *file;
    int rc = open_file(ex, &variant, &file);
    if (rc < 0)
        refuse_open(ex, -rc);
    else
        answer(ex, file, &variant);
}

static enum phase_result handle(struct exchange *ex)
{
    switch (target_need(ex)) {
    case TARGET_UNKNOWN:
        return PHASE_NEXT;
    case TARGET_NONE:
    case TARGET_SCRIPT:
        exchange_refuse(ex, 404, NULL, "There is no such file.");
        break;
    case TARGET_DIR:
        exchange_refuse(ex, 403, NULL, "This directory has no index file.");
        break;
    case TARGET_DENIED:
        exchange_refuse(ex, 403, NULL, "This file is not served.");
        break;
    case TARGET_FILE:
        serve(ex);
        break;
    }
    return PHASE_DONE;
}

struct module static_module = {
    .name = "static",
    .keys = STATIC_CONF_KEYS,
    .key_count = STATIC_CONF_KEY_COUNT,
    .conf_size = sizeof(struct static_conf),
    .hooks = {[PHASE_HANDLE] = handle},
};
