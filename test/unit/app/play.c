// SPDX-License-Identifier: Apache-2.0
// play -- see play.h. Time passes only when a test says so.
#include "play.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "app/pool_report.h"
#include "app/pool_state.h"
#include "base/hash.h"
#include "os/fd.h"

struct play play;

static void on_start(void *arg, struct str app, uint32_t id)
{
    (void)arg;
    struct str name = str_eq(app, STR("shop")) ? STR("shop") : STR("blog");
    assert_true(str_eq(app, name));
    assert_true(play.process_count < ARRAY_LEN(play.processes));
    play.processes[play.process_count++] =
        (struct process){.id = id, .app = name, .peer = FD_NONE, .alive = true};
    play.starts++;
}

static void on_signal(void *arg, uint32_t id, int signal)
{
    (void)arg;
    if (signal == SIGUSR2) {
        play.traces++;
        return;
    }
    if (signal == SIGTERM) {
        play.terms++;
        return;
    }
    assert_int_equal(signal, SIGKILL);
    play.kills++;
    for (size_t i = 0; i < play.process_count; i++)
        if (play.processes[i].id == id)
            play.processes[i].kill_wanted = true;
}

static void on_app_idle(void *arg, struct str app)
{
    (void)arg;
    (void)app;
    play.app_idles++;
}

static void on_renew(void *arg, struct str app)
{
    (void)arg;
    assert_true(str_eq(app, STR("shop")));
    play.renewals++;
}

static void on_restarted(void *arg, struct str app, bool ok, struct str text)
{
    (void)arg;
    assert_true(str_eq(app, STR("shop")));
    assert_int_equal(ok, text.len == 0);
    play.restarted += ok;
    play.not_restarted += !ok;
}

static enum proc_life life(pid_t pid)
{
    (void)pid;
    return play.ends ? PROC_ENDS : PROC_LIVES;
}

static bool ignores(pid_t pid, int signal)
{
    (void)pid;
    assert_int_equal(signal, SIGTERM);
    return play.is_deaf;
}

// Pids are the ids' low bits.
static uint64_t anon_kib(pid_t pid)
{
    play.measures++;
    for (size_t i = 0; i < play.process_count; i++)
        if ((int32_t)(play.processes[i].id & 0xffff) == pid)
            return play.processes[i].anon_kib;
    return 0;
}

static bool times(pid_t pid, struct proc_times *out)
{
    for (size_t i = 0; i < play.process_count; i++) {
        const struct process *p = &play.processes[i];
        if ((int32_t)(p->id & 0xffff) != pid || !(p->times.ran_us | p->times.lined_up_us))
            continue;
        *out = p->times;
        return true;
    }
    return false;
}

static uint64_t clock_now(void)
{
    return play.now_us;
}

void play_look(void)
{
    pool_look();
    for (int i = 0; i < 3; i++)
        loop_turn(play.thread.loop, 0);
    pool_report_check();
}

void play_pass(uint64_t us)
{
    play.now_us += us;
    play_look();
}

void play_ready(struct process *p)
{
    int pair[2];
    assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
    p->peer = pair[1];
    pool_ready(p->app, p->id, (int32_t)p->id & 0xffff, pair[0]);
    play_look();
}

enum pool_exit play_end(struct process *p, int status)
{
    fd_close(&p->peer);
    p->alive = false;
    enum pool_exit how = pool_exited(p->app, p->id, status, &play.end);
    play_look();
    return how;
}

void play_start_fails(struct process *p, const char *why)
{
    p->alive = false;
    pool_failed(p->app, p->id, str_c(why));
    play_look();
}

static void on_slot(struct ticket *t, struct slot *slot)
{
    struct client *c = CONTAINER_OF(t, struct client, ticket);
    assert_true(c->waits && !c->slot);
    c->waits = false;
    c->slot = slot;
    if (play.ordered < ARRAY_LEN(play.order))
        play.order[play.ordered++] = (unsigned)(c - play.clients);
}

static void on_failed(struct ticket *t, enum endpoint_failure failure, struct str text)
{
    struct client *c = CONTAINER_OF(t, struct client, ticket);
    assert_true(c->waits);
    c->waits = false;
    c->failure = (int)failure;
    size_t len = text.len < sizeof c->text ? text.len : sizeof c->text - 1;
    memcpy(c->text, text.ptr, len);
    c->text[len] = '\0';
}

