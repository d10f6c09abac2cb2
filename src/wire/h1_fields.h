// SPDX-License-Identifier: Apache-2.0
// h1_fields -- the header section of an HTTP/1 message, the same for requests and responses (RFC
// 9112 §5), and what its fields say about framing (§6). Strict: only CRLF ends a line, nothing is
// folded, nothing is repaired. Slices borrow from the bytes read; nothing is allocated.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/header.h"

// Bounds of one message head; each has a name in the configuration.
struct h1_limits {
    size_t head_bytes_max;   // start line and header section together
    size_t target_bytes_max; // request target alone
    size_t headers_max;      // also the room at h1_req.headers and h1_resp.headers
};

enum h1_fields_result {
    H1_FIELDS_OK,
    H1_FIELDS_AGAIN,       // the bytes end within the section
    H1_FIELDS_BARE_LF,     // LF without CR, or CR without LF
    H1_FIELDS_FOLDED,      // a line begins with white space
    H1_FIELDS_SPACE_COLON, // white space between name and colon
    H1_FIELDS_BAD_NAME,    // the name is empty or no token
    H1_FIELDS_CONTROL,     // a control byte in a value
    H1_FIELDS_TOO_MANY,
};

// h1_fields_parse reads header lines from `bytes` at *at up to and with the empty line. On OK *at
// stands behind that line and *out_count fields are at `room`.
MUST_USE enum h1_fields_result h1_fields_parse(struct str bytes, size_t *at, struct header *room,
                                               size_t room_count, size_t *out_count);

enum h1_framing_result {
    H1_FRAMING_OK,
    H1_FRAMING_BAD_LENGTH,   // not digits only, beyond 63 bits, or given twice
    H1_FRAMING_BAD_TRANSFER, // Transfer-Encoding given twice, empty, or chunked not alone at the
                             // end
    H1_FRAMING_UNKNOWN,      // a transfer coding other than chunked
    H1_FRAMING_BOTH,         // Content-Length and Transfer-Encoding
};

// What the fields say about the message's end and the connection.
struct h1_framing {
    int64_t content_length; // -1: none given
    bool is_chunked;
    bool says_close, says_keep_alive, says_upgrade; // members of Connection
};

// h1_fields_framing reads Content-Length, Transfer-Encoding and Connection among the fields.
MUST_USE enum h1_framing_result h1_fields_framing(const struct header *headers, size_t count,
                                                  struct h1_framing *out);

// h1_fields_is_due tells whether a parser should look at a head that has grown from `seen` bytes:
// the first time, when its end or an LF without CR has come in, or when it has passed `mark` bytes.
// So a head that comes byte by byte is not read again and again.
bool h1_fields_is_due(struct str bytes, size_t seen, size_t mark);
