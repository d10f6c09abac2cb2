// SPDX-License-Identifier: Apache-2.0
// lsapi_conv -- one exchange's conversation with a worker, shared by the files of the LSAPI backend
// only: what it holds. Its states are drawn in lsapi_backend.c.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backend/cgi_env.h"
#include "backend/cgi_resp.h"
#include "backend/endpoint.h"
#include "backend/lsapi_answer.h"
#include "backend/lsapi_backend.h"
#include "base/buf.h"
#include "core/exchange.h"
#include "core/spool.h"
#include "wire/lsapi.h"

#define LSAPI_CONV_MAGIC      0x4c534356u
#define LSAPI_CONV_LINE_BYTES 4096 // of the app's log text kept until its line is complete
#define LSAPI_CONV_SITE_BYTES 64   // a longer name is cut

enum lsapi_conv_state {
    LSAPI_CONV_SPOOLING, // the request's body comes in
    LSAPI_CONV_QUEUED,   // waits for a slot
    LSAPI_CONV_TALKING,  // a worker has the request; answers
    LSAPI_CONV_OVER      // no slot any more; the client may still take what is held
};

// It lives on the heap: it may outlast its exchange while a worker finishes for nobody.
struct lsapi_conv {
    uint32_t magic;
    enum lsapi_conv_state state;
    struct exchange *exchange; // NULL: gone
    struct thread *thread;
    struct lsapi_backend_conf conf;
    struct cgi_env_script script;
    struct spool *spool; // NULL: the request has no body, or it is streamed
    bool streams;        // the body goes from the client to the worker as it comes
    struct ticket ticket;
    uint64_t queued_us; // when the ticket was handed in
    struct slot *slot;  // while TALKING
    bool left;          // the client wants no more; nothing of the exchange is touched
    char left_id[17];   // of the exchange that was left, for the log
    char left_site[LSAPI_CONV_SITE_BYTES]; // NUL-terminated
    bool responded;                        // exchange_respond or exchange_refuse was called
    unsigned tries; // workers that were asked and had not looked at the request

    // Sending (lsapi_send.c).
    struct buf unsent;       // rest of the packet that the socket did not take
    bool packet_sent;        // in whole: the worker may know of the request
    struct body *upload;     // NULL: all taken from it
    bool upload_waits;       // for the client, who sends it
    struct body_chunk chunk; // being written

    // Receiving (lsapi_recv.c).
    struct lsapi_resp *parser;
    struct buf hold; // for the parser
    struct buf line; // the app's log text, an incomplete line
    struct cgi_resp head;
    bool heard; // at least one byte has come from the worker
    bool head_done;
    bool closing;            // CONN_CLOSE seen
    bool away;               // before RESP_END: the connection stays, the worker comes back
    bool paused;             // the client is slow: reading waits until it has taken some
    struct loop_timer grace; // while paused: when it ends the answer goes to a file, or, where it
                             // may not, it is looked at whether the client still reads
    uint64_t grace_us;       // left for pauses of this answer; at the start of a pause
    uint64_t paused_us;      // when it began
    uint64_t unread;         // where the client stood when it was seen to read last
    uint64_t read_us;        // and when that was
    uint64_t received_bytes; // of the answer's body
    struct lsapi_answer answer;

    // Time: request_time counts while the worker can go on.
    struct loop_timer timer;
    uint64_t handed_us;  // when the slot was taken
    uint64_t resumed_us; // when the clock was started last
    uint64_t left_us;    // of request_time, at that moment
};

// lsapi_conv_new makes one in the state SPOOLING, on the heap or of those that the thread keeps.
struct lsapi_conv *lsapi_conv_new(struct thread *t);

// lsapi_conv_site is the name of the exchange's site for the log.
struct str lsapi_conv_site(const struct exchange *ex);

// lsapi_conv_free gives back what it holds, and itself.
void lsapi_conv_free(struct lsapi_conv *conv);
