// SPDX-License-Identifier: Apache-2.0
// cidr -- see cidr.h.
#include "os/cidr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define V4_BITS     32u
#define V6_BITS     128u
#define MAPPED_BITS 96u // of ::ffff:0:0/96, in which IPv4 addresses stand

static const uint8_t MAPPED[12] = {[10] = 0xff, [11] = 0xff};

// An address as bytes, IPv4 wherever it is that.
struct bytes {
    bool is_v6;
    bool was_mapped;
    uint8_t at[16];
};

static struct bytes normal(bool is_v6, const void *from)
{
    struct bytes b = {.is_v6 = is_v6};
    b.was_mapped = is_v6 && memcmp(from, MAPPED, sizeof MAPPED) == 0;
    if (b.was_mapped) {
        b.is_v6 = false;
        memcpy(b.at, (const uint8_t *)from + sizeof MAPPED, 4);
    } else {
        memcpy(b.at, from, is_v6 ? 16 : 4);
    }
    return b;
}

static bool read_ip(struct str text, struct bytes *out)
{
    char room[INET6_ADDRSTRLEN];
    uint8_t raw[16];
    if (text.len == 0 || text.len >= sizeof room || memchr(text.ptr, '\0', text.len))
        return false;
    memcpy(room, text.ptr, text.len);
    room[text.len] = '\0';
    bool is_v6 = str_find(text, ':') < text.len;
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, room, raw) != 1)
        return false;
    *out = normal(is_v6, raw);
    return true;
}

// Clears what stands behind the prefix; tells whether something did.
static bool clear_behind(struct cidr *range)
{
    bool was_set = false;
    unsigned size = range->is_v6 ? 16 : 4;
    for (unsigned i = 0; i < size; i++) {
        unsigned keep = range->bits <= i * 8 ? 0 : range->bits - i * 8;
        unsigned mask = keep >= 8 ? 0xffu : 0xff00u >> keep & 0xffu;
        was_set = was_set || (range->address[i] & ~mask);
        range->address[i] = (uint8_t)(range->address[i] & mask);
    }
    return was_set;
}

enum cidr_result cidr_parse(struct str text, struct cidr *out)
{
    struct bytes b;
    struct str rest = text;
    if (!read_ip(str_cut(&rest, '/'), &b))
        return CIDR_MALFORMED;
    unsigned most = b.is_v6 || b.was_mapped ? V6_BITS : V4_BITS;
    uint64_t bits = most;
    if (rest.ptr && (rest.len > 3 || !str_to_u64(rest, &bits) || bits > most))
        return CIDR_MALFORMED;
    if (b.was_mapped) {
        if (bits < MAPPED_BITS) // would be a part of IPv6 and all of IPv4
            return CIDR_MALFORMED;
        bits -= MAPPED_BITS;
    }
    struct cidr range = {.is_v6 = b.is_v6, .bits = (unsigned)bits};
    memcpy(range.address, b.at, sizeof range.address);
    bool had_more = clear_behind(&range);
    *out = range;
    return had_more ? CIDR_HOST_BITS : CIDR_OK;
}

size_t cidr_text(const struct cidr *range, char room[static CIDR_TEXT_MAX])
{
    char ip[INET6_ADDRSTRLEN];
    if (!inet_ntop(range->is_v6 ? AF_INET6 : AF_INET, range->address, ip, sizeof ip))
        ip[0] = '\0';
    int len = snprintf(room, CIDR_TEXT_MAX, "%s/%u", ip, range->bits);
    return len > 0 ? (size_t)len : 0;
}

static bool bytes_of(const struct sock_addr *addr, struct bytes *out)
{
    if (addr->u.any.sa_family == AF_INET)
        *out = normal(false, &addr->u.v4.sin_addr);
    else if (addr->u.any.sa_family == AF_INET6)
        *out = normal(true, &addr->u.v6.sin6_addr);
    else
        return false;
    return true;
}

bool cidr_of(const struct sock_addr *addr, unsigned v6_bits, struct cidr *out)
{
    struct bytes b;
    if (!bytes_of(addr, &b))
        return false;
    *out = (struct cidr){.is_v6 = b.is_v6, .bits = b.is_v6 ? v6_bits : V4_BITS};
    memcpy(out->address, b.at, sizeof out->address);
    (void)clear_behind(out);
    return true;
}

bool cidr_has(const struct cidr *range, const struct sock_addr *addr)
{
    struct bytes b;
    if (!bytes_of(addr, &b) || b.is_v6 != range->is_v6)
        return false;
    struct cidr cut = {.is_v6 = b.is_v6, .bits = range->bits};
    memcpy(cut.address, b.at, sizeof cut.address);
    (void)clear_behind(&cut);
    return memcmp(cut.address, range->address, b.is_v6 ? 16 : 4) == 0;
}

bool cidr_ip(struct str text, struct sock_addr *out)
{
    struct bytes b;
    if (!read_ip(text, &b))
        return false;
    *out = (struct sock_addr){0};
    if (b.is_v6) {
        out->u.v6.sin6_family = AF_INET6;
        memcpy(&out->u.v6.sin6_addr, b.at, 16);
        out->len = sizeof out->u.v6;
    } else {
        out->u.v4.sin_family = AF_INET;
        memcpy(&out->u.v4.sin_addr, b.at, 4);
        out->len = sizeof out->u.v4;
    }
    return true;
}
