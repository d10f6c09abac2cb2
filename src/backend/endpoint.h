// SPDX-License-Identifier: Apache-2.0
// endpoint -- what the app room supplies to backends: slots of one app. A slot is one connection to
// one worker and serves one request at a time. The backend asks for one, uses it, gives it back
// with what happened; the app decides everything else.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/str.h"
#include "core/exchange.h"
#include "event/loop.h"

enum endpoint_failure {
    ENDPOINT_QUEUE_FULL,    // the app's queue has reached its limit: 503
    ENDPOINT_QUEUE_TIMEOUT, // waited longer than queue_time: 503
    ENDPOINT_START_FAILED,  // no worker could be started: 503; text says why
    ENDPOINT_STOPPED        // the app was removed or the server ends: 503
};

enum slot_outcome {
    SLOT_REUSE,    // answered in full, connection clean
    SLOT_DETACHED, // answered in full, the worker goes on working; it closes its connection
    SLOT_AWAY,     // the same, but it keeps its connection and says there when it is back
    SLOT_BROKEN,   // connection unusable: protocol error, EOF between requests
    SLOT_CLOSED,   // closed by the worker in the middle: if it has not ended, it is to end now
    SLOT_LEFT,     // its client has gone in the middle: it may go on for slot.left_us
    SLOT_STUCK     // request_time has passed: the worker is to be killed
};

struct slot {
    int fd; // non-blocking; owned by the endpoint
    // Started on the loop of the thread that uses it, and kept started while idle there.
    struct loop_watch watch;
    struct endpoint *endpoint;
    uint32_t worker_id;
    int32_t worker_pid;
    uint64_t served;  // exchanges completed on this connection
    uint64_t left_us; // SLOT_LEFT: of request_time
    bool readable;    // edge seen and not yet used up
    bool hangup;      // EOF or error seen: a hint
    void *user;       // the backend's conversation while taken, NULL while idle
    // the backend sets it while taken: readiness on the thread that took it
    void (*on_ready)(struct slot *slot, unsigned ready);
};

// One exchange's wait for a slot; embedded in the backend's conversation.
struct ticket {
    struct exchange *exchange;
    // One of them is called, on the exchange's thread, unless cancelled; never from within acquire.
    // `text` is a full sentence for the log, valid during the call.
    void (*on_slot)(struct ticket *t, struct slot *slot);
    void (*on_failed)(struct ticket *t, enum endpoint_failure failure, struct str text);
    // private to the endpoint
    struct list_node node, wait;
    void *client; // whose turn it shares
    struct endpoint *endpoint;
    struct slot *slot;
    uint64_t queued_us;
    int state;
    enum endpoint_failure failure;
};

struct endpoint {
    struct str name; // app name
    const struct endpoint_ops *ops;
};

struct endpoint_ops {
    // refuses tells whether a request that asked now would be refused at once, and why (text as in
    // on_failed, in the exchange's arena): asked before a body is taken in for nothing.
    bool (*refuses)(struct endpoint *ep, struct exchange *ex, enum endpoint_failure *out_failure,
                    struct str *out_text);
    // is_wanted tells whether requests wait for a slot, or for one of another app that has no room
    // beside this one.
    bool (*is_wanted)(struct endpoint *ep);
    // acquire gives an idle slot at once (returned; the caller's thread watches it) or queues the
    // ticket (NULL).
    struct slot *(*acquire)(struct endpoint *ep, struct ticket *t);
    // cancel takes a queued ticket back; after it neither callback comes. Fine when none is due.
    void (*cancel)(struct endpoint *ep, struct ticket *t);
    // release gives a slot back.
    void (*release)(struct endpoint *ep, struct slot *slot, enum slot_outcome outcome);
};
