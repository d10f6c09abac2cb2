// SPDX-License-Identifier: Apache-2.0
// fcgi -- FastCGI as a server speaks it: a request's records, and what comes back. One request at a
// time on a connection (its id is 1), role responder. No sockets. Source: the FastCGI
// specification, version 1.0, §3 to §5 and §8.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "base/wr.h"

#define FCGI_HEAD_BYTES  8
#define FCGI_BEGIN_BYTES 16
#define FCGI_CONTENT_MAX 65535 // of one record

enum fcgi_type {
    FCGI_BEGIN_REQUEST = 1,
    FCGI_ABORT_REQUEST,
    FCGI_END_REQUEST,
    FCGI_PARAMS,
    FCGI_STDIN,
    FCGI_STDOUT,
    FCGI_STDERR,
    FCGI_DATA,
    FCGI_GET_VALUES,
    FCGI_GET_VALUES_RESULT,
    FCGI_UNKNOWN_TYPE,
};

// fcgi_put_begin writes BEGIN_REQUEST: FCGI_BEGIN_BYTES. The program closes the connection after
// its answer.
void fcgi_put_begin(struct wr *w);

// fcgi_put_head writes the FCGI_HEAD_BYTES before `content_bytes` of PARAMS or STDIN; 0 bytes end
// that stream. Also GET_VALUES, which belongs to no request.
void fcgi_put_head(struct wr *w, enum fcgi_type type, size_t content_bytes);

// fcgi_put_pair appends a name and its value as PARAMS holds them. False: `out` is full.
MUST_USE bool fcgi_put_pair(struct buf *out, struct str name, struct str value);

// fcgi_put_params appends the whole stream of PARAMS records for `pairs`, its end included. False:
// `out` is full.
MUST_USE bool fcgi_put_params(struct buf *out, struct str pairs);

enum fcgi_event_type {
    FCGI_EVENT_AGAIN,  // all of the input is used
    FCGI_EVENT_STDOUT, // bytes
    FCGI_EVENT_STDERR, // bytes
    FCGI_EVENT_END,    // the answer is complete
    FCGI_EVENT_FAILED, // not FastCGI, or the request was refused: `why`
};

struct fcgi_event {
    enum fcgi_event_type type;
    struct str bytes; // of the input
    const char *why;
};

enum fcgi_resp_state { FCGI_RESP_HEAD, FCGI_RESP_CONTENT, FCGI_RESP_END, FCGI_RESP_PADDING };

// Start with zeros.
struct fcgi_resp {
    // private
    enum fcgi_resp_state state;
    char room[FCGI_HEAD_BYTES]; // a record's head, or the content of END_REQUEST
    size_t room_len;
    enum fcgi_type type;
    size_t content_left, padding_left;
};

// fcgi_resp_next takes the next piece of *in, which it shortens, and says what it is. Nothing is
// kept of the input.
struct fcgi_event fcgi_resp_next(struct fcgi_resp *p, struct str *in);
