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

static struct h1_address address(enum proxy_header_family family, const uint8_t ip[16],
                                 uint16_t port)
{
    bool is_v4 = family == PROXY_HEADER_V4;
    struct h1_address made = {.port = htons(port), .family = is_v4 ? AF_INET : AF_INET6};
    memcpy(made.ip, ip, is_v4 ? 4 : 16);
    return made;
}

static void believe(struct h1_conn *conn, const struct proxy_header *header)
{
    if (header->family == PROXY_HEADER_NONE)
        return;
    conn->peer = address(header->family, header->source, header->source_port);
    conn->local = address(header->family, header->destination, header->destination_port);
    conn->is_tls = header->is_tls;
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
    believe(conn, &header);
    return H1_READ_BYTES;
}
