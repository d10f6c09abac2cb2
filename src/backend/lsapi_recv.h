// SPDX-License-Identifier: Apache-2.0
// lsapi_recv -- reads a worker's answer into the conversation: head into the response, body into
// the answer's buffer, log text into the log. Calls nothing of the front.
#pragma once

#include "base/compiler.h"

struct lsapi_conv;

enum lsapi_recv_result {
    LSAPI_RECV_AGAIN,     // more will come; or paused: the client is to take some first
    LSAPI_RECV_END,       // the answer is complete
    LSAPI_RECV_NOT_TAKEN, // the worker said farewell before it saw the request
    LSAPI_RECV_RESET,     // it has gone and left bytes of ours unread; nothing was heard of it
    LSAPI_RECV_DIED,      // end of file in the middle
    LSAPI_RECV_BAD        // protocol error or an unusable head: *out_why
};

// lsapi_recv_step reads all that there is, until the answer's buffer is full.
MUST_USE enum lsapi_recv_result lsapi_recv_step(struct lsapi_conv *conv, const char **out_why);

// lsapi_recv_flush_log writes an incomplete line of log text as if it were complete.
void lsapi_recv_flush_log(struct lsapi_conv *conv);
