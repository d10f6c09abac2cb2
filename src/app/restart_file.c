// SPDX-License-Identifier: Apache-2.0
// restart_file -- see restart_file.h. The file is in `directory` of the app, or beside the site's
// root: /srv/blog/tmp/restart.txt for the root /srv/blog/public.
#include "app/restart_file.h"

#include <stdio.h>
#include <sys/stat.h>

#include "app/app_conf.h"
#include "app/pool_restart.h"
#include "base/assert.h"
#include "base/mem.h"
#include "core/site_conf.h"
#include "event/jobs.h"

#define LOOK_US        1000000
#define PATH_BYTES_MAX 4096

struct look {
    struct job job;
    struct restart_file *file;
    struct snapshot *snapshot; // holds app and pool
    const struct app_conf *app;
    int64_t time_ns;
    char path[PATH_BYTES_MAX];
};

static void work(struct job *job)
{
    struct look *look = CONTAINER_OF(job, struct look, job);
    struct stat st;
    look->time_ns = 0;
    if (stat(look->path, &st) == 0)
        look->time_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void on_done(struct job *job)
{
    struct look *look = CONTAINER_OF(job, struct look, job);
    struct restart_file *f = look->file;
    bool changed = f->known && look->time_ns && look->time_ns != f->time_ns;
    f->known = true;
    f->time_ns = look->time_ns;
    if (changed)
        (void)pool_restart(look->app->name);
    atomic_store_explicit(&f->busy, false, memory_order_release);
    snapshot_unref(look->snapshot);
    mem_free(look);
}

// False: there is no such place.
static bool find_path(const struct app_conf *app, char room[static PATH_BYTES_MAX])
{
    struct str dir = app->directory;
    if (!dir.len && app->site && !site_conf_at(&app->site->scope)->has_host) {
        struct str root = site_conf_at(&app->site->scope)->root;
        while (root.len > 1 && str_ends(root, STR("/")))
            root.len--;
        dir = str_slice(root, 0, str_rfind(root, '/'));
    }
    if (!dir.len)
        return false;
    int len = snprintf(room, PATH_BYTES_MAX, "%.*s/tmp/restart.txt", STR_ARG(dir));
    return len > 0 && len < PATH_BYTES_MAX;
}

void restart_file_look(struct restart_file *f, const struct exchange *ex,
                       const struct app_conf *app)
{
    uint64_t now_us = loop_now_us(ex->thread->loop);
    if (now_us < atomic_load_explicit(&f->next_us, memory_order_relaxed) || !ex->snapshot)
        return;
    if (atomic_exchange_explicit(&f->busy, true, memory_order_acquire))
        return;
    atomic_store_explicit(&f->next_us, now_us + LOOK_US, memory_order_relaxed);
    struct look *look = mem_new(struct look);
    if (!find_path(app, look->path)) {
        mem_free(look);
        atomic_store_explicit(&f->busy, false, memory_order_release);
        return;
    }
    look->job.work = work;
    look->job.on_done = on_done;
    look->file = f;
    look->app = app;
    look->snapshot = snapshot_ref(ex->snapshot);
    jobs_submit(ex->thread->jobs, ex->thread->loop, &look->job);
}
