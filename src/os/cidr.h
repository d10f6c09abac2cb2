// SPDX-License-Identifier: Apache-2.0
// cidr -- ranges of IP addresses, as rules of access name them (RFC 4632, RFC 4291 §2.3). No names
// of hosts: what a rule means must not depend on a resolver.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "os/sock.h"

#define CIDR_TEXT_MAX 64 // bytes of cidr_text, with NUL

struct cidr {
    bool is_v6;
    unsigned bits;       // of the prefix: 0 to 32 or 128
    uint8_t address[16]; // 4 of them for IPv4; zero behind the prefix
};

enum cidr_result {
    CIDR_OK,
    CIDR_MALFORMED,
    CIDR_HOST_BITS // bits behind the prefix are set: 10.0.0.1/8
};

// cidr_parse reads "192.0.2.0/24", "2001:db8::/32" or one address. IPv6 forms of IPv4 addresses are
// IPv4. With CIDR_HOST_BITS *out is the range without those bits.
MUST_USE enum cidr_result cidr_parse(struct str text, struct cidr *out);

// cidr_text writes the form that cidr_parse reads; returns its length.
size_t cidr_text(const struct cidr *range, char room[static CIDR_TEXT_MAX]);

// cidr_has tells whether the address is in the range; a Unix socket is in none.
bool cidr_has(const struct cidr *range, const struct sock_addr *addr);

// cidr_of is the range of the address alone, cut to the first `v6_bits` bits for IPv6. False for a
// Unix socket.
MUST_USE bool cidr_of(const struct sock_addr *addr, unsigned v6_bits, struct cidr *out);

// cidr_ip reads one address without port into a socket address (port 0).
MUST_USE bool cidr_ip(struct str text, struct sock_addr *out);
