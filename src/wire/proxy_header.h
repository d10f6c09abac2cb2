// SPDX-License-Identifier: Apache-2.0
// proxy_header -- the header that a balancer puts before a connection's first byte to say who the
// client is: the PROXY protocol, versions 1 (text) and 2 (binary). Whom to believe is the caller's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

// More is refused: addresses and what balancers say beside them take a fraction of it.
enum { PROXY_HEADER_BYTES_MAX = 2048 };

enum proxy_header_result {
    PROXY_HEADER_OK,
    PROXY_HEADER_AGAIN, // not complete and not wrong so far
    PROXY_HEADER_BAD,
};

enum proxy_header_family {
    PROXY_HEADER_NONE, // LOCAL, UNKNOWN, or no IP: the connection's own addresses hold
    PROXY_HEADER_V4,
    PROXY_HEADER_V6,
};

struct proxy_header {
    size_t len; // bytes of the header: the connection's own begin there
    enum proxy_header_family family;
    uint8_t source[16], destination[16]; // 4 of them for IPv4
    uint16_t source_port, destination_port;
    bool is_tls; // version 2: the client has spoken TLS with the balancer
};

// proxy_header_parse reads `bytes`: all that came so far. *out is written for OK.
MUST_USE enum proxy_header_result proxy_header_parse(struct str bytes, struct proxy_header *out);
