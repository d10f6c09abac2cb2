// SPDX-License-Identifier: Apache-2.0
// h1_chunk -- the chunked transfer coding, both ways (RFC 9112 §7.1). The decoder hands out slices
// of what it is fed; it allocates nothing. Extensions and trailers are read, bounded and dropped,
// but a trailer must be a field (RFC 9112 §5), and not one that belongs into a head (RFC 9110
// §6.5.1): another reader of the same bytes could believe it. How long the whole body may be is the
// caller's limit.
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "base/wr.h"

enum {
    H1_CHUNK_LINE_BYTES_MAX = 512,     // one size line with its extensions
    H1_CHUNK_TRAILER_BYTES_MAX = 8192, // all trailer lines together
    H1_CHUNK_HEAD_BYTES_MAX = 18,      // what h1_chunk_put_head writes at most
    H1_CHUNK_NAME_BYTES_MAX = 24,      // of a trailer's name, kept; no forbidden one is longer
};

enum h1_chunk_state {
    H1_CHUNK_SIZE_FIRST, // before the first digit of a size
    H1_CHUNK_SIZE,       // within the digits
    H1_CHUNK_SIZE_SPACE, // white space behind the digits: only ';' may follow
    H1_CHUNK_EXTENSION,  // behind ';', up to CR
    H1_CHUNK_SIZE_LF,    // after the CR of the size line
    H1_CHUNK_BODY,
    H1_CHUNK_BODY_CR,
    H1_CHUNK_BODY_LF,
    H1_CHUNK_TRAILER_FIRST, // at the begin of a trailer line
    H1_CHUNK_TRAILER_NAME,  // up to the colon
    H1_CHUNK_TRAILER,       // behind it
    H1_CHUNK_TRAILER_LF,
    H1_CHUNK_END_LF, // after the CR of the last, empty line
    H1_CHUNK_DONE,
    H1_CHUNK_BROKEN,
    H1_CHUNK_OVERLONG,
};

// {0} is a decoder at the begin of a body.
struct h1_chunk {
    // private
    enum h1_chunk_state state;
    uint32_t line_bytes; // of the size line, then of all trailers
    uint64_t left;       // of the size being read, then of the chunk's bytes
    uint32_t name_len;   // of the trailer's name; what is at `name` may be less of it
    char name[H1_CHUNK_NAME_BYTES_MAX];
};

enum h1_chunk_result {
    H1_CHUNK_AGAIN,    // all was taken, more must come
    H1_CHUNK_DATA,     // *out_data holds body bytes; call again with the rest
    H1_CHUNK_END,      // the body is complete; what is left in *in belongs to the next message
    H1_CHUNK_BAD,      // malformed, or a forbidden trailer: 400, close the connection. Stays so
    H1_CHUNK_TOO_LONG, // extensions or trailers over their limit: 400, close. Stays so
};

// h1_chunk_feed takes bytes off the front of *in. *out_data (written for H1_CHUNK_DATA) borrows
// from them. END comes once; feeding a finished decoder again gives END and takes nothing.
MUST_USE enum h1_chunk_result h1_chunk_feed(struct h1_chunk *c, struct str *in,
                                            struct str *out_data);

// h1_chunk_put_head writes the size line of a chunk of `size` bytes, not 0: that would end the
// body. Behind it come the bytes, then h1_chunk_put_tail.
void h1_chunk_put_head(struct wr *w, uint64_t size);

// h1_chunk_put_tail writes the CRLF behind a chunk's bytes.
void h1_chunk_put_tail(struct wr *w);

// h1_chunk_put_last writes the last chunk and the end of an empty trailer section.
void h1_chunk_put_last(struct wr *w);
