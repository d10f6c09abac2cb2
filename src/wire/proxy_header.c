// SPDX-License-Identifier: Apache-2.0
// proxy_header -- see proxy_header.h. The source is HAProxy's proxy-protocol.txt, sections 2.1 and
// 2.2. Both versions are read strictly: who sends this is no browser but a balancer.
#include "wire/proxy_header.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/rd.h"

#define V1_BEGIN STR("PROXY ")
#define V2_BEGIN STR("\r\n\r\n\0\r\nQUIT\n")

enum {
    V1_BYTES_MAX = 107,
    V2_FIXED_BYTES = 16,
    V2_LOCAL = 0x20, // version 2, command
    V2_PROXY = 0x21,
    V2_TCP4 = 0x11,
    V2_TCP6 = 0x21,
    V2_TYPE_SSL = 0x20,
    V2_CLIENT_SSL = 0x01,
};

static bool read_ip(struct str text, int family, uint8_t out[16])
{
    char room[INET6_ADDRSTRLEN];
    if (text.len >= sizeof room)
        return false;
    memcpy(room, text.ptr, text.len);
    room[text.len] = '\0';
    return inet_pton(family, room, out) == 1;
}

static bool read_port(struct str text, uint16_t *out)
{
    uint64_t port;
    bool has_zero_before = text.len > 1 && text.ptr[0] == '0';
    if (has_zero_before || !str_to_u64(text, &port) || port > 65535)
        return false;
    *out = (uint16_t)port;
    return true;
}

// "TCP4 SOURCE DESTINATION PORT PORT" or "UNKNOWN" and whatever.
static bool read_v1(struct str line, struct proxy_header *out)
{
    struct str rest = line;
    struct str protocol = str_cut(&rest, ' ');
    if (str_eq(protocol, STR("UNKNOWN")))
        return true;
    bool is_v4 = str_eq(protocol, STR("TCP4"));
    if (!is_v4 && !str_eq(protocol, STR("TCP6")))
        return false;
    int family = is_v4 ? AF_INET : AF_INET6;
    struct str source = str_cut(&rest, ' ');
    struct str destination = str_cut(&rest, ' ');
    struct str source_port = str_cut(&rest, ' ');
    out->family = is_v4 ? PROXY_HEADER_V4 : PROXY_HEADER_V6;
    return rest.ptr && read_ip(source, family, out->source)
           && read_ip(destination, family, out->destination)
           && read_port(source_port, &out->source_port) && read_port(rest, &out->destination_port);
}

static enum proxy_header_result parse_v1(struct str bytes, struct proxy_header *out)
{
    struct str there = str_slice(bytes, 0, V1_BYTES_MAX);
    size_t end = str_find(there, '\r');
    if (end == there.len || end + 1 == there.len)
        return there.len < V1_BYTES_MAX && str_find(there, '\n') == there.len ? PROXY_HEADER_AGAIN
                                                                              : PROXY_HEADER_BAD;
    struct proxy_header header = {.len = end + 2};
    if (there.ptr[end + 1] != '\n' || !read_v1(str_slice(there, V1_BEGIN.len, end), &header))
        return PROXY_HEADER_BAD;
    *out = header;
    return PROXY_HEADER_OK;
}

static void read_addresses(struct rd *r, size_t size, struct proxy_header *out)
{
    struct str source = rd_bytes(r, size);
    struct str destination = rd_bytes(r, size);
    out->source_port = rd_u16be(r);
    out->destination_port = rd_u16be(r);
    if (!rd_ok(r))
        return;
    memcpy(out->source, source.ptr, size);
    memcpy(out->destination, destination.ptr, size);
}

// What stands behind the addresses: type, length and value of each.
static void read_extras(struct rd *r, struct proxy_header *out)
{
    while (rd_ok(r) && r->left.len > 0) {
        unsigned type = rd_u8(r);
        struct str value = rd_bytes(r, rd_u16be(r));
        if (type == V2_TYPE_SSL && value.len > 0)
            out->is_tls = (value.ptr[0] & V2_CLIENT_SSL) != 0;
    }
}

static enum proxy_header_result parse_v2(struct str bytes, struct proxy_header *out)
{
    if (bytes.len < V2_FIXED_BYTES)
        return PROXY_HEADER_AGAIN;
    struct rd fixed = {.left = str_slice(bytes, V2_BEGIN.len, V2_FIXED_BYTES)};
    unsigned command = rd_u8(&fixed);
    unsigned family = rd_u8(&fixed);
    size_t len = V2_FIXED_BYTES + (size_t)rd_u16be(&fixed);
    if ((command != V2_LOCAL && command != V2_PROXY) || len > PROXY_HEADER_BYTES_MAX)
        return PROXY_HEADER_BAD;
    if (bytes.len < len)
        return PROXY_HEADER_AGAIN;
    struct proxy_header header = {.len = len};
    struct rd r = {.left = str_slice(bytes, V2_FIXED_BYTES, len)};
    // Of a LOCAL connection, the balancer's own, and of other families nothing more is read.
    bool is_ip = command == V2_PROXY && (family == V2_TCP4 || family == V2_TCP6);
    if (is_ip) {
        header.family = family == V2_TCP4 ? PROXY_HEADER_V4 : PROXY_HEADER_V6;
        read_addresses(&r, family == V2_TCP4 ? 4 : 16, &header);
        read_extras(&r, &header);
    }
    if (!rd_ok(&r))
        return PROXY_HEADER_BAD;
    *out = header;
    return PROXY_HEADER_OK;
}

static bool may_begin(struct str bytes, struct str with)
{
    size_t len = bytes.len < with.len ? bytes.len : with.len;
    return str_eq(str_slice(bytes, 0, len), str_slice(with, 0, len));
}

enum proxy_header_result proxy_header_parse(struct str bytes, struct proxy_header *out)
{
    if (bytes.len == 0)
        return PROXY_HEADER_AGAIN;
    if (may_begin(bytes, V1_BEGIN))
        return bytes.len < V1_BEGIN.len ? PROXY_HEADER_AGAIN : parse_v1(bytes, out);
    if (may_begin(bytes, V2_BEGIN))
        return parse_v2(bytes, out);
    return PROXY_HEADER_BAD;
}