void play_ask_pool(struct client *c, struct pool *p)
{
    struct endpoint *ep = pool_endpoint(p);
    memset(c, 0, sizeof *c);
    c->exchange.thread = &play.thread;
    memcpy(c->exchange.id, "00deadbeef000001", sizeof c->exchange.id);
    c->exchange.req.method_text = STR("GET");
    c->exchange.req.target = STR("/x?y");
    c->ticket =
        (struct ticket){.exchange = &c->exchange, .on_slot = on_slot, .on_failed = on_failed};
    c->failure = -1;
    c->slot = ep->ops->acquire(ep, &c->ticket);
    c->waits = !c->slot;
}

void play_ask(struct client *c)
{
    play_ask_pool(c, play.pool);
}

void play_begin(void)
{
    play_ask(&play.clients[0]);
    play_look();
    play_ready(&play.processes[0]);
}

void play_leave(struct client *c)
{
    struct endpoint *ep = c->ticket.endpoint;
    if (c->waits)
        ep->ops->cancel(ep, &c->ticket);
    c->waits = false;
}

void play_give(struct client *c, enum slot_outcome outcome)
{
    struct endpoint *ep = c->slot->endpoint;
    ep->ops->release(ep, c->slot, outcome);
    c->slot = NULL;
}

struct process *play_process_of(const struct client *c)
{
    for (size_t i = 0; i < play.process_count; i++)
        if (play.processes[i].id == c->slot->worker_id)
            return &play.processes[i];
    fail_msg("the slot belongs to no process");
    return NULL;
}

struct pool_settings play_settings(void)
{
    return (struct pool_settings){
        .name = STR("shop"),
        .digest = 1,
        .workers_max = 2,
        .queue_max = 8,
        .queue_us = 60 * SECOND_US,
        .idle_us = 60 * SECOND_US,
        .stop_us = 10 * SECOND_US,
        .request_us = 30 * SECOND_US,
        .detached_us = 600 * SECOND_US,
    };
}

void play_commit(struct pool_settings set)
{
    pool_commit(&set, 1, &play.limits);
    play_look();
}

int play_open_case(void **state)
{
    (void)state;
    int error;
    hash_key(1, 2);
    play.now_us = 1000 * SECOND_US;
    play.process_count = 0;
    play.starts = play.kills = play.terms = play.traces = play.measures = play.app_idles =
        play.renewals = play.restarted = play.not_restarted = 0;
    play.ordered = 0;
    play.ends = play.is_deaf = false;
    play.limits = (struct pool_limits){0};
    memset(play.clients, 0, sizeof play.clients);
    struct loop *loop = loop_new(&error);
    assert_non_null(loop);
    thread_init(&play.thread, 0, loop, NULL);
    struct pool_link link = {
        .start = on_start,
        .signal = on_signal,
        .app_idle = on_app_idle,
        .renew = on_renew,
        .restarted = on_restarted,
        .now_us = clock_now,
        .life = life,
        .ignores = ignores,
        .anon_kib = anon_kib,
        .times = times,
    };
    pool_open(&link, &play.thread, 1);
    pool_thread_start(&play.thread);
    play.pool = pool_ref(STR("shop"));
    play_commit(play_settings());
    return 0;
}

int play_close_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAY_CLIENTS_MAX; i++) {
        play_leave(&play.clients[i]);
        if (play.clients[i].slot)
            play_give(&play.clients[i], SLOT_REUSE);
    }
    pool_unref(play.pool);
    pool_close();
    for (size_t i = 0; i < play.process_count; i++)
        fd_close(&play.processes[i].peer);
    struct loop *loop = play.thread.loop;
    thread_done(&play.thread);
    loop_free(loop);
    return 0;
}

const struct pool_report *play_report(struct arena *a)
{
    size_t count;
    const struct pool_report *r = pool_report(a, &count);
    assert_int_equal(count, 1);
    return r;
}

// Its connection was closed: it is to leave.
bool play_has_left(const struct process *p)
{
    char byte;
    return p->peer == FD_NONE || recv(p->peer, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}
