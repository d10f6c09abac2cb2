// SPDX-License-Identifier: Apache-2.0
// stop -- see stop.h.
//
//     NONE --stop_begin--> DRAINING --server ended--> LEAVING --time is over--> KILLING
//                                                        '-------nobody left------'---> DONE
//     stop_begin(now) goes from anywhere to KILLING, stop_begin_hasty by a short DRAINING.
#include "keeper/stop.h"

#include <signal.h>

#include "keeper/apps.h"
#include "keeper/reload.h"
#include "keeper/server.h"
#include "keeper/state.h"
#include "log/log.h"
#include "os/family.h"

#define DRAIN_SLACK_MS  1000 // the server's own limit comes first
#define ANSWER_MS       100  // for the answer of who asked for the end at once
#define KILL_AGAIN_MS   50   // some are born while others are killed
#define KILLS_MAX       100  // 5 s: what is left then can't be killed (it waits for a device)
#define STOP_MS_DEFAULT 1000 // when there is no app to say how long

static void set_timer(struct keeper *k, uint64_t after_ms)
{
    loop_timer_start(k->loop, &k->stop.timer, after_ms * 1000);
}

static void finish(struct keeper *k)
{
    if (k->stop.phase == STOP_DONE)
        return;
    k->stop.phase = STOP_DONE;
    loop_timer_stop(&k->stop.timer);
    loop_stop(k->loop);
}

static bool finish_if_alone(struct keeper *k)
{
    if (child_count(&k->children) > 0 || family_has_children())
        return false;
    finish(k);
    return true;
}

static void kill_all(struct keeper *k)
{
    k->stop.phase = STOP_KILLING;
    if (finish_if_alone(k))
        return;
    if (++k->stop.kills > KILLS_MAX) {
        log_error("", "keeper.failed", "%zu processes could not be killed and are left behind",
                  child_count(&k->children));
        finish(k);
        return;
    }
    server_kill(k);
    loader_kill(k);
    apps_signal(k, SIGKILL);
    child_kill_strangers(&k->children, SIGKILL, 0);
    set_timer(k, KILL_AGAIN_MS);
}

static void leave(struct keeper *k)
{
    k->stop.phase = STOP_LEAVING;
    if (finish_if_alone(k))
        return;
    uint64_t longest_ms = apps_stop_ms(k);
    apps_leave(k);
    child_kill_strangers(&k->children, SIGTERM, 0);
    set_timer(k, longest_ms ? longest_ms : STOP_MS_DEFAULT);
}

static void drain(struct keeper *k)
{
    k->stop.phase = STOP_DRAINING;
    if (!server_drain(k)) {
        leave(k);
        return;
    }
    set_timer(k, (k->current ? k->current->plan.drain_ms : 0) + DRAIN_SLACK_MS);
}

// The first step of each stop.
static void announce(struct keeper *k, bool now)
{
    if (stop_is_begun(k))
        return;
    notify_send(&k->notify, "STOPPING=1\nSTATUS=%s", now ? "Stopping" : "Finishing requests");
    if (k->current)
        log_info("", "keeper.stopping", "instance \"%s\" stops%s", k->options->instance,
                 now ? " at once" : " when running requests are finished");
    // Before anything else: the end of the loader or of a candidate is nobody's failure now.
    k->stop.phase = STOP_DRAINING;
    reload_cancel(k);
    server_forget(k);
}

static void on_expired(struct loop_timer *timer)
{
    struct keeper *k = CONTAINER_OF(timer, struct keeper, stop.timer);
    if (k->stop.phase == STOP_DRAINING && !k->stop.is_hasty) {
        log_warn("", "keeper.stopping", "the server has not finished in time; it is killed");
        server_kill(k); // its end goes on
    } else {
        kill_all(k);
    }
}

void stop_init(struct stop *s)
{
    *s = (struct stop){.timer.on_expired = on_expired};
}

void stop_begin(struct keeper *k, bool now)
{
    if (k->stop.phase >= STOP_KILLING || (stop_is_begun(k) && !now))
        return;
    announce(k, now);
    if (now)
        kill_all(k);
    else
        drain(k);
}

void stop_begin_hasty(struct keeper *k)
{
    if (k->stop.phase >= STOP_KILLING)
        return;
    announce(k, true);
    k->stop.is_hasty = true;
    if (k->stop.phase == STOP_DRAINING && server_drain(k))
        set_timer(k, ANSWER_MS);
    else
        kill_all(k);
}

bool stop_is_begun(const struct keeper *k)
{
    return k->stop.phase != STOP_NONE;
}

void stop_server_ended(struct keeper *k)
{
    if (k->stop.phase == STOP_DRAINING && k->stop.is_hasty)
        kill_all(k);
    else if (k->stop.phase == STOP_DRAINING)
        leave(k);
    else
        stop_child_ended(k);
}

void stop_child_ended(struct keeper *k)
{
    if (k->stop.phase == STOP_LEAVING || k->stop.phase == STOP_KILLING)
        finish_if_alone(k);
}
