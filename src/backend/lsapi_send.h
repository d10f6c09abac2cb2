// SPDX-License-Identifier: Apache-2.0
// lsapi_send -- writes a request to its worker: one call for packet and body where they fit. Waits
// for nothing and decides nothing.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

struct lsapi_conv;

enum lsapi_send_result {
    LSAPI_SEND_DONE,      // all is with the worker
    LSAPI_SEND_AGAIN,     // call lsapi_send_more when the slot is writable
    LSAPI_SEND_TOO_LARGE, // the packet exceeds what LSAPI can carry; nothing was sent
    LSAPI_SEND_WAIT,      // call it when the request's body has more: the client sends it
    LSAPI_SEND_CUT,       // the client does not send the rest of the body
    LSAPI_SEND_LOST,      // the connection is gone; an answer may still be in it
    LSAPI_SEND_FAILED     // the request's body can't be read back
};

// lsapi_send_start makes the packet from the exchange and writes what the slot takes.
MUST_USE enum lsapi_send_result lsapi_send_start(struct lsapi_conv *conv);

// lsapi_send_more goes on.
MUST_USE enum lsapi_send_result lsapi_send_more(struct lsapi_conv *conv);

// lsapi_send_drop gives up what is left of the request's body.
void lsapi_send_drop(struct lsapi_conv *conv);

// lsapi_send_is_done tells whether everything was written.
bool lsapi_send_is_done(const struct lsapi_conv *conv);
