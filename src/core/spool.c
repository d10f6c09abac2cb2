// SPDX-License-Identifier: Apache-2.0
// spool -- see spool.h.
//
//   pulling --(memory full)--> writing, on a pool thread --(written)--> pulling ... --(end)--> over
//        '--(source has nothing)--> waiting --(on_more)--> pulling
// A spool whose exchange has ended while it writes is freed when the write is over.
#include "core/spool.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "os/fd.h"

struct spool_conf {
    int64_t body_max_bytes;
    int64_t memory_bytes;
    struct str dir;
    int64_t max_bytes;
};

static const struct key KEYS[] = {
    {
        .name = "body_max",
        .type = &KEY_SIZE,
        .offset = offsetof(struct spool_conf, body_max_bytes),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "64m",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help = "The largest request body that is taken in; a larger one is answered with 413. 0 "
                "sets no limit.",
        .example = "512m",
    },
    {
        .name = "body_memory",
        .type = &KEY_SIZE,
        .offset = offsetof(struct spool_conf, memory_bytes),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "64k",
        .min = 4096,
        .max = (int64_t)16 << 20,
        .unit = "bytes",
        .help = "How much of a request body is held in memory before it goes to a temporary file.",
        .example = "256k",
    },
    {
        .name = "spool_dir",
        .type = &KEY_FILE,
        .offset = offsetof(struct spool_conf, dir),
        .scopes = KEY_TOP,
        .def = "/var/tmp",
        .help =
            "The directory of temporary files for large bodies of requests and answers. They "
            "have no names there, so nothing is left behind. The server's user must be able to make "
            "files there.",
        .example = "/var/spool/godwit",
    },
    {
        .name = "spool_max",
        .type = &KEY_SIZE,
        .offset = offsetof(struct spool_conf, max_bytes),
        .scopes = KEY_TOP,
        .def = "10g",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help = "What all temporary files of the instance may hold together. Beyond it, a request "
                "body that needs a file is refused with 503 (with 413 if it is larger than all of "
                "this), and an answer waits for its client in the worker; a client that reads "
                "nothing for 5 s is cut if other requests wait for a worker. 0 sets no limit.",
        .example = "50g",
    },
};

struct module spool_module = {
    .name = "spool",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct spool_conf),
};

struct spool {
    struct exchange *ex; // NULL: has ended while a write runs
    spool_done_fn *on_done;
    void *arg;
    uint64_t body_max, memory_max; // bytes
    uint64_t total_bytes;
    struct buf memory; // not in the file yet
    struct spool_file file;
    uint64_t file_bytes;
    enum spool_room room; // why there is none
    // A write in progress.
    struct job job;
    bool writing, at_end;
    int write_error;
};

static void free_spool(struct spool *s)
{
    spool_file_done(&s->file);
    buf_done(&s->memory);
    mem_free(s);
}

static void on_exchange_over(void *arg)
{
    struct spool *s = arg;
    s->ex = NULL;
    if (!s->writing)
        free_spool(s);
}

// On a pool thread: touches file, memory and write_error only, which the loop's thread leaves
// alone.
static void write_out(struct job *job)
{
    struct spool *s = CONTAINER_OF(job, struct spool, job);
    s->write_error = spool_file_write(&s->file, buf_view(&s->memory), (int64_t)s->file_bytes);
}

static void on_written(struct job *job);

static enum spool_result start_writing(struct spool *s)
{
    struct thread *t = s->ex->thread;
    s->room = spool_file_never(&s->file, (int64_t)buf_len(&s->memory));
    if (s->room != SPOOL_ROOM_OK)
        return SPOOL_NEVER;
    s->room = spool_file_reserve(&s->file, buf_len(&s->memory));
    if (s->room != SPOOL_ROOM_OK)
        return SPOOL_NO_ROOM;
    metrics_add(&t->metrics, spool_bytes, (int64_t)buf_len(&s->memory));
    s->writing = true;
    s->job.work = write_out;
    s->job.on_done = on_written;
    jobs_submit(t->jobs, t->loop, &s->job);
    return SPOOL_WAIT;
}

static bool in_file(const struct spool *s)
{
    return s->file_bytes > 0;
}

static enum spool_result pump(struct spool *s)
{
    struct body *body = s->ex->req.body;
    while (!s->at_end) {
        if (buf_len(&s->memory) >= s->memory_max)
            return start_writing(s);
        struct body_chunk chunk;
        switch (body_pull(body, s->memory_max - buf_len(&s->memory), &chunk)) {
        case BODY_DATA:
            ASSERT(chunk.file == FD_NONE); // fronts read into memory
            s->total_bytes += chunk.bytes.len;
            if (s->body_max && s->total_bytes > s->body_max)
                return SPOOL_TOO_LARGE;
            if (!buf_put(&s->memory, chunk.bytes))
                return SPOOL_TOO_LARGE;
            break;
        case BODY_WAIT:
            return SPOOL_WAIT;
        case BODY_FAIL:
            return SPOOL_CUT;
        case BODY_END:
            s->at_end = true;
            break;
        }
    }
    return in_file(s) && buf_len(&s->memory) > 0 ? start_writing(s) : SPOOL_DONE;
}

static void go_on(struct spool *s)
{
    enum spool_result result = pump(s);
    if (result == SPOOL_WAIT || !s->on_done)
        return;
    spool_done_fn *on_done = s->on_done;
    s->on_done = NULL;
    on_done(s->ex, s->arg, result);
}

