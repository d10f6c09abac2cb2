// SPDX-License-Identifier: Apache-2.0
// front_limits -- the directives of client connections. Limits and times are one set for the whole
// process: a connection has no site before its first request. Plain loads for whoever reads them.
#pragma once

#include <stdint.h>

#include "conf/key.h"

enum front_limit {
    FRONT_CONNECTIONS_MAX,
    FRONT_HEADER_BYTES_MAX,
    FRONT_HEADERS_MAX,
    FRONT_TARGET_BYTES_MAX,
    FRONT_HEADER_TIME_MS,
    FRONT_BODY_IDLE_TIME_MS,
    FRONT_KEEPALIVE_TIME_MS,
    FRONT_SEND_TIME_MS,
    FRONT_BODY_RATE_MIN, // bytes per second; 0: none
    FRONT_REQUESTS_MAX,  // of one connection; 0: no limit
    FRONT_LIMIT_COUNT
};

enum { FRONT_KEY_COUNT = FRONT_LIMIT_COUNT + 1 };

// The conf struct of the directives.
struct front_limits {
    int64_t values[FRONT_LIMIT_COUNT];
    int encoded_slash; // enum url_slash, by site
};

extern const struct key FRONT_LIMITS_KEYS[FRONT_KEY_COUNT];

// front_limits_check_path refuses prefixes of `path` that no request can have: with slashes that
// are not kept.
MUST_USE bool front_limits_check_path(const void *conf, struct str prefix, struct tree_pos pos,
                                      struct err *err);

// front_limits_set puts a set in force, also for connections that are open. Any thread.
void front_limits_set(const struct front_limits *l);

// front_limits_share sets the most connections that the process has descriptors for: a greater
// connections_max does not count from now on.
void front_limits_share(int64_t connections_most);

// front_limits_get reads one. Any thread.
int64_t front_limits_get(enum front_limit which);

// front_limits_us reads one of the times, in microseconds.
uint64_t front_limits_us(enum front_limit which);
