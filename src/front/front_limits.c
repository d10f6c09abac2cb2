// SPDX-License-Identifier: Apache-2.0
// front_limits -- see front_limits.h.
#include "front/front_limits.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/thread.h"

const struct key FRONT_LIMITS_KEYS[FRONT_LIMIT_COUNT] = {
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
                "at once.",
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
                "first byte on a new connection.",
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
        .help = "How long a client may pause within a request body.",
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
};

static _Atomic int64_t values[FRONT_LIMIT_COUNT];

void front_limits_set(const struct front_limits *l)
{
    for (unsigned i = 0; i < FRONT_LIMIT_COUNT; i++)
        atomic_store_explicit(&values[i], l->values[i], memory_order_relaxed);
}

int64_t front_limits_get(enum front_limit which)
{
    return atomic_load_explicit(&values[which], memory_order_relaxed);
}

uint64_t front_limits_us(enum front_limit which)
{
    return (uint64_t)front_limits_get(which) * 1000;
}
