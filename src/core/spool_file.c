// SPDX-License-Identifier: Apache-2.0
// spool_file -- see spool_file.h.
#include "core/spool_file.h"

#include "base/assert.h"
#include "base/mem.h"
#include "core/exchange.h"
#include "core/spool.h"
#include "os/fd.h"
#include "os/file.h"

// Freeing the pages of a file takes a millisecond for some megabytes: more is for a pool thread.
#define CLOSE_HERE_BYTES ((int64_t)4 * 1024 * 1024)

static _Atomic int64_t total_bytes;

void spool_file_init(struct spool_file *f, const struct exchange *ex, struct spool_share share)
{
    *f = (struct spool_file){
        .fd = FD_NONE,
        .thread = ex->thread,
        .dir = spool_dir(ex),
        .all_max = spool_max(ex),
        // A write may outlive the exchange, and needs the name.
        .snapshot = ex->snapshot ? snapshot_ref(ex->snapshot) : NULL,
        .share = share,
    };
}

// Adds to a counter unless that exceeds `max` (0: none).
static bool count(_Atomic int64_t *used, int64_t bytes, int64_t max)
{
    int64_t before = atomic_fetch_add_explicit(used, bytes, memory_order_relaxed);
    if (max == 0 || before + bytes <= max)
        return true;
    atomic_fetch_sub_explicit(used, bytes, memory_order_relaxed);
    return false;
}

enum spool_room spool_file_reserve(struct spool_file *f, size_t bytes)
{
    struct spool_quota *quota = f->share.quota;
    if (quota && !count(&quota->used_bytes, (int64_t)bytes, f->share.max_bytes))
        return SPOOL_ROOM_APP;
    if (!count(&total_bytes, (int64_t)bytes, f->all_max)) {
        if (quota)
            atomic_fetch_sub_explicit(&quota->used_bytes, (int64_t)bytes, memory_order_relaxed);
        return SPOOL_ROOM_ALL;
    }
    f->reserved_bytes += (int64_t)bytes;
    return SPOOL_ROOM_OK;
}

static bool is_over(int64_t used, int64_t bytes, int64_t max)
{
    return max > 0 && (used > max || bytes > max - used);
}

enum spool_room spool_file_room(const struct spool_file *f, int64_t bytes)
{
    const struct spool_quota *quota = f->share.quota;
    if (quota
        && is_over(atomic_load_explicit(&quota->used_bytes, memory_order_relaxed), bytes,
                   f->share.max_bytes))
        return SPOOL_ROOM_APP;
    return is_over(spool_file_total(), bytes, f->all_max) ? SPOOL_ROOM_ALL : SPOOL_ROOM_OK;
}

enum spool_room spool_file_never(const struct spool_file *f, int64_t bytes)
{
    if (f->share.quota && is_over(f->reserved_bytes, bytes, f->share.max_bytes))
        return SPOOL_ROOM_APP;
    return is_over(f->reserved_bytes, bytes, f->all_max) ? SPOOL_ROOM_ALL : SPOOL_ROOM_OK;
}

int spool_file_write(struct spool_file *f, struct str bytes, int64_t offset)
{
    if (f->fd == FD_NONE) {
        int fd = file_unnamed(f->dir);
        if (fd < 0)
            return fd;
        f->fd = fd;
    }
    return fd_write_at(f->fd, bytes, offset);
}

void spool_file_keep(struct spool_file *f, int64_t bytes)
{
    int64_t excess = f->reserved_bytes - bytes;
    ASSERT(excess >= 0);
    atomic_fetch_sub_explicit(&total_bytes, excess, memory_order_relaxed);
    if (f->share.quota)
        atomic_fetch_sub_explicit(&f->share.quota->used_bytes, excess, memory_order_relaxed);
    f->reserved_bytes = bytes;
}

struct closing { // a large file that is given back
    struct job job;
    int fd;
};

static void close_file(struct job *job)
{
    fd_close(&CONTAINER_OF(job, struct closing, job)->fd);
}

static void on_closed(struct job *job)
{
    mem_free(CONTAINER_OF(job, struct closing, job));
}

void spool_file_empty(struct spool_file *f)
{
    if (f->fd != FD_NONE && f->reserved_bytes > CLOSE_HERE_BYTES) {
        struct closing *c = mem_new(struct closing);
        *c = (struct closing){.job = {.work = close_file, .on_done = on_closed}, .fd = f->fd};
        f->fd = FD_NONE;
        jobs_submit(f->thread->jobs, f->thread->loop, &c->job);
    }
    fd_close(&f->fd);
    spool_file_keep(f, 0);
}

void spool_file_done(struct spool_file *f)
{
    spool_file_empty(f);
    f->share = (struct spool_share){0};
    if (f->snapshot)
        snapshot_unref(f->snapshot);
    f->snapshot = NULL;
}

struct str spool_file_room_text(const struct spool_file *f, enum spool_room room,
                                struct exchange *ex)
{
    switch (room) {
    case SPOOL_ROOM_APP:
        return arena_fmt(
            &ex->arena,
            "The temporary files of app \"%.*s\" hold %lld of %lld bytes (spool_quota).",
            STR_ARG(ex->facts.app),
            (long long)atomic_load_explicit(&f->share.quota->used_bytes, memory_order_relaxed),
            (long long)f->share.max_bytes);
    case SPOOL_ROOM_ALL:
        return arena_fmt(&ex->arena,
                         "The temporary files of the instance hold %lld of %lld bytes (spool_max).",
                         (long long)spool_file_total(), (long long)f->all_max);
    case SPOOL_ROOM_OK:
        break;
    }
    return STR("");
}

struct str spool_file_max_text(const struct spool_file *f, enum spool_room room,
                               struct exchange *ex)
{
    bool is_app = room == SPOOL_ROOM_APP;
    return arena_fmt(&ex->arena, "%lld bytes, %s",
                     (long long)(is_app ? f->share.max_bytes : f->all_max),
                     is_app ? "spool_quota" : "spool_max");
}

int64_t spool_file_total(void)
{
    return atomic_load_explicit(&total_bytes, memory_order_relaxed);
}
