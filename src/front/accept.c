// SPDX-License-Identifier: Apache-2.0
// accept -- see accept.h.
#include "front/accept.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/listen.h"
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
    struct sock_addr local; // of its connections; len 0: each has its own
    uint64_t complained_us; // last time; 0: never
    char name[SOCK_TEXT_MAX];
};

static const char HOME_OWNER;

static struct {
    pthread_mutex_t lock; // guards: first, and the homes' links
    struct h1_home *first;
} homes = {.lock = PTHREAD_MUTEX_INITIALIZER};

// A new connection on its way to another thread that may have room for it.
struct handover {
    struct loop_task task;
    struct h1_home *origin; // who has accepted it
    struct h1_home *to;
    int fd;
    struct h1_origin from;
};

static void commit(struct snapshot *snapshot);

struct module front_module = {
    .name = "front",
    .keys = FRONT_LIMITS_KEYS,
    .key_count = FRONT_KEY_COUNT,
    .conf_size = sizeof(struct front_limits),
    .check_path = front_limits_check_path,
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
    pthread_mutex_lock(&homes.lock);
    struct h1_home **link = &homes.first;
    while (*link != home)
        link = &(*link)->next;
    *link = home->next;
    pthread_mutex_unlock(&homes.lock);
    h1_conn_home_done(home);
    mem_free(home);
}

static void rest_home(void *data)
{
    h1_conn_home_rest(data);
}

static struct h1_home *home_of(struct thread *t)
{
    struct h1_home *home = thread_attached(t, &HOME_OWNER);
    if (!home) {
        home = mem_new(struct h1_home);
        home->thread = t;
        list_init(&home->conns);
        list_init(&home->idle);
        list_init(&home->spares);
        pthread_mutex_lock(&homes.lock);
        home->next = homes.first;
        homes.first = home;
        pthread_mutex_unlock(&homes.lock);
        thread_attach(t, &HOME_OWNER, home, free_home);
        thread_on_rest(t, &HOME_OWNER, rest_home);
    }
    return home;
}

static struct h1_home *home_after(const struct h1_home *home)
{
    pthread_mutex_lock(&homes.lock);
    struct h1_home *next = home->next ? home->next : homes.first;
    pthread_mutex_unlock(&homes.lock);
    return next;
}

static bool cut_longest_idle(struct h1_home *home)
{
    list_foreach(&home->idle, struct h1_conn, idle_node, conn) {
        if (conn->is_control)
            continue;
        h1_conn_cut(conn);
        return true;
    }
    return false;
}

// Counts one more client. If the limit is reached, who waits longest without a request makes room.
static bool admit(struct h1_home *home)
{
    while (!h1_conn_admit((size_t)front_limits_get(FRONT_CONNECTIONS_MAX)))
        if (!cut_longest_idle(home))
            return false;
    return true;
}

static void refuse(struct h1_home *home, int fd)
{
    metrics_add(&home->thread->metrics, connections_refused, 1);
    fd_close(&fd);
}

static void on_handover(struct loop_task *task);

// The limit is that of all threads together, but idle connections are their thread's own: the new
// connection goes round until a thread can close one for it, and serves it then.
static void hand_over(struct h1_home *here, struct h1_home *origin, int fd,
                      const struct h1_origin *from)
{
    struct h1_home *next = home_after(here);
    // Where the end has begun nothing goes on to another thread: its loop may be gone by then.
    if (next == origin || here->is_cut) {
        refuse(here, fd);
        return;
    }
    struct handover *h = mem_new(struct handover);
    *h = (struct handover){{.run = on_handover}, origin, next, fd, *from};
    loop_post(next->thread->loop, &h->task);
}

static void on_handover(struct loop_task *task)
{
    struct handover *h = CONTAINER_OF(task, struct handover, task);
    if (!h->to->is_cut && admit(h->to))
        h1_conn_open(h->to, h->fd, &h->from);
    else
        hand_over(h->to, h->origin, h->fd, &h->from);
    mem_free(h);
}

static void serve(struct h1_home *home, int fd, const struct h1_origin *from)
{
    metrics_add(&home->thread->metrics, connections_accepted, 1);
    // The operator's way in stays open, whatever the clients do.
    if (home->is_cut)
        refuse(home, fd);
    else if (from->is_control || admit(home))
        h1_conn_open(home, fd, from);
    else
        hand_over(home, home, fd, from);
}

// What the configuration in force says about the listener. False: this peer may not come here.
static bool look_up(const struct front_listener *l, struct h1_origin *from)
{
    struct snapshot *s = snapshot_current();
    const struct listen_address *address = s ? listen_find(s, str_c(l->name)) : NULL;
    bool ok = true;
    if (address) {
        from->is_tls = address->tls;
        from->has_proxy_header = address->proxy_protocol;
        ok = !address->proxy_protocol || listen_believes(s, &from->peer);
    }
    snapshot_unref(s);
    return ok;
}

static void on_accept(struct listener *listener, int fd, const struct sock_addr *peer)
{
    struct front_listener *l = CONTAINER_OF(listener, struct front_listener, listener);
    struct h1_origin from = {.peer = *peer, .local = l->local, .is_control = l->is_control};
    if (l->is_control || look_up(l, &from))
        serve(l->home, fd, &from);
    else
        refuse(l->home, fd);
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
    // Where a listener has one address, its connections have that, too.
    if (sock_name(fd, &l->local) < 0 || sock_addr_is_any(&l->local))
        l->local = (struct sock_addr){0};
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
    serve(home_of(t), fd, &(struct h1_origin){.peer = *peer, .is_control = is_control});
}

void front_drain(struct thread *t, bool patient)
{
    struct h1_home *home = home_of(t);
    home->draining = true;
    home->patient = patient;
    list_foreach(&home->idle, struct h1_conn, idle_node, conn)
        h1_conn_later(conn);
}

void front_cut(struct thread *t)
{
    struct h1_home *home = home_of(t);
    home->is_cut = true;
    list_foreach(&home->conns, struct h1_conn, node, conn)
        h1_conn_cut(conn);
}

size_t front_connection_count(const struct thread *t)
{
    const struct h1_home *home = thread_attached(t, &HOME_OWNER);
    return home ? home->client_count : 0;
}
