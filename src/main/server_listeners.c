// SPDX-License-Identifier: Apache-2.0
// server_listeners -- see server_listeners.h.
#include "main/server_listeners.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/mem.h"
#include "front/accept.h"
#include "log/log.h"
#include "os/fd.h"

#define CONTROL STR("control")

struct listener {
    struct list_node node;
    int fd;
    bool is_control;
    atomic_uint users;              // threads that accept on it, and the list
    struct front_listener **fronts; // by thread index, each touched by its thread only
    size_t name_len;
    char name[];
};

void server_listeners_init(struct server_listeners *l)
{
    list_init(&l->offered);
    list_init(&l->in_force);
}

static struct str name_of(const struct listener *l)
{
    return str_n(l->name, l->name_len);
}

static void let_go(struct listener *l)
{
    if (atomic_fetch_sub(&l->users, 1) != 1)
        return;
    fd_close(&l->fd);
    mem_free(l->fronts);
    mem_free(l);
}

void server_listeners_offer(struct server_listeners *all, struct str name, int fd)
{
    struct listener *l = mem_alloc(sizeof *l + name.len + 1);
    memcpy(l->name, name.ptr, name.len);
    l->name_len = name.len;
    l->fd = fd;
    l->is_control = str_eq(name, CONTROL);
    atomic_init(&l->users, 1);
    list_push_back(&all->offered, &l->node);
}

void server_listeners_abandon(struct server_listeners *all)
{
    list_foreach(&all->offered, struct listener, node, l) {
        list_remove(&l->node);
        let_go(l);
    }
}

static void start(struct thread *t, void *arg)
{
    struct listener *l = arg;
    l->fronts[t->index] = front_listen_start(t, l->fd, l->name, l->is_control);
    if (!l->fronts[t->index])
        log_error("", "server.listen_failed", "thread %u cannot accept connections on %s", t->index,
                  l->name);
}

static void stop(struct thread *t, void *arg)
{
    struct listener *l = arg;
    front_listen_stop(l->fronts[t->index]);
    l->fronts[t->index] = NULL;
    let_go(l);
}

static void for_threads(struct listener *l, struct server_threads *threads, server_threads_fn *fn)
{
    if (l->is_control)
        fn(&threads->items[0], l);
    else
        server_threads_each(threads, fn, l);
}

static void begin(struct listener *l, struct server_threads *threads)
{
    l->fronts = mem_array(threads->count, sizeof(struct front_listener *));
    atomic_fetch_add(&l->users, l->is_control ? 1 : threads->count);
    for_threads(l, threads, start);
}

static bool is_same_socket(int a, int b)
{
    struct stat one;
    struct stat other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_ino == other.st_ino
           && one.st_dev == other.st_dev;
}

static struct listener *find(struct list *list, const struct listener *like)
{
    list_foreach(list, struct listener, node, l)
        if (str_eq(name_of(l), name_of(like)) && is_same_socket(l->fd, like->fd))
            return l;
    return NULL;
}

void server_listeners_commit(struct server_listeners *all, struct server_threads *threads)
{
    struct list old = {.head = {NULL, NULL}};
    list_init(&old);
    struct list_node *node;
    while ((node = list_pop_front(&all->in_force)) != NULL)
        list_push_back(&old, node);
    while ((node = list_pop_front(&all->offered)) != NULL) {
        struct listener *offer = CONTAINER_OF(node, struct listener, node);
        struct listener *have = find(&old, offer);
        if (have) {
            list_remove(&have->node);
            let_go(offer);
        } else {
            begin(offer, threads);
        }
        list_push_back(&all->in_force, have ? &have->node : &offer->node);
    }
    list_foreach(&old, struct listener, node, l) {
        list_remove(&l->node);
        for_threads(l, threads, stop);
        let_go(l);
    }
}

struct str *server_listeners_names(const struct server_listeners *all, struct arena *a,
                                   size_t *out_count)
{
    size_t count = 0;
    list_foreach(&all->in_force, struct listener, node, l)
        count += !l->is_control;
    struct str *names = arena_array(a, struct str, count + 1);
    size_t at = 0;
    list_foreach(&all->in_force, struct listener, node, l)
        if (!l->is_control)
            names[at++] = arena_dup(a, name_of(l));
    *out_count = count;
    return names;
}

int server_listeners_control(const struct server_listeners *all)
{
    list_foreach(&all->in_force, struct listener, node, l)
        if (l->is_control)
            return l->fd;
    return FD_NONE;
}
