// SPDX-License-Identifier: Apache-2.0
// metrics -- counters and gauges of a thread, by name; summed over threads when asked. The table
// makes the struct, the JSON of `status` and the manual.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

// X(name, help)
#define METRICS(X)                                                                              \
 X(connections_accepted, "Connections accepted.")                                               \
 X(connections_open, "Connections open now.")                                                   \
 X(connections_idle, "Open connections that wait for a request.")                               \
 X(connections_refused, "Connections closed at once because a limit was reached.")              \
 X(requests, "Requests whose head was complete.")                                               \
 X(requests_active, "Requests being served now.")                                               \
 X(responses_1xx, "Interim responses sent.")                                                    \
 X(responses_2xx, "Responses with a 2xx status.")                                               \
 X(responses_3xx, "Responses with a 3xx status.")                                               \
 X(responses_4xx, "Responses with a 4xx status.")                                               \
 X(responses_5xx, "Responses with a 5xx status.")                                               \
 X(requests_malformed, "Requests refused by the parser.")                                       \
 X(responses_cut, "Responses that could not be completed.")                                     \
 X(timeouts_header, "Connections closed while a request head was awaited too long.")            \
 X(timeouts_body, "Requests ended because the body came too slowly.")                           \
 X(timeouts_send, "Connections closed because the client did not read.")                        \
 X(bytes_in, "Bytes read from clients.")                                                        \
 X(bytes_out, "Bytes written to clients.")                                                      \
 X(spool_bytes, "Bytes of bodies written to temporary files.")                                  \
 X(bodies_refused, "Requests refused because their body was larger than body_max.")             \
 X(spool_refused, "Requests refused because temporary files have reached a limit, or failed.")  \
 X(queue_waits, "Requests that had to wait for a worker.")                                      \
 X(queue_full, "Requests refused because an app's queue was full.")                             \
 X(queue_timeouts, "Requests refused because they waited too long for a worker.")               \
 X(backend_failures, "Requests that failed in a worker or before one could be had.")            \
 X(backend_retries, "Requests handed to a second worker because the first had not taken them.") \
 X(request_timeouts, "Requests whose worker was killed because request_time had passed.")       \
 X(workers_started, "Workers that were asked for.")                                             \
 X(workers_failed, "Workers that could not be started, or not within start_time.")              \
 X(workers_died, "Workers that ended unasked.")                                                 \
 X(workers_recycled, "Workers to be replaced after requests or for their memory.")              \
 X(workers_evicted, "Idle workers that left because of workers_max or memory_max.")             \
 X(htaccess_refused, "Requests refused because an .htaccess file protects something.")          \
 X(access_refused, "Requests refused by the rules of allow and deny.")                          \
 X(auth_refused, "Requests refused because name and password were missing or wrong.")           \
 X(limited_requests, "Requests refused by limit_requests.")                                     \
 X(limited_connections, "Requests refused by limit_connections.")                               \
 X(log_lines_dropped, "Lines of logs that were lost: no space, or too many to be written.")

struct metrics {
#define METRICS_FIELD(name, help) _Atomic int64_t name;
    METRICS(METRICS_FIELD)
#undef METRICS_FIELD
};

// metrics_add changes a counter of the calling thread; single writer, so no locked instruction.
#define metrics_add(metrics, name, amount)                                                      \
 atomic_store_explicit(&(metrics)->name,                                                        \
                       atomic_load_explicit(&(metrics)->name, memory_order_relaxed) + (amount), \
                       memory_order_relaxed)

struct metrics_row {
    const char *name, *help;
};

// metrics_rows is the table as data; *out_count rows, in the order of metrics_sum's values.
const struct metrics_row *metrics_rows(unsigned *out_count);

// metrics_sum adds the values of `m` to sums[0..count).
void metrics_sum(const struct metrics *m, int64_t *sums);
