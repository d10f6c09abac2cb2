// SPDX-License-Identifier: Apache-2.0
// h1_proxy -- the header of the PROXY protocol before a connection's first byte. It is looked at
// where it waits and taken as a whole, so that what follows, perhaps TLS, is untouched. Whether the
// peer is to be believed was asked when it came.
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "front/h1_conn.h"
#include "wire/proxy_header.h"

STATIC_ASSERT(PROXY_HEADER_BYTES_MAX <= THREAD_SCRATCH_BYTES);

static struct sock_addr address(enum proxy_header_family family, const uint8_t ip[16],
                                uint16_t port)
{
    struct sock_addr addr = {0};
    if (family == PROXY_HEADER_V4) {
        addr.u.v4.sin_family = AF_INET;
        addr.u.v4.sin_port = htons(port);
        memcpy(&addr.u.v4.sin_addr, ip, 4);
        addr.len = sizeof addr.u.v4;
    } else {
        addr.u.v6.sin6_family = AF_INET6;
        addr.u.v6.sin6_port = htons(port);
        memcpy(&addr.u.v6.sin6_addr, ip, 16);
        addr.len = sizeof addr.u.v6;
    }
    return addr;
}

static void believe(struct peer *peer, const struct proxy_header *header)
{
    if (header->family == PROXY_HEADER_NONE)
        return;
    peer->addr = address(header->family, header->source, header->source_port);
    peer->local = address(header->family, header->destination, header->destination_port);
    (void)sock_addr_ip(&peer->addr, peer->ip, &peer->port);
    (void)sock_addr_ip(&peer->local, peer->local_ip, &peer->local_port);
    peer->is_tls = header->is_tls;
}

enum h1_read h1_proxy_read(struct h1_conn *conn)
{
    char *scratch = conn->home->thread->scratch;
    ssize_t n = stream_peek(&conn->stream, scratch, PROXY_HEADER_BYTES_MAX);
    if (n == -EAGAIN)
        return H1_READ_WAIT;
    if (n <= 0)
        return H1_READ_END;
    struct proxy_header header;
    switch (proxy_header_parse(str_n(scratch, (size_t)n), &header)) {
    case PROXY_HEADER_OK:
        break;
    case PROXY_HEADER_AGAIN:
        // More bytes are a new edge; after its end none come.
        return conn->hangup ? H1_READ_END : H1_READ_WAIT;
    case PROXY_HEADER_BAD:
        metrics_add(&conn->home->thread->metrics, requests_malformed, 1);
        return H1_READ_END;
    }
    if (stream_read(&conn->stream, scratch, header.len) != (ssize_t)header.len)
        return H1_READ_END;
    believe(&conn->peer, &header);
    return H1_READ_BYTES;
}
