// SPDX-License-Identifier: Apache-2.0
// pool_request -- which request a worker has, or had last, kept with the worker: for the log, when
// the exchange may be gone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/exchange.h"

#define POOL_REQUEST_SITE_BYTES   64
#define POOL_REQUEST_WHAT_BYTES   256 // of "METHOD URL"
#define POOL_REQUEST_SCRIPT_BYTES 256
#define POOL_REQUEST_TEXT_BYTES   2560

struct pool_request {
    char id[17]; // empty: none
    uint8_t site_len;
    uint16_t what_len, script_len;
    char site[POOL_REQUEST_SITE_BYTES];
    char what[POOL_REQUEST_WHAT_BYTES];
    char script[POOL_REQUEST_SCRIPT_BYTES];
};

// pool_request_note keeps what the exchange asks for; what is too long is cut.
void pool_request_note(struct pool_request *request, const struct exchange *ex);

// pool_request_text says it in words: id, site, method and URL, script. Returns `room`.
const char *pool_request_text(const struct pool_request *request,
                              char room[static POOL_REQUEST_TEXT_BYTES]);

// pool_request_find gives the request that has `id`, at hand or the last one of worker `worker_id`
// (0: of any), and the worker's pid; of an empty id the last one of a worker that takes no other
// any more. False when there is none. Any thread.
bool pool_request_find(struct str app, uint32_t worker_id, struct str id, struct pool_request *out,
                       int32_t *out_pid);
