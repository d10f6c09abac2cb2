// SPDX-License-Identifier: Apache-2.0
// lsapi_backend -- answers an exchange by a conversation with one worker of an app over LSAPI:
// takes the request in whole, waits for a slot, sends, passes the answer on. Which workers live is
// the endpoint's to decide.
#pragma once

#include <stddef.h>

#include "backend/cgi_env.h"
#include "backend/endpoint.h"
#include "core/exchange.h"
#include "core/spool_file.h"

enum lsapi_backend_abort { // what happens to a running request whose client has left
    LSAPI_BACKEND_STOP,    // the connection to the worker is closed
    LSAPI_BACKEND_FINISH   // the rest of the answer is read and dropped
};

struct lsapi_backend_conf {
    struct endpoint *endpoint;
    int64_t request_ms; // request_time: what the app may use
    enum lsapi_backend_abort abort;
    size_t response_buffer_bytes; // of an answer held in memory for a slow client
    int64_t response_spool_bytes; // and then in a temporary file; 0: the worker waits
    struct spool_share spool_share;
    bool stream_request; // a body of known length is passed on as it comes
    const struct lsapi_pair
        *special; // PHP settings of the request; borrowed for the exchange's life
    size_t special_count;
};

// lsapi_backend_serve takes the exchange over: exchange_respond or exchange_refuse will be called,
// perhaps before it returns. `script` and `conf` are copied, what they point to is borrowed for the
// exchange's life.
void lsapi_backend_serve(struct exchange *ex, const struct lsapi_backend_conf *conf,
                         const struct cgi_env_script *script);
