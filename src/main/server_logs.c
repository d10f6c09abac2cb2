// SPDX-License-Identifier: Apache-2.0
// server_logs -- see server_logs.h. A sink whose log is not in the configuration any more lives on
// while requests of an older one may write to it.
#include "main/server_logs.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "core/server_conf.h"
#include "feature/access_log.h"
#include "log/log.h"
#include "log/loss.h"
#include "log/sink.h"
#include "os/fd.h"

#define LOOK_US 5000000 // how often lost lines are looked for

struct server_log {
    struct list_node node;
    struct sink *sink; // NULL: not in force yet
    int offered_fd;    // FD_NONE: not in the generation that is being prepared
    bool in_force;
    bool is_error_log; // log.c tells what that one loses
    struct loss loss;
    char name[];
};

static void tell(const struct server_log *l, enum loss_news news, const struct sink_losses *losses,
                 uint64_t untold)
{
    char name[PATH_MAX];
    const char *quoted = log_quote(str_c(l->name), name, sizeof name);
    switch (news) {
    case LOSS_NOTHING:
        break;
    case LOSS_LINES:
        log_error(
            "", "log.dropped", "%" PRIu64 " lines of the log %s were lost: %s", untold, quoted,
            losses->error ? strerrordesc_np(-losses->error) : "it is not written fast enough");
        break;
    case LOSS_OVER:
        log_info("", "log.restored",
                 "the log %s is written again; %" PRIu64 " more lines were lost", quoted, untold);
        break;
    }
}

static void look_at(struct server_logs *all, struct server_log *l)
{
    uint64_t new_lines;
    uint64_t untold = 0;
    if (!l->sink || !all->metrics)
        return;
    struct sink_losses losses = sink_losses(l->sink);
    enum loss_news news = loss_look(&l->loss, &losses, loop_now_us(all->loop), &new_lines, &untold);
    metrics_add(all->metrics, log_lines_dropped, (int64_t)new_lines);
    if (!l->is_error_log)
        tell(l, news, &losses, untold);
}

void server_logs_count(struct server_logs *all)
{
    list_foreach(&all->all, struct server_log, node, l)
        look_at(all, l);
}

static void on_look_timer(struct loop_timer *timer)
{
    struct server_logs *all = CONTAINER_OF(timer, struct server_logs, look_timer);
    server_logs_count(all);
    loop_timer_start(all->loop, &all->look_timer, LOOK_US);
}

void server_logs_init(struct server_logs *l)
{
    *l = (struct server_logs){.look_timer = {.on_expired = on_look_timer}};
    list_init(&l->all);
}

void server_logs_watch(struct server_logs *l, struct loop *loop, struct metrics *metrics)
{
    l->loop = loop;
    l->metrics = metrics;
    loop_timer_start(loop, &l->look_timer, LOOK_US);
}

static struct server_log *find(struct server_logs *all, struct str name)
{
    list_foreach(&all->all, struct server_log, node, l)
        if (str_eq(str_c(l->name), name))
            return l;
    return NULL;
}

static void forget(struct server_log *l)
{
    list_remove(&l->node);
    fd_close(&l->offered_fd);
    sink_free(l->sink);
    mem_free(l);
}

void server_logs_offer(struct server_logs *all, struct str name, int fd)
{
    struct server_log *l = find(all, name);
    if (!l) {
        l = mem_alloc(sizeof *l + name.len + 1);
        memcpy(l->name, name.ptr, name.len);
        l->offered_fd = FD_NONE;
        list_push_back(&all->all, &l->node);
    }
    fd_close(&l->offered_fd);
    l->offered_fd = fd;
}

void server_logs_abandon(struct server_logs *all)
{
    list_foreach(&all->all, struct server_log, node, l) {
        fd_close(&l->offered_fd);
        if (!l->sink)
            forget(l);
    }
}

// What is in force keeps its descriptor: rotation alone changes it.
static void accept_offer(struct server_log *l)
{
    bool was_in_force = l->in_force;
    l->in_force = l->offered_fd != FD_NONE;
    if (!l->in_force)
        return;
    if (!l->sink)
        l->sink = sink_new(l->offered_fd);
    else if (was_in_force)
        fd_close(&l->offered_fd);
    else
        sink_swap(l->sink, l->offered_fd);
    l->offered_fd = FD_NONE;
}

void server_logs_commit(struct server_logs *all, const struct snapshot *s)
{
    const struct server_conf *conf = server_conf(s);
    struct server_log *error_log = NULL;
    bool is_alone = snapshot_alive() <= 1;
    list_foreach(&all->all, struct server_log, node, l) {
        accept_offer(l);
        access_log_sink(l->name, l->in_force ? l->sink : NULL);
        l->is_error_log = str_eq(str_c(l->name), conf->error_log);
        if (l->is_error_log)
            error_log = l;
    }
    log_set_level((enum log_level)conf->log_level);
    log_to_sink(error_log ? error_log->sink : NULL);
    list_foreach(&all->all, struct server_log, node, l)
        if (!l->in_force && is_alone) {
            look_at(all, l);
            forget(l);
        }
}

void server_logs_reopened(struct server_logs *all, struct str name, int fd)
{
    struct server_log *l = find(all, name);
    if (l && l->sink)
        sink_swap(l->sink, fd);
    else
        fd_close(&fd);
}

void server_logs_close(struct server_logs *all)
{
    log_to_sink(NULL);
    loop_timer_stop(&all->look_timer);
    list_foreach(&all->all, struct server_log, node, l) {
        access_log_sink(l->name, NULL);
        forget(l);
    }
}
