// SPDX-License-Identifier: Apache-2.0
// lsapi -- the LiteSpeed Server API's packets, both directions: encode and decode, no sockets, no
// allocation. Sources: php-src sapi/litespeed and OpenLiteSpeed's lsapidef.h (facts), tried on
// lsphp 8.2.
//
// Packets: 8 bytes of head (magic "LS", type, byte-order flag, total length), then the body.
// Integers are in the sender's order with flag 0 on x86 builds, 1 on others; lengths in environment
// lists are always big-endian.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "base/wr.h"
#include "http/header.h"

#define LSAPI_HEAD_BYTES        8
#define LSAPI_REQUEST_BYTES_MAX 65535 // one BEGIN_REQUEST packet
#define LSAPI_STREAM_BYTES_MAX  16384 // payload of RESP_STREAM and STDERR_STREAM that we send
#define LSAPI_VALUE_BYTES_MAX   65534 // of an environment value; 65535 would wrap
#define LSAPI_ENV_MAX           8192  // entries of one environment list
#define LSAPI_RESP_HEADERS_MAX  4096  // accepted from an app
#define LSAPI_RESP_HEAD_BYTES_MAX \
 (256 * 1024) // accepted RESP_HEADER packet; lsphp can exceed 65535
#define LSAPI_KNOWN_HEADERS 25

enum lsapi_type {
    LSAPI_BEGIN_REQUEST = 1,
    LSAPI_ABORT_REQUEST,
    LSAPI_RESP_HEADER,
    LSAPI_RESP_STREAM,
    LSAPI_RESP_END,
    LSAPI_STDERR_STREAM,
    LSAPI_REQ_RECEIVED,
    LSAPI_CONN_CLOSE,
    LSAPI_INTERNAL_ERROR
};

struct lsapi_pair {
    struct str name, value;
};

// The name of a special entry that is no PHP setting; who does not know it passes it by.
#define LSAPI_REQUEST_ID_NAME "\002"

// ---- server side: what a request is made from. All borrowed.
struct lsapi_request {
    const struct lsapi_pair
        *env; // must hold SCRIPT_FILENAME, SCRIPT_NAME, QUERY_STRING, REQUEST_METHOD
    size_t env_count;
    const struct lsapi_pair
        *special; // PHP settings: name = 0x01, kind (0x04 admin, 0x01 user), ini name
    size_t special_count;
    struct str request_id;        // one more special entry, LSAPI_REQUEST_ID_NAME; empty: none
    const struct header *headers; // known ones fill the index, the rest the unknown table, in order
    size_t header_count;
    struct str request_line; // "GET /x HTTP/1.1", for the raw block
    int64_t body_bytes; // 0 when there is none; over INT32_MAX is sent as -2 (see Content-Length)
};

// lsapi_put_request writes the BEGIN_REQUEST packet. False when it exceeds the room or
// LSAPI_REQUEST_BYTES_MAX or a limit above (answer 431); `w` is then to be thrown away.
MUST_USE bool lsapi_put_request(struct wr *w, const struct lsapi_request *req);

// ---- server side: the answer, incrementally
enum lsapi_event_type {
    LSAPI_EVENT_AGAIN,    // all bytes were taken; more are needed
    LSAPI_EVENT_RECEIVED, // REQ_RECEIVED
    LSAPI_EVENT_PID,      // pid notice: event.pid
    LSAPI_EVENT_HEAD,     // event.status, event.head: walk with lsapi_head_next
    LSAPI_EVENT_DATA,   // event.bytes of the response body (a part of a stream packet, as it came)
    LSAPI_EVENT_STDERR, // event.bytes of log text
    LSAPI_EVENT_END,    // RESP_END
    LSAPI_EVENT_CLOSE,  // CONN_CLOSE
    LSAPI_EVENT_FAILED  // protocol error: event.why
};

struct lsapi_event {
    enum lsapi_event_type type;
    int status; // 0: not set
    int32_t pid;
    struct str head;  // RESP_HEADER packet, whole, borrowed from the input or the parser's buffer
    struct str bytes; // borrowed from the input
    const char *why;  // constant text
};

struct lsapi_resp; // opaque parser of one connection's answers

