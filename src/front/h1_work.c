// SPDX-License-Identifier: Apache-2.0
// h1_work -- what a connection has only while it has a request: it is taken from the thread's
// spares and given back there.
#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "front/h1_conn.h"
#include "log/log.h"
#include "os/fd.h"

#define SPARES_MAX 64 // of struct h1_work, for a thread

struct h1_address h1_conn_address(const struct sock_addr *addr)
{
    struct h1_address kept = {.family = addr->u.any.sa_family};
    if (kept.family == AF_INET) {
        memcpy(kept.ip, &addr->u.v4.sin_addr, sizeof addr->u.v4.sin_addr);
        kept.port = addr->u.v4.sin_port;
    } else if (kept.family == AF_INET6) {
        memcpy(kept.ip, &addr->u.v6.sin6_addr, sizeof addr->u.v6.sin6_addr);
        kept.port = addr->u.v6.sin6_port;
    }
    return kept;
}

static void put_address(const struct h1_address *kept, struct sock_addr *out)
{
    *out = (struct sock_addr){.len = offsetof(struct sockaddr_un, sun_path)};
    out->u.any.sa_family = kept->family;
    if (kept->family == AF_INET) {
        out->len = sizeof out->u.v4;
        out->u.v4.sin_port = kept->port;
        memcpy(&out->u.v4.sin_addr, kept->ip, sizeof out->u.v4.sin_addr);
    } else if (kept->family == AF_INET6) {
        out->len = sizeof out->u.v6;
        out->u.v6.sin6_port = kept->port;
        memcpy(&out->u.v6.sin6_addr, kept->ip, sizeof out->u.v6.sin6_addr);
    }
}

// Makes the peer's side of the connection, or ours, as exchanges see it. `at` is what stands there
// from the work's last connection: with the same address as now only the port is set.
static void put_side(struct h1_address *at, const struct h1_address *now, struct sock_addr *addr,
                     char ip[static SOCK_TEXT_MAX], unsigned *port)
{
    if (at->family != now->family || memcmp(at->ip, now->ip, sizeof at->ip) != 0) {
        put_address(now, addr);
        (void)sock_addr_ip(addr, ip, port);
    } else if (now->family == AF_INET) {
        addr->u.v4.sin_port = now->port;
        *port = ntohs(now->port);
    } else if (now->family == AF_INET6) {
        addr->u.v6.sin6_port = now->port;
        *port = ntohs(now->port);
    }
    *at = *now;
}

void h1_conn_work(struct h1_conn *conn)
{
    if (conn->work)
        return;
    struct h1_home *home = conn->home;
    struct list_node *node = list_pop_front(&home->spares);
    home->spare_count -= node != NULL;
    struct h1_work *work =
        node ? CONTAINER_OF(node, struct h1_work, node) : mem_new(struct h1_work);
    struct peer *peer = &work->peer;
    peer->is_control = conn->is_control;
    peer->is_tls = conn->is_tls;
    put_side(&work->peer_at, &conn->peer, &peer->addr, peer->ip, &peer->port);
    put_side(&work->local_at, &conn->local, &peer->local, peer->local_ip, &peer->local_port);
    work->conn = conn;
    work->body = (struct h1_body){.finished = true};
    work->out = (struct h1_out){.file = FD_NONE};
    conn->work = work;
}

void h1_conn_work_drop(struct h1_conn *conn)
{
    struct h1_work *work = conn->work;
    struct h1_home *home = conn->home;
    if (!work)
        return;
    conn->work = NULL;
    loop_timer_stop(&work->body.timer);
    if (home->spare_count >= SPARES_MAX) {
        mem_free(work);
        return;
    }
    home->spare_count++;
    list_push_front(&home->spares, &work->node);
}

void h1_conn_tell_flood(const struct h1_conn *conn)
{
    struct sock_addr addr;
    char ip[SOCK_TEXT_MAX];
    unsigned port;
    put_address(&conn->peer, &addr);
    (void)sock_addr_ip(&addr, ip, &port);
    log_warn("", "front.tls_flood",
             "the client %s has sent too many TLS records without bytes (new keys, attempts to "
             "renegotiate or warnings); its connection is closed",
             ip);
}

void h1_conn_home_rest(struct h1_home *home)
{
    struct list_node *node;
    while ((node = list_pop_front(&home->spares)) != NULL)
        mem_free(CONTAINER_OF(node, struct h1_work, node));
    home->spare_count = 0;
}

void h1_conn_home_done(struct h1_home *home)
{
    h1_conn_home_rest(home);
    mem_free(home->header_room);
}
