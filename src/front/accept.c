// SPDX-License-Identifier: Apache-2.0
// accept -- see accept.h.
#include "front/accept.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/snapshot.h"
#include "front/front_limits.h"
#include "front/h1_conn.h"
#include "log/log.h"
#include "net/listener.h"
#include "os/fd.h"

#define COMPLAINT_PAUSE_US UINT64_C(1000000) // between log lines about one listener

struct front_listener {
    struct listener listener;
    struct h1_home *home;
    bool is_control;
    uint64_t complained_us; // last time; 0: never
    char name[SOCK_TEXT_MAX];
};

static const char HOME_OWNER;

static void commit(struct snapshot *snapshot);

struct module front_module = {
    .name = "front",
    .keys = FRONT_LIMITS_KEYS,
    .key_count = FRONT_LIMIT_COUNT,
    .conf_size = sizeof(struct front_limits),
    .commit = commit,
};

static void commit(struct snapshot *snapshot)
{
    front_limits_set(module_conf_at(&snapshot->top, &front_module));
}

static void free_home(void *data)
{
    struct h1_home *home = data;
    ASSERT(list_is_empty(&home->conns));
    mem_free(home->header_room);
    mem_free(home);
}

static struct h1_home *home_of(struct thread *t)
{
    struct h1_home *home = thread_attached(t, &HOME_OWNER);
    if (!home) {
        home = mem_new(struct h1_home);
        home->thread = t;
        list_init(&home->conns);
        list_init(&home->idle);
        thread_attach(t, &HOME_OWNER, home, free_home);
    }
    return home;
}

// Makes room for one more client if the limit is reached: who waits longest without a request goes.
static bool make_room(struct h1_home *home)
{
    if (h1_conn_total() < (size_t)front_limits_get(FRONT_CONNECTIONS_MAX))
        return true;
    list_foreach(&home->idle, struct h1_conn, idle_node, conn) {
        if (conn->peer.is_control)
            continue;
        h1_conn_cut(conn);
        return true;
    }
    return false;
}

static void serve(struct h1_home *home, int fd, const struct sock_addr *peer, bool is_control)
{
    struct metrics *m = &home->thread->metrics;
    metrics_add(m, connections_accepted, 1);
    // The operator's way in stays open, whatever the clients do.
    if (!is_control && !make_room(home)) {
        metrics_add(m, connections_refused, 1);
        fd_close(&fd);
        return;
    }
    if (!h1_conn_open(home, fd, peer, is_control))
        metrics_add(m, connections_refused, 1);
}

static void on_accept(struct listener *listener, int fd, const struct sock_addr *peer)
{
    struct front_listener *l = CONTAINER_OF(listener, struct front_listener, listener);
    serve(l->home, fd, peer, l->is_control);
}

static void on_error(struct listener *listener, int error)
{
    struct front_listener *l = CONTAINER_OF(listener, struct front_listener, listener);
    uint64_t now_us = loop_now_us(l->home->thread->loop);
    if (l->complained_us && now_us - l->complained_us < COMPLAINT_PAUSE_US)
        return;
    l->complained_us = now_us;
    log_error("", "front.accept_failed",
              "no connections can be taken on %s: %s; trying again %u times a second", l->name,
              strerrordesc_np(error), (unsigned)(1000000 / LISTENER_PAUSE_US));
}

struct front_listener *front_listen_start(struct thread *t, int fd, const char *name,
                                          bool is_control)
{
    struct front_listener *l = mem_new(struct front_listener);
    l->home = home_of(t);
    l->is_control = is_control;
    (void)snprintf(l->name, sizeof l->name, "%s", name);
    l->listener.on_accept = on_accept;
    l->listener.on_error = on_error;
    if (listener_start(&l->listener, t->loop, fd) == 0)
        return l;
    mem_free(l);
    return NULL;
}

void front_listen_stop(struct front_listener *l)
{
    if (!l)
        return;
    listener_stop(&l->listener);
    mem_free(l);
}

void front_serve(struct thread *t, int fd, const struct sock_addr *peer, bool is_control)
{
    serve(home_of(t), fd, peer, is_control);
}

void front_drain(struct thread *t)
{
    struct h1_home *home = home_of(t);
    home->draining = true;
    list_foreach(&home->idle, struct h1_conn, idle_node, conn)
        h1_conn_cut(conn);
}

void front_cut(struct thread *t)
{
    struct h1_home *home = home_of(t);
    list_foreach(&home->conns, struct h1_conn, node, conn)
        h1_conn_cut(conn);
}

size_t front_connection_count(const struct thread *t)
{
    const struct h1_home *home = thread_attached(t, &HOME_OWNER);
    return home ? home->client_count : 0;
}