// lsapi_resp_size is the room a parser needs (embed by allocating that many zeroed bytes).
// The parser starts with lsapi_resp_reset.
size_t lsapi_resp_size(void);

// lsapi_resp_reset makes it ready for the next exchange on the connection. `hold` is memory for a
// head packet that comes in pieces; it grows up to LSAPI_RESP_HEAD_BYTES_MAX and is kept by the
// caller.
struct buf;
void lsapi_resp_reset(struct lsapi_resp *p, struct buf *hold);

// lsapi_resp_next takes bytes from *in (advancing it) until there is something to tell. Call again
// until AGAIN or FAILED. At every split point of the input the sequence of events is the same but
// for the cuts of DATA and STDERR.
struct lsapi_event lsapi_resp_next(struct lsapi_resp *p, struct str *in);

// lsapi_head_next walks the header lines of a HEAD event: start with *at = 0. False at the end. The
// line is split at the first colon and trimmed; a line without colon gives an empty name.
bool lsapi_head_next(struct str head, size_t *at, struct lsapi_pair *out);

// ---- application side
// A BEGIN_REQUEST packet, checked as a whole; slices borrow from the packet.
struct lsapi_view {
    struct str packet;
    struct str script_file, script_name, query, method;
    int64_t body_bytes; // -2 was resolved through Content-Length
    uint32_t special_count, env_count, unknown_count;
    // private
    size_t special_at, env_at, index_at, unknown_at, raw_at, raw_len;
    bool swapped;
};

enum lsapi_packet_result { LSAPI_PACKET_AGAIN, LSAPI_PACKET_OK, LSAPI_PACKET_BAD };

// lsapi_packet_len looks at the first 8 bytes of a packet from the server: OK and *out_len (8 to
// 65535), AGAIN when there are fewer than 8, BAD on wrong magic, type or length.
enum lsapi_packet_result lsapi_packet_len(struct str bytes, size_t *out_len);

// lsapi_view_open checks a whole packet (§3.7 of the protocol: counts, offsets, terminators, sums,
// exact end) and fills *out. False when malformed.
MUST_USE bool lsapi_view_open(struct str packet, struct lsapi_view *out);

// lsapi_view_special / lsapi_view_env walk the lists: start with *at = 0; false at the end. Values
// end in NUL in the packet.
bool lsapi_view_special(const struct lsapi_view *v, size_t *at, struct lsapi_pair *out);
bool lsapi_view_env(const struct lsapi_view *v, size_t *at, struct lsapi_pair *out);

// lsapi_view_known gives the value of known header `slot` (0..24); false when absent. Not
// NUL-terminated.
bool lsapi_view_known(const struct lsapi_view *v, unsigned slot, struct str *out);

// lsapi_view_unknown gives entry `index` of the unknown headers (original name).
bool lsapi_view_unknown(const struct lsapi_view *v, uint32_t index, struct lsapi_pair *out);

// lsapi_known_header_name / lsapi_known_cgi_name name slot 0..24 ("Accept" / "HTTP_ACCEPT").
struct str lsapi_known_header_name(unsigned slot);
struct str lsapi_known_cgi_name(unsigned slot);

// lsapi_put_head writes RESP_HEADER; false when a line exceeds 32766 bytes or the room ends.
MUST_USE bool lsapi_put_head(struct wr *w, int status, const struct lsapi_pair *lines,
                             size_t count);

// lsapi_put_head_start writes the first LSAPI_RESP_FIXED_BYTES of a RESP_HEADER. The caller sends
// after them `count` lengths (uint16_t, native order, NUL included) and `lines_bytes` of lines.
#define LSAPI_RESP_FIXED_BYTES 16
void lsapi_put_head_start(struct wr *w, int status, size_t count, size_t lines_bytes);

// lsapi_put_packet writes the 8 bytes of a packet of `type` whose payload of `payload_bytes`
// follows.
void lsapi_put_packet(struct wr *w, enum lsapi_type type, size_t payload_bytes);

// lsapi_put_pid writes the pid notice of a freshly forked child.
void lsapi_put_pid(struct wr *w, int32_t pid);

// lsapi_get_pid tells whether `packet` is a pid notice, and of which process.
#define LSAPI_PID_NOTICE_BYTES 16
MUST_USE bool lsapi_get_pid(struct str packet, int32_t *out_pid);