static void on_written(struct job *job)
{
    struct spool *s = CONTAINER_OF(job, struct spool, job);
    s->writing = false;
    if (!s->ex) {
        free_spool(s);
        return;
    }
    if (s->write_error == 0) {
        s->file_bytes += buf_len(&s->memory);
        buf_done(&s->memory); // the client may take its time for the rest
    }
    if (!s->on_done)
        return;
    if (s->write_error == 0) {
        go_on(s);
        return;
    }
    spool_done_fn *on_done = s->on_done;
    s->on_done = NULL;
    bool is_full = s->write_error == -ENOSPC || s->write_error == -EDQUOT;
    on_done(s->ex, s->arg, is_full ? SPOOL_DISK_FULL : SPOOL_FAILED);
}

static void on_more(void *arg)
{
    struct spool *s = arg;
    if (!s->writing && s->on_done)
        go_on(s);
}

static struct spool *new_spool(struct exchange *ex, struct spool_share share,
                               spool_done_fn *on_done, void *arg)
{
    const struct spool_conf *conf = module_conf(ex, &spool_module);
    struct spool *s = mem_new(struct spool);
    *s = (struct spool){
        .ex = ex,
        .on_done = on_done,
        .arg = arg,
        .body_max = (uint64_t)conf->body_max_bytes,
        .memory_max = (uint64_t)conf->memory_bytes,
    };
    spool_file_init(&s->file, ex, share);
    arena_defer(&ex->arena, on_exchange_over, s);
    return s;
}

bool spool_is_too_large(const struct exchange *ex)
{
    const struct spool_conf *conf = module_conf(ex, &spool_module);
    return conf->body_max_bytes && ex->req.content_length > conf->body_max_bytes;
}

// Before anything is read, or asked for with 100 Continue: whether a body of the length that the
// client has told finds room in a file. Nothing is reserved, as it may never come.
static enum spool_result foresee(struct spool *s)
{
    int64_t length = s->ex->req.content_length;
    if (spool_is_too_large(s->ex))
        return SPOOL_TOO_LARGE;
    if (length < 0 || (uint64_t)length < s->memory_max)
        return SPOOL_DONE;
    s->room = spool_file_never(&s->file, length);
    if (s->room != SPOOL_ROOM_OK)
        return SPOOL_NEVER;
    s->room = spool_file_room(&s->file, length);
    return s->room == SPOOL_ROOM_OK ? SPOOL_DONE : SPOOL_NO_ROOM;
}

enum spool_result spool_start(struct exchange *ex, struct spool_share share, spool_done_fn *on_done,
                              void *arg, struct spool **out_spool)
{
    struct spool *s = new_spool(ex, share, on_done, arg);
    *out_spool = s;
    enum spool_result result = foresee(s);
    if (result == SPOOL_DONE && ex->req.body) {
        ex->req.body->on_more = on_more;
        ex->req.body->on_more_arg = s;
        result = pump(s);
    }
    if (result != SPOOL_WAIT)
        s->on_done = NULL;
    return result;
}

void spool_stop(struct spool *s)
{
    s->on_done = NULL;
}

int64_t spool_length(const struct spool *s)
{
    return (int64_t)s->total_bytes;
}

struct body *spool_body(struct spool *s)
{
    ASSERT(!s->writing && s->ex);
    if (!in_file(s))
        return body_text(&s->ex->arena, buf_view(&s->memory));
    int fd = fd_dup(s->file.fd);
    if (fd < 0)
        return NULL;
    return body_file(&s->ex->arena, fd, 0, s->total_bytes);
}

const char *spool_dir(const struct exchange *ex)
{
    const struct spool_conf *conf = module_conf(ex, &spool_module);
    return conf->dir.ptr;
}

int64_t spool_max(const struct exchange *ex)
{
    const struct spool_conf *conf = module_conf(ex, &spool_module);
    return conf->max_bytes;
}

void spool_refuse(struct exchange *ex, const struct spool *s, enum spool_result result)
{
    const struct spool_conf *conf = module_conf(ex, &spool_module);
    if (result == SPOOL_NEVER || result == SPOOL_NO_ROOM || result == SPOOL_DISK_FULL
        || result == SPOOL_FAILED)
        metrics_add(&ex->thread->metrics, spool_refused, 1);
    switch (result) {
    case SPOOL_TOO_LARGE:
        ex->resp.close = true;
        metrics_add(&ex->thread->metrics, bodies_refused, 1);
        exchange_refuse(ex, 413, NULL, "The request body is larger than body_max (%lld bytes).",
                        (long long)conf->body_max_bytes);
        break;
    case SPOOL_NEVER: {
        ex->resp.close = true;
        struct str max = spool_file_max_text(&s->file, s->room, ex);
        exchange_refuse(ex, 413, "spool.full",
                        "The request body is larger than all temporary files may be (%.*s).",
                        STR_ARG(max));
        break;
    }
    case SPOOL_CUT:
        ex->resp.close = true;
        if (ex->req.body->timed_out)
            exchange_refuse(ex, 408, NULL, "The request body came too slowly.");
        else
            exchange_refuse(ex, 400, NULL, "The request body did not come in completely.");
        break;
    case SPOOL_NO_ROOM: {
        ex->resp.close = true;
        struct str why = spool_file_room_text(&s->file, s->room, ex);
        exchange_refuse(ex, 503, "spool.full", "%.*s A request body is refused.", STR_ARG(why));
        break;
    }
    case SPOOL_DISK_FULL:
    case SPOOL_FAILED:
        ex->resp.close = true;
        exchange_refuse(ex, result == SPOOL_DISK_FULL ? 507 : 500, "spool.failed",
                        "The request body could not be written to a temporary file in %.*s "
                        "(spool_dir): %s.",
                        STR_ARG(conf->dir), strerror(-s->write_error));
        break;
    case SPOOL_WAIT:
    case SPOOL_DONE:
        ASSERT(false);
    }
}
