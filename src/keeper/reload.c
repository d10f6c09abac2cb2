// SPDX-License-Identifier: Apache-2.0
// reload -- see reload.h.
//
//     IDLE        --reload_request--> LOADING
//     LOADING     --reload_loaded, all opens--> PREPARING
//     PREPARING   --reload_prepared--> COMMITTING
//     COMMITTING  --reload_committed--> IDLE
//     from LOADING and PREPARING --reload_fail--> IDLE: loader's errors; an address or a log that
//                                 does not open; the server refuses, dies, or takes too long
//
// A reload is over, and the next one begins, only when the server has closed the addresses that it
// gave back: the next one may want one of them again.
//
// Up to the commit only the candidate holds what is new, so that reload_fail has nothing to undo
// but it.
#include "keeper/reload.h"

#include <stdio.h>

#include "base/assert.h"
#include "keeper/apps.h"
#include "keeper/error_log.h"
#include "keeper/generation.h"
#include "keeper/loader.h"
#include "keeper/server.h"
#include "keeper/state.h"
#include "keeper/stop.h"
#include "log/log.h"
#include "os/clock.h"
#include "os/fd.h"

#define PREPARE_MS 30000 // longest time from the offer to PREPARED
#define COMMIT_MS  10000 // longest time from COMMIT to COMMITTED

static void answer(struct keeper *k, const struct reload_askers *askers, int32_t status,
                   struct str text)
{
    struct ipc_msg msg = {.type = IPC_ANSWER, .status = status, .text = text};
    for (size_t i = 0; i < askers->count; i++) {
        msg.id = askers->ids[i];
        server_send(k, &msg, NULL, 0);
    }
}

static void add_asker(struct keeper *k, struct reload_askers *askers, uint32_t id)
{
    if (id == 0)
        return;
    if (askers->count < RELOAD_ASKERS_MAX) {
        askers->ids[askers->count++] = id;
        return;
    }
    struct reload_askers one = {.ids = {id}, .count = 1};
    answer(k, &one, 1, STR("too many wait for a reload already"));
}

static void log_lines(struct str text)
{
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');
        log_error("", "config.invalid", "%.*s", STR_ARG(line));
    }
}

static void begin(struct keeper *k)
{
    struct reload *r = &k->reload;
    struct err err = {0};
    r->phase = RELOAD_LOADING;
    r->again = false;
    r->asked = r->waiting;
    r->waiting.count = 0;
    if (k->current)
        notify_send(&k->notify, "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=Loading configuration",
                    (unsigned long long)clock_mono_us());
    if (!loader_start(k, &err))
        reload_fail(k, &err);
    err_done(&err);
}

static void on_next(struct loop_task *task)
{
    struct keeper *k = CONTAINER_OF(task, struct keeper, reload.next);
    if (k->reload.again && k->reload.phase == RELOAD_IDLE && !stop_is_begun(k))
        begin(k);
}

static void end(struct keeper *k, int32_t status, struct str text)
{
    struct reload *r = &k->reload;
    answer(k, &r->asked, status, text);
    r->asked.count = 0;
    r->phase = RELOAD_IDLE;
    loop_timer_stop(&r->timer);
    if (r->again)
        loop_later(k->loop, &r->next);
}

static void tell_manager(struct keeper *k)
{
    notify_send(&k->notify, "READY=1\nSTATUS=Serving on %zu addresses, %zu apps",
                k->current->plan.listener_count, k->current->plan.app_count);
}

static void log_addresses(const struct generation *g)
{
    for (size_t i = 0; i < g->plan.listener_count; i++) {
        struct listener *listener = g->listeners[i];
        if (listener->is_announced)
            continue;
        listener->is_announced = true;
        char text[SOCK_TEXT_MAX];
        struct str address = str_n(text, sock_addr_text(&listener->bound, text));
        const char *scheme = g->plan.listeners[i].is_tls ? "https://" : "http://";
        bool is_unix = str_starts(address, STR("unix:"));
        log_info("", "keeper.listening", "listening on %s%.*s", is_unix ? "" : scheme,
                 STR_ARG(address));
    }
}

static void on_expired(struct loop_timer *timer)
{
    struct keeper *k = CONTAINER_OF(timer, struct keeper, reload.timer);
    if (k->reload.phase == RELOAD_COMMITTING) {
        log_error("", "keeper.commit_slow",
                  "a thread of the server has not taken configuration %u within %d s",
                  k->current->number, COMMIT_MS / 1000);
        reload_committed(k, k->current->number);
        return;
    }
    struct err err = {0};
    err_set(&err, "the server did not prepare the configuration within %d s", PREPARE_MS / 1000);
    reload_fail(k, &err);
    err_done(&err);
}

