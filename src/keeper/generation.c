// SPDX-License-Identifier: Apache-2.0
// generation -- see generation.h.
#include "keeper/generation.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "keeper/state.h"
#include "os/fd.h"
#include "os/file.h"

#define PLAN_BYTES_MAX ((size_t)64 * 1024 * 1024)

static bool read_plan(struct generation *g, int plan_fd, struct err *err)
{
    struct buf bytes = {.ceiling_bytes = PLAN_BYTES_MAX};
    int rc = file_read_fd(plan_fd, &bytes);
    bool good = rc == 0 && plan_decode(buf_view(&bytes), &g->arena, &g->plan);
    if (rc < 0)
        err_set(err, "cannot read the loader's plan: %s", strerror(-rc));
    else if (!good)
        err_set(err, "the loader's plan is malformed (was the program replaced? restart it)");
    buf_done(&bytes);
    return good;
}

static bool open_listeners(struct generation *g, struct listeners *table, struct err *err)
{
    bool good = true;
    for (size_t i = 0; i < g->plan.listener_count; i++) {
        const struct plan_listener *want = &g->plan.listeners[i];
        g->listeners[i] = listeners_open(table, want->address, (mode_t)want->mode, err);
        good = good && g->listeners[i];
    }
    return good;
}

static bool open_logs(struct generation *g, struct logs *table, struct err *err)
{
    bool good = true;
    for (size_t i = 0; i < g->plan.log_count; i++) {
        g->logs[i] = logs_open(table, g->plan.logs[i].name, err);
        good = good && g->logs[i];
    }
    return good;
}

static bool open_boards(struct generation *g, struct boards *table, struct err *err)
{
    bool good = true;
    for (size_t i = 0; i < g->plan.app_count; i++) {
        g->boards[i] = boards_open(table, g->plan.apps[i].name, err);
        good = good && g->boards[i];
    }
    return good;
}

struct generation *generation_new(uint32_t number, int plan_fd, int config_fd, struct err *err)
{
    struct generation *g = mem_new(struct generation);
    g->number = number;
    g->refs = 1;
    g->config_fd = config_fd;
    if (!read_plan(g, plan_fd, err)) {
        generation_unref(g);
        return NULL;
    }
    g->listeners = arena_array(&g->arena, struct listener *, g->plan.listener_count);
    g->logs = arena_array(&g->arena, struct logfile *, g->plan.log_count);
    g->boards = arena_array(&g->arena, struct board *, g->plan.app_count);
    return g;
}

bool generation_open(struct generation *g, struct keeper *k, struct err *err)
{
    // All three are tried, so that all errors are told at once.
    bool good = open_listeners(g, &k->listeners, err);
    good = open_logs(g, &k->logs, err) && good;
    return open_boards(g, &k->boards, err) && good;
}

void generation_close(struct generation *g)
{
    for (size_t i = 0; i < g->plan.listener_count; i++) {
        if (g->listeners[i])
            listeners_unref(g->listeners[i]);
        g->listeners[i] = NULL;
    }
    for (size_t i = 0; i < g->plan.log_count; i++) {
        if (g->logs[i])
            logs_unref(g->logs[i]);
        g->logs[i] = NULL;
    }
    for (size_t i = 0; i < g->plan.app_count; i++) {
        if (g->boards[i])
            boards_unref(g->boards[i]);
        g->boards[i] = NULL;
    }
    fd_close(&g->config_fd);
}

struct generation *generation_ref(struct generation *g)
{
    g->refs++;
    return g;
}

void generation_unref(struct generation *g)
{
    if (!g)
        return;
    ASSERT(g->refs > 0);
    if (--g->refs > 0)
        return;
    generation_close(g);
    arena_done(&g->arena);
    mem_free(g);
}
