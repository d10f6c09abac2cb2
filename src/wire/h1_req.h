// SPDX-License-Identifier: Apache-2.0
// h1_req -- reads the head of an HTTP/1 request, strictly (RFC 9112 §2 to §7, RFC 9110 §7.2). What
// could be read in two ways is refused. Bodies are h1_chunk's and the caller's; the meaning of the
// target is http/url's. Allocates nothing, knows no socket.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/header.h"
#include "http/method.h"
#include "http/url.h"
#include "wire/h1_fields.h"

enum { H1_REQ_METHOD_BYTES_MAX = 32 };

enum h1_req_result {
    H1_REQ_OK,
    H1_REQ_AGAIN, // the head is not complete and not wrong so far
    // refusals; 400 unless said otherwise
    H1_REQ_BARE_LF,
    H1_REQ_BAD_METHOD,
    H1_REQ_BAD_TARGET, // a control byte, or empty
    H1_REQ_BAD_LINE,   // the request line has other parts than method SP target SP version
    H1_REQ_FOLDED,
    H1_REQ_SPACE_COLON,
    H1_REQ_BAD_NAME,
    H1_REQ_CONTROL,
    H1_REQ_BAD_LENGTH,
    H1_REQ_BAD_TRANSFER,
    H1_REQ_LENGTH_AND_TRANSFER,
    H1_REQ_TRANSFER_IN_10, // Transfer-Encoding in HTTP/1.0
    H1_REQ_NO_HOST,
    H1_REQ_TWO_HOSTS,
    H1_REQ_BAD_HOST,
    H1_REQ_TARGET_TOO_LONG,  // 414
    H1_REQ_BAD_EXPECT,       // 417
    H1_REQ_HEAD_TOO_LARGE,   // 431
    H1_REQ_TOO_MANY_HEADERS, // 431
    H1_REQ_UNKNOWN_TRANSFER, // 501
    H1_REQ_BAD_VERSION,      // 505
};

// A request head. All slices point into the bytes given to h1_req_parse.
struct h1_req {
    // set by the caller: room for limits->headers_max fields
    struct header *headers;
    // set by h1_req_parse
    size_t header_count;
    size_t head_len;         // bytes up to and with the empty line: the body begins there
    struct str method_token; // as it was written
    enum http_method method;
    struct str target; // as it was written: for url_parse
    struct str host;   // value of Host, valid; {NULL, 0} if absent (HTTP/1.0 only).
                       // The authority of an absolute target stands above it (RFC 9112 §3.2.2)
    struct url_host host_parts; // of host; letters as they were sent
    struct str field_lines;     // the bytes from the first header line to before the empty line
    int64_t content_length;     // -1: none given
    uint8_t version;            // 10 or 11
    bool is_chunked;
    bool keep_alive;       // the client wants the connection to stay
    bool expects_continue; // Expect: 100-continue in HTTP/1.1
    bool wants_upgrade;    // Connection names "upgrade" and an Upgrade field is there, HTTP/1.1
};

// h1_req_parse reads `bytes`: all that was received of this request so far. `seen` is how many of
// them were there at the last call (0 at the first): what was seen is not read again until there is
// something to decide. Bytes behind the head are left alone. On a refusal nothing in *out counts
// but method_token, method, target and version as far as they were reached, for the log.
MUST_USE enum h1_req_result h1_req_parse(struct str bytes, size_t seen,
                                         const struct h1_limits *limits, struct h1_req *out);

// h1_req_refusal gives the status and a short reason of a refusal (not OK, not AGAIN).
const char *h1_req_refusal(enum h1_req_result result, int *out_status);
