// SPDX-License-Identifier: Apache-2.0
// front_limits -- see front_limits.h.
#include "front/front_limits.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/conf_path.h"
#include "core/thread.h"
#include "http/url.h"

static const char *const SLASHES[] = {"reject", "keep", "decode", NULL};

STATIC_ASSERT(URL_SLASH_REJECT == 0 && URL_SLASH_KEEP == 1 && URL_SLASH_DECODE == 2);

const struct key FRONT_LIMITS_KEYS[FRONT_KEY_COUNT] = {
    {
        .name = "connections_max",
        .type = &KEY_INT,
        .offset = offsetof(struct front_limits, values[FRONT_CONNECTIONS_MAX]),
        .scopes = KEY_TOP,
        .def = "10000",
        .min = 1,
        .max = 1000000,
        .unit = "connections",
        .help = "The most client connections that are open at a time, in all threads "
                "together. Beyond it idle connections are closed first, then new ones "
                "at once. Fewer where the limit of open files (ulimit -n) leaves no more "
                "room beside workers, logs and files.",
        .example = "20000",
    },
    {
        .name = "header_bytes_max",
        .type = &KEY_SIZE,
        .offset = offsetof(struct front_limits, values[FRONT_HEADER_BYTES_MAX]),
        .scopes = KEY_TOP,
        .def = "64k",
        .min = 1024,
        .max = THREAD_SCRATCH_BYTES,
        .unit = "bytes",
        .help = "The largest request head, request line and headers together; a larger "
                "one is answered with 431.",
        .example = "16k",
    },
    {
        .name = "headers_max",
        .type = &KEY_INT,
        .offset = offsetof(struct front_limits, values[FRONT_HEADERS_MAX]),
        .scopes = KEY_TOP,
        .def = "128",
        .min = 8,
        .max = 1024,
        .unit = "headers",
        .help = "The most headers of a request; more are answered with 431.",
        .example = "64",
    },
    {
        .name = "target_bytes_max",
        .type = &KEY_SIZE,
        .offset = offsetof(struct front_limits, values[FRONT_TARGET_BYTES_MAX]),
        .scopes = KEY_TOP,
        .def = "16k",
        .min = 256,
        .max = 49152,
        .unit = "bytes",
        .help = "The longest request target (path and query); a longer one is answered "
                "with 414.",
        .example = "8k",
    },
    {
        .name = "header_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct front_limits, values[FRONT_HEADER_TIME_MS]),
        .scopes = KEY_TOP,
        .def = "20s",
        .min = 1,
        .max = 3600000,
        .unit = "ms",
        .help = "How long a client may take for a whole request head, and before the "
                "first byte on a new connection. The kernel keeps a TCP connection that "
                "says nothing for about a second before it counts as one here.",
        .example = "10s",
    },
    {
        .name = "body_idle_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct front_limits, values[FRONT_BODY_IDLE_TIME_MS]),
        .scopes = KEY_TOP,
        .def = "60s",
        .min = 1,
        .max = 86400000,
        .unit = "ms",
        .help = "How long a client may pause within a request body, or be behind body_rate_min; "
                "then it is answered with 408.",
        .example = "30s",
    },
    {
        .name = "keepalive_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct front_limits, values[FRONT_KEEPALIVE_TIME_MS]),
        .scopes = KEY_TOP,
        .def = "75s",
        .min = 1,
        .max = 86400000,
        .unit = "ms",
        .help = "How long an idle connection is kept for the next request.",
        .example = "15s",
    },
    {
        .name = "send_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct front_limits, values[FRONT_SEND_TIME_MS]),
        .scopes = KEY_TOP,
        .def = "60s",
        .min = 1,
        .max = 86400000,
        .unit = "ms",
        .help = "How long a client may take no byte of its answer before the connection"
                " is closed.",
        .example = "30s",
    },
    {
        .name = "body_rate_min",
        .type = &KEY_SIZE,
        .offset = offsetof(struct front_limits, values[FRONT_BODY_RATE_MIN]),
        .scopes = KEY_TOP,
        .def = "100",
        .min = 0,
        .max = 1073741824,
        .unit = "bytes per second",
        .help = "The slowest that a request body may come in. A client that has fallen behind "
                "this rate by body_idle_time is answered with 408; one that keeps up may take as "
                "long as its body needs. 0 sets no limit.",
        .example = "1k",
    },
    {
        .name = "requests_per_connection",
        .type = &KEY_INT,
        .offset = offsetof(struct front_limits, values[FRONT_REQUESTS_MAX]),
        .scopes = KEY_TOP,
        .def = "0",
        .min = 0,
        .max = 1000000000,
        .unit = "requests",
        .help = "How many requests a connection may bring before it is closed behind an answer. "
                "0 sets no limit.",
        .example = "10000",
    },
    {
        .name = "encoded_slash",
        .type = &KEY_ENUM,
        .offset = offsetof(struct front_limits, encoded_slash),
        .scopes = KEY_TOP | KEY_SITE,
        .def = "reject",
        .words = SLASHES,
        .help = "What becomes of %2F in the path of a URL: reject answers 400; keep leaves it in "
                "the path, for apps that tell it from a slash, and answers 400 where with a slash "
                "another `path` would hold; decode makes it a slash like any other.",
        .example = "keep",
    },
};

static _Atomic int64_t values[FRONT_LIMIT_COUNT];
static _Atomic int64_t connections_share = INT64_MAX;

bool front_limits_check_path(const void *conf, struct str prefix, struct tree_pos pos,
                             struct err *err)
{
    const struct front_limits *l = conf;
    // Other escapes have been refused for all.
    if (l->encoded_slash == URL_SLASH_KEEP || !conf_path_has_slash(prefix))
        return true;
    return tree_error(err, pos,
                      "\"path\" has \"%.*s\", but \"encoded_slash\" is \"%s\" here, with which no "
                      "request has \"%%2F\" in its path, a path without it was expected",
                      STR_ARG(prefix), SLASHES[l->encoded_slash]);
}

void front_limits_set(const struct front_limits *l)
{
    for (unsigned i = 0; i < FRONT_LIMIT_COUNT; i++)
        atomic_store_explicit(&values[i], l->values[i], memory_order_relaxed);
}

void front_limits_share(int64_t connections_most)
{
    atomic_store_explicit(&connections_share, connections_most, memory_order_relaxed);
}

int64_t front_limits_get(enum front_limit which)
{
    int64_t value = atomic_load_explicit(&values[which], memory_order_relaxed);
    int64_t share = atomic_load_explicit(&connections_share, memory_order_relaxed);
    return which == FRONT_CONNECTIONS_MAX && share < value ? share : value;
}

uint64_t front_limits_us(enum front_limit which)
{
    return (uint64_t)front_limits_get(which) * 1000;
}