void reload_init(struct reload *r)
{
    *r = (struct reload){.timer.on_expired = on_expired, .next.run = on_next};
}

void reload_request(struct keeper *k, uint32_t id)
{
    struct reload *r = &k->reload;
    add_asker(k, &r->waiting, id);
    if (stop_is_begun(k)) {
        answer(k, &r->waiting, 1, STR("the instance is stopping"));
        r->waiting.count = 0;
    } else if (r->phase != RELOAD_IDLE) {
        r->again = true;
    } else {
        begin(k);
    }
}

bool reload_is_preparing(const struct keeper *k)
{
    return k->reload.phase == RELOAD_PREPARING;
}

void reload_loaded(struct keeper *k, int plan_fd, int config_fd)
{
    struct reload *r = &k->reload;
    struct err err = {0};
    if (r->phase != RELOAD_LOADING) {
        fd_close(&config_fd);
        return; // cancelled meanwhile
    }
    r->candidate = generation_new(++r->last_number, plan_fd, config_fd, &err);
    if (r->candidate && generation_open(r->candidate, k, &err)) {
        r->phase = RELOAD_PREPARING;
        loop_timer_start(k->loop, &r->timer, (uint64_t)PREPARE_MS * 1000);
        server_offer(k, r->candidate);
    } else {
        reload_fail(k, &err);
    }
    err_done(&err);
}

void reload_prepared(struct keeper *k, uint32_t number)
{
    struct reload *r = &k->reload;
    ASSERT(r->phase == RELOAD_PREPARING && r->candidate->number == number);
    struct generation *old = k->current;
    k->current = r->candidate;
    r->candidate = NULL;
    r->phase = RELOAD_COMMITTING;
    r->is_first = !old;
    loop_timer_start(k->loop, &r->timer, (uint64_t)COMMIT_MS * 1000);
    error_log_use(k);
    server_commit(k);
    apps_replace(k, k->current);
    if (old)
        generation_close(old);
    generation_unref(old);
}

void reload_committed(struct keeper *k, uint32_t number)
{
    struct reload *r = &k->reload;
    if (r->phase != RELOAD_COMMITTING || k->current->number != number)
        return; // a server that was started again says it as well
    log_info("", r->is_first ? "keeper.started" : "config.loaded",
             r->is_first ? "instance \"%s\" has started (configuration %u)"
                         : "instance \"%s\" uses the new configuration (%u)",
             k->options->instance, number);
    log_addresses(k->current);
    tell_manager(k);
    const char *left = server_restart_needed(k, k->current);
    char text[96] = "";
    if (left) {
        (void)snprintf(text, sizeof text, "%s: a change takes effect at a restart only", left);
        log_warn("", "config.needs_restart", "%s", text);
    }
    end(k, 0, str_c(text));
}

void reload_fail(struct keeper *k, struct err *why)
{
    struct reload *r = &k->reload;
    if (r->phase != RELOAD_LOADING && r->phase != RELOAD_PREPARING)
        return; // cancelled meanwhile
    struct str text = str_c(err_text(why));
    log_lines(text);
    r->phase = RELOAD_IDLE;
    server_abandon(k);
    generation_unref(r->candidate);
    r->candidate = NULL;
    end(k, 1, text);
    if (k->current) {
        log_error("", "config.invalid", "nothing was changed; configuration %u stays in force",
                  k->current->number);
        tell_manager(k);
    } else {
        log_error("", "keeper.failed", "instance \"%s\" could not start", k->options->instance);
        k->exit_status = 1;
        stop_begin(k, true);
    }
}

void reload_forget_askers(struct keeper *k)
{
    k->reload.asked.count = k->reload.waiting.count = 0;
}

void reload_reopen_logs(struct keeper *k)
{
    list_foreach(&k->logs.all, struct logfile, node, log) {
        struct err err = {0};
        struct ipc_msg msg = {.type = IPC_LOG_REOPENED, .name = str_c(log->name)};
        if (logs_reopen(log, &err))
            server_send(k, &msg, &log->fd, 1);
        else
            log_error("", "log.failed", "%s; the old file is used further", err_text(&err));
        err_done(&err);
        if (k->current)
            error_log_use(k); // before the next line: the old descriptor is closed
    }
}

void reload_cancel(struct keeper *k)
{
    struct reload *r = &k->reload;
    r->phase = RELOAD_IDLE;
    r->again = false;
    loop_timer_stop(&r->timer);
    loop_later_cancel(&r->next);
    loader_kill(k);
    server_abandon(k); // its PREPARED may be on the way
    generation_unref(r->candidate);
    r->candidate = NULL;
    answer(k, &r->asked, 1, STR("the instance is stopping"));
    answer(k, &r->waiting, 1, STR("the instance is stopping"));
    reload_forget_askers(k);
}
