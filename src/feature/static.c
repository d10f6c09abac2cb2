// SPDX-License-Identifier: Apache-2.0
// static -- see static.h.
#include "feature/static.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "core/exchange.h"
#include "core/target.h"
#include "feature/static_cache.h"
#include "http/condition.h"
#include "http/range.h"
#include "os/fd.h"
#include "os/look.h"

// A file changed this shortly before it was read may change again within the same tick of the file
// system's clock, and look the same: it is not kept.
#define SETTLED_AFTER_S 2

struct static_conf {
    int64_t cache_bytes_max;
};

static const struct key KEYS[] = {
    {
        .name = "file_cache",
        .type = &KEY_SIZE,
        .offset = offsetof(struct static_conf, cache_bytes_max),
        .scopes = KEY_TOP,
        .def = "8m",
        .min = 0,
        .max = (int64_t)1 << 40,
        .unit = "bytes",
        .help = "How much memory each thread may use to keep small files (up to 16 KiB each), so "
                "that they are sent without opening them. 0 keeps none.",
        .example = "32m",
    },
};

// Sources that are sent to nobody when no app runs them.
static bool is_source(struct str name)
{
    static const struct str ENDS[] = {
        STR_INIT(".php"),  STR_INIT(".phtml"), STR_INIT(".phar"), STR_INIT(".php3"),
        STR_INIT(".php4"), STR_INIT(".php5"),  STR_INIT(".php7"), STR_INIT(".php8"),
    };
    size_t dot = str_rfind(name, '.');
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++)
        if (str_eq_nocase(str_skip(name, dot), ENDS[i]))
            return true;
    return false;
}

static void unref_file(void *arg)
{
    static_cache_unref(arg);
}

// A file ready to be answered with: held until the exchange is over.
struct opened {
    const struct static_file *file;
    int fd; // FD_NONE: the content is in memory
};

static bool read_content(int fd, char *room, size_t size)
{
    size_t len = 0;
    while (len < size) {
        ssize_t n = fd_read(fd, room + len, size - len);
        if (n <= 0)
            return false;
        len += (size_t)n;
    }
    return true;
}

// Makes the description of what `fd` is open on; small content is read and kept.
static struct opened describe(struct exchange *ex, int fd, const struct look *facts)
{
    struct thread *t = ex->thread;
    const char *bytes = NULL;
    // The scratch holds nothing of ours between two calls.
    if (facts->size <= STATIC_CACHE_FILE_BYTES_MAX
        && read_content(fd, t->scratch, (size_t)facts->size))
        bytes = t->scratch;
    struct static_file *file = static_cache_new(ex->target.file, facts, bytes);
    arena_defer(&ex->arena, unref_file, file);
    if (!bytes)
        return (struct opened){file, fd};
    fd_close(&fd);
    const struct static_conf *conf = module_conf(ex, &static_module);
    if (facts->mtime_s + SETTLED_AFTER_S < loop_wall_us(t->loop) / 1000000)
        static_cache_put(t, file, conf->cache_bytes_max);
    return (struct opened){file, FD_NONE};
}

// 0 or -errno; -ENOENT when there is no regular file any more.
static int open_file(struct exchange *ex, struct opened *out)
{
    const struct target *target = &ex->target;
    struct look facts = {
        .kind = LOOK_FILE,
        .size = target->size,
        .mtime_s = target->mtime_s,
        .mtime_ns = target->mtime_ns,
        .inode = target->inode,
    };
    struct static_file *kept = static_cache_find(ex->thread, target->file, &facts);
    if (kept) {
        arena_defer(&ex->arena, unref_file, kept);
        *out = (struct opened){kept, FD_NONE};
        return 0;
    }
    int fd = look_open(target->file.ptr);
    if (fd < 0)
        return fd;
    // What was opened may be another file than the one seen before.
    int rc = look_behind(fd, &facts);
    if (rc == 0 && facts.kind != LOOK_FILE)
        rc = -ENOENT;
    if (rc < 0)
        fd_close(&fd);
    else
        *out = describe(ex, fd, &facts);
    return rc;
}

static void refuse_open(struct exchange *ex, int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        exchange_refuse(ex, 404, NULL, "There is no such file.");
        break;
    case EACCES:
    case EPERM:
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

static void set_body(struct exchange *ex, struct opened *opened, uint64_t first, uint64_t len)
{
    ex->resp.body = opened->fd == FD_NONE
                        ? body_text(&ex->arena, str_n(opened->file->content.ptr + first, len))
                        : body_file(&ex->arena, opened->fd, (off_t)first, len);
    opened->fd = FD_NONE;
}

static void answer_range(struct exchange *ex, struct opened *opened, const struct range *range)
{
    ex->resp.status = 206;
    header_list_add_id(&ex->resp.headers, HEADER_CONTENT_RANGE,
                       arena_fmt(&ex->arena, "bytes %llu-%llu/%lld",
                                 (unsigned long long)range->first,
                                 (unsigned long long)(range->first + range->len - 1),
                                 (long long)opened->file->facts.size));
    set_body(ex, opened, range->first, range->len);
}

static void refuse_range(struct exchange *ex, const struct static_file *file)
{
    header_list_add_id(&ex->resp.headers, HEADER_CONTENT_RANGE,
                       arena_fmt(&ex->arena, "bytes */%lld", (long long)file->facts.size));
    exchange_refuse(ex, 416, NULL, "The range lies behind the end of the file.");
}

// Tells whether the exchange was answered with a refusal.
static bool answer_content(struct exchange *ex, struct opened *opened, bool range_applies)
{
    uint64_t size = (uint64_t)opened->file->facts.size;
    struct range_set set = {.count = 0};
    enum range_result result = RANGE_NONE;
    if (range_applies)
        result = range_parse(header_list_value(&ex->req.headers, HEADER_RANGE), size, &set);
    if (result == RANGE_UNSATISFIABLE) {
        refuse_range(ex, opened->file);
        return true;
    }
    // Several ranges may be answered with the whole (RFC 9110 §14.2).
    if (result == RANGE_OK && set.count == 1) {
        answer_range(ex, opened, &set.ranges[0]);
    } else {
        ex->resp.status = 200;
        set_body(ex, opened, 0, size);
    }
    return false;
}

static void answer(struct exchange *ex, struct opened *opened)
{
    const struct static_file *file = opened->file;
    bool range_applies = false;
    enum condition_result verdict = evaluate(ex, file, &range_applies);
    if (verdict == CONDITION_FAILED) {
        exchange_refuse(ex, 412, NULL, "A condition of the request is not met.");
        return;
    }
    struct header_list *headers = &ex->resp.headers;
    header_list_add_id(headers, HEADER_LAST_MODIFIED, file->last_modified);
    header_list_add_id(headers, HEADER_ETAG, file->etag);
    if (verdict == CONDITION_NOT_MODIFIED) {
        ex->resp.status = 304;
    } else {
        header_list_add_id(headers, HEADER_CONTENT_TYPE, file->content_type);
        header_list_add_id(headers, HEADER_ACCEPT_RANGES, STR("bytes"));
        if (answer_content(ex, opened, range_applies))
            return;
    }
    exchange_respond(ex);
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
    struct opened opened;
    int rc = open_file(ex, &opened);
    if (rc < 0) {
        refuse_open(ex, -rc);
        return;
    }
    answer(ex, &opened);
    fd_close(&opened.fd);
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
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct static_conf),
    .hooks = {[PHASE_HANDLE] = handle},
};
