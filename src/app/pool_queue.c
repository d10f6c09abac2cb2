// SPDX-License-Identifier: Apache-2.0
// pool_queue -- see pool_queue.h.
#include "app/pool_queue.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define ROUND_TURNS_MIN 64 // of a round that is ended although addresses have not had their turn
#define KEY_BYTES       9

struct pool_client {
    struct list_node node; // pool_queue.round or .later
    struct list tickets;   // oldest first (struct ticket, node)
    uint32_t count;        // of them
    char key[KEY_BYTES];
};

// One key for each IPv4 address and each IPv6 network of 64 bits, which is what one customer has;
// one for all Unix sockets.
static struct str key_of(const struct exchange *ex, char room[static KEY_BYTES])
{
    memset(room, 0, KEY_BYTES);
    const struct sock_addr *addr = ex->peer ? &ex->peer->addr : NULL;
    if (addr && addr->u.any.sa_family == AF_INET) {
        room[0] = 4;
        memcpy(room + 1, &addr->u.v4.sin_addr, 4);
    } else if (addr && addr->u.any.sa_family == AF_INET6) {
        const struct in6_addr *ip = &addr->u.v6.sin6_addr;
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(ip);
        room[0] = is_v4 ? 4 : 6;
        memcpy(room + 1, ip->s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 8);
    }
    return str_n(room, KEY_BYTES);
}

static struct pool_client *find(const struct pool_queue *q, const struct exchange *ex)
{
    char room[KEY_BYTES];
    return map_find(&q->clients, key_of(ex, room));
}

static void forget(struct pool_queue *q, struct pool_client *c)
{
    ASSERT(c->count == 0);
    if (q->largest == c)
        q->largest = NULL;
    (void)map_remove(&q->clients, str_n(c->key, KEY_BYTES));
    list_remove(&c->node);
    mem_free(c);
}

static void forget_all(struct pool_queue *q, struct list *l)
{
    list_foreach(l, struct pool_client, node, c)
        forget(q, c);
}

void pool_queue_init(struct pool_queue *q)
{
    *q = (struct pool_queue){0};
    list_init(&q->waits);
    list_init(&q->round);
    list_init(&q->later);
}

void pool_queue_done(struct pool_queue *q)
{
    ASSERT(q->count == 0);
    forget_all(q, &q->round);
    forget_all(q, &q->later);
    map_done(&q->clients);
}

void pool_queue_push(struct pool_queue *q, struct ticket *t)
{
    struct pool_client *c = find(q, t->exchange);
    if (!c) {
        c = mem_new(struct pool_client);
        struct str key = key_of(t->exchange, c->key);
        list_init(&c->tickets);
        (void)map_put(&q->clients, key, c);
        list_push_back(&q->round, &c->node);
    }
    t->client = c;
    list_push_back(&c->tickets, &t->node);
    list_push_back(&q->waits, &t->wait);
    c->count++;
    q->count++;
    if (!q->largest || c->count > q->largest->count)
        q->largest = c;
}

// Puts those that had their turn behind those that had not.
static void begin_round(struct pool_queue *q)
{
    struct list_node *first = list_first(&q->later);
    if (first) {
        struct list_node *last = q->later.head.prev;
        first->prev = q->round.head.prev;
        first->prev->next = first;
        last->next = &q->round.head;
        q->round.head.prev = last;
        list_init(&q->later);
    }
    uint32_t clients = (uint32_t)map_count(&q->clients);
    q->round_left = 2 * clients > ROUND_TURNS_MIN ? 2 * clients : ROUND_TURNS_MIN;
}

// The client whose turn it is. Those that have nothing to ask any more are forgotten on the way:
// each of them had a turn, which has paid for it.
static struct pool_client *next_client(struct pool_queue *q)
{
    for (;;) {
        if (q->round_left == 0 || list_is_empty(&q->round))
            begin_round(q);
        struct list_node *first = list_first(&q->round);
        ASSERT(first); // somebody waits
        struct pool_client *c = CONTAINER_OF(first, struct pool_client, node);
        if (c->count)
            return c;
        forget(q, c);
    }
}

static void take_out(struct pool_queue *q, struct ticket *t)
{
    struct pool_client *c = t->client;
    ASSERT(c && c->count > 0 && q->count > 0);
    list_remove(&t->node);
    list_remove(&t->wait);
    t->client = NULL;
    c->count--;
    q->count--;
}

// With nobody waiting, who had a turn does not matter. At most as many as had one since it was so.
static void rest(struct pool_queue *q)
{
    if (q->count > 0)
        return;
    forget_all(q, &q->round);
    forget_all(q, &q->later);
}

struct ticket *pool_queue_pop(struct pool_queue *q)
{
    if (q->count == 0)
        return NULL;
    struct pool_client *c = next_client(q);
    struct list_node *first = list_first(&c->tickets);
    ASSERT(first);
    struct ticket *t = CONTAINER_OF(first, struct ticket, node);
    take_out(q, t);
    list_remove(&c->node);
    list_push_back(&q->later, &c->node);
    q->round_left--;
    rest(q);
    return t;
}

void pool_queue_remove(struct pool_queue *q, struct ticket *t)
{
    take_out(q, t);
    rest(q);
}

struct ticket *pool_queue_oldest(const struct pool_queue *q)
{
    struct list_node *node = list_first(&q->waits);
    return node ? CONTAINER_OF(node, struct ticket, wait) : NULL;
}

struct ticket *pool_queue_excess(const struct pool_queue *q, const struct exchange *ex)
{
    const struct pool_client *own = find(q, ex);
    const struct pool_client *c = q->largest;
    if (!c || c == own || c->count <= (own ? own->count : 0) + 1)
        return NULL;
    return CONTAINER_OF(c->tickets.head.prev, struct ticket, node);
}

static uint32_t check_clients(const struct list *l, uint32_t *clients)
{
    uint32_t tickets = 0;
    list_foreach(l, struct pool_client, node, c) {
        uint32_t own = 0;
        list_foreach(&c->tickets, struct ticket, node, t) {
            ASSERT(t->client == c && list_has(&t->wait));
            own++;
        }
        ASSERT(own == c->count);
        tickets += own;
        (*clients)++;
    }
    return tickets;
}

void pool_queue_check(const struct pool_queue *q)
{
    uint32_t waits = 0;
    uint32_t clients = 0;
    list_foreach(&q->waits, struct ticket, wait, t)
        waits += t->client != NULL;
    uint32_t tickets = check_clients(&q->round, &clients) + check_clients(&q->later, &clients);
    ASSERT(waits == q->count && tickets == q->count && clients == map_count(&q->clients));
    ASSERT(q->count || clients == 0);
}
