// SPDX-License-Identifier: Apache-2.0
// h1_resp -- writes and reads the head of an HTTP/1 response (RFC 9112 §4 to §6). Framing fields
// are written from the struct, never from the list, so that no application can contradict the
// server.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "base/wr.h"
#include "http/header.h"
#include "wire/h1_fields.h"

enum h1_resp_connection {
    H1_RESP_CONNECTION_NONE,       // say nothing: HTTP/1.1 keeps it
    H1_RESP_CONNECTION_CLOSE,      // "Connection: close"
    H1_RESP_CONNECTION_KEEP_ALIVE, // "Connection: keep-alive", for HTTP/1.0 clients
    H1_RESP_CONNECTION_UPGRADE,    // "Connection: upgrade", with 101; the list has Upgrade
};

// What to write. Fields of the list with the ids CONNECTION, KEEP_ALIVE, PROXY_CONNECTION,
// TRANSFER_ENCODING, CONTENT_LENGTH and TRAILER are left out, UPGRADE too unless `connection` says
// it; a Date in the list stands instead of `date`, a Server instead of `server`.
struct h1_resp_head {
    int status;
    struct str reason; // empty: the registered one
    const struct header *headers;
    size_t header_count;
    struct str date;        // value of Date; empty: none
    struct str server;      // value of Server; empty: none
    int64_t content_length; // -1: none
    bool is_chunked;
    enum h1_resp_connection connection;
};

enum h1_resp_put_result {
    H1_RESP_PUT_OK,
    H1_RESP_PUT_FULL,       // it does not fit: nothing counts of what was written
    H1_RESP_PUT_BAD_STATUS, // not 100 to 599
    H1_RESP_PUT_BAD_REASON, // a control byte in the reason phrase
    H1_RESP_PUT_BAD_NAME,   // a name is no token
    H1_RESP_PUT_BAD_VALUE,  // CR, LF, NUL or another control byte in a value
};

// h1_resp_size is how many bytes h1_resp_put needs at most for this head.
size_t h1_resp_size(const struct h1_resp_head *head);

// h1_resp_put writes the status line, all fields and the empty line. On a refusal w->len is what it
// was before; *out_bad is the index of the field for BAD_NAME and BAD_VALUE (may be NULL).
MUST_USE enum h1_resp_put_result h1_resp_put(struct wr *w, const struct h1_resp_head *head,
                                             size_t *out_bad);

enum { H1_RESP_CONTINUE_BYTES = 25 };

// h1_resp_put_continue writes "100 Continue" as a whole interim response: H1_RESP_CONTINUE_BYTES.
void h1_resp_put_continue(struct wr *w);

enum h1_resp_result {
    H1_RESP_OK,
    H1_RESP_AGAIN,
    H1_RESP_BAD_LINE, // the status line
    H1_RESP_BAD_FIELDS,
    H1_RESP_BAD_FRAMING, // length given twice or wrong, unknown coding, or both
    H1_RESP_TOO_LARGE,
};

// How the end of the body is known (RFC 9112 §6.3).
enum h1_resp_body {
    H1_RESP_BODY_NONE,
    H1_RESP_BODY_LENGTH,
    H1_RESP_BODY_CHUNKED,
    H1_RESP_BODY_CLOSE, // the peer closes the connection
};

// A response head as a client reads it. All slices point into the bytes given to h1_resp_parse.
struct h1_resp {
    // set by the caller: room for limits->headers_max fields
    struct header *headers;
    // set by h1_resp_parse
    size_t header_count;
    size_t head_len;
    int status;
    struct str reason;
    int64_t content_length; // -1: none given
    enum h1_resp_body body;
    uint8_t version; // 10 or 11
    bool keep_alive; // the connection can be used again after the body
};

// h1_resp_parse reads `bytes`, all that was received of this response so far, of which `seen` were
// there at the last call. `is_head` says that it answers a HEAD request.
MUST_USE enum h1_resp_result h1_resp_parse(struct str bytes, size_t seen,
                                           const struct h1_limits *limits, bool is_head,
                                           struct h1_resp *out);
