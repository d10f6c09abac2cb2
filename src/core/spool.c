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
#include "os/file.h"

struct spool_conf {
    int64_t body_max_bytes;
    int64_t memory_bytes;
    struct str dir;
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
        .help = "The directory of temporary files for large request bodies. They have no names "
                "there, so nothing is left behind.",
        .example = "/var/spool/godwit",
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
    struct buf memory;         // not in the file yet
    struct snapshot *snapshot; // holds `dir`
    const char *dir;
    int file;
    // A write in progress.
    struct job job;
    bool writing, at_end;
    int write_error;
};

static void free_spool(struct spool *s)
{
    fd_close(&s->file);
    buf_done(&s->memory);
    if (s->snapshot)
        snapshot_unref(s->snapshot);
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
    s->write_error = 0;
    if (s->file == FD_NONE) {
        int fd = file_unnamed(s->dir);
        s->write_error = fd < 0 ? fd : 0;
        s->file = fd < 0 ? FD_NONE : fd;
    }
    if (s->write_error == 0)
        s->write_error = fd_write_all(s->file, buf_view(&s->memory));
}

static void on_written(struct job *job);

static enum spool_result start_writing(struct spool *s)
{
    struct thread *t = s->ex->thread;
    metrics_add(&t->metrics, spool_bytes, (int64_t)buf_len(&s->memory));
    s->writing = true;
    s->job.work = write_out;
    s->job.on_done = on_written;
    jobs_submit(t->jobs, t->loop, &s->job);
    return SPOOL_WAIT;
}

static bool in_file(const struct spool *s)
{
    return s->file != FD_NONE;
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
    buf_take(&s->memory, buf_len(&s->memory));
    if (!s->on_done)
        return;
    if (s->write_error == 0) {
        go_on(s);
        return;
    }
    spool_done_fn *on_done = s->on_done;
    s->on_done = NULL;
    on_done(s->ex, s->arg, SPOOL_FAILED);
}

static void on_more(void *arg)
{
    struct spool *s = arg;
    if (!s->writing && s->on_done)
        go_on(s);
}

static struct spool *new_spool(struct exchange *ex, spool_done_fn *on_done, void *arg)
{
    const struct spool_conf *conf = module_conf(ex, &spool_module);
    struct spool *s = mem_new(struct spool);
    *s = (struct spool){
        .ex = ex,
        .on_done = on_done,
        .arg = arg,
        .body_max = (uint64_t)conf->body_max_bytes,
        .memory_max = (uint64_t)conf->memory_bytes,
        // A write may outlive the exchange, and needs the name.
        .snapshot = ex->snapshot ? snapshot_ref(ex->snapshot) : NULL,
        .dir = conf->dir.ptr,
        .file = FD_NONE,
    };
    arena_defer(&ex->arena, on_exchange_over, s);
    return s;
}

enum spool_result spool_start(struct exchange *ex, spool_done_fn *on_done, void *arg,
                              struct spool **out_spool)
{
    struct spool *s = new_spool(ex, on_done, arg);
    *out_spool = s;
    enum spool_result result = SPOOL_DONE;
    int64_t length = ex->req.content_length;
    if (s->body_max && length > 0 && (uint64_t)length > s->body_max) {
        result = SPOOL_TOO_LARGE;
    } else if (ex->req.body) {
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
    int fd = fd_dup(s->file);
    if (fd < 0)
        return NULL;
    return body_file(&s->ex->arena, fd, 0, s->total_bytes);
}

void spool_refuse(struct exchange *ex, enum spool_result result)
{
    const struct spool_conf *conf = module_conf(ex, &spool_module);
    switch (result) {
    case SPOOL_TOO_LARGE:
        ex->resp.close = true;
        exchange_refuse(ex, 413, NULL, "The request body is larger than body_max (%lld bytes).",
                        (long long)conf->body_max_bytes);
        break;
    case SPOOL_CUT:
        ex->resp.close = true;
        exchange_refuse(ex, 400, NULL, "The request body did not come in completely.");
        break;
    case SPOOL_FAILED:
        ex->resp.close = true;
        exchange_refuse(ex, 500, "spool.failed",
                        "The request body could not be written to a temporary file in %.*s "
                        "(spool_dir); the request is refused.",
                        STR_ARG(conf->dir));
        break;
    case SPOOL_WAIT:
    case SPOOL_DONE:
        ASSERT(false);
    }
}
