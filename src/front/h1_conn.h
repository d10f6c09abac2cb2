// SPDX-License-Identifier: Apache-2.0
// h1_conn -- one HTTP/1 connection of a client, as its files share it: h1_conn.c (its life, and the
// states without an exchange), h1_answer.c (those with one), h1_read.c (reading), h1_head.c
// (request heads), h1_body.c (request bodies), h1_send.c (the bytes of answers), h1_proxy.c (PROXY
// headers), h1_work.c (what only requests need). Only for files of this room.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "core/body.h"
#include "core/exchange.h"
#include "core/thread.h"
#include "event/loop.h"
#include "http/header.h"
#include "net/stream.h"
#include "wire/h1_chunk.h"

#define H1_CONN_MAGIC 0x4831434fu

// The states and what moves between them; entering one does its first work. See h1_conn.c.
enum h1_state {
    H1_PROXY,  // the header of the PROXY protocol is not complete
    H1_IDLE,   // no byte of a request is there
    H1_HEAD,   // bytes of a request head are there, perhaps all of them and more
    H1_HANDLE, // the exchange is with its handler
    H1_SEND,   // the answer goes out
    H1_DRAIN,  // answered; what is left of the request body is read and dropped
    H1_LINGER, // our direction is closed; reads until the client has closed too
    H1_CLOSED
};

// One thread's connections.
struct h1_home {
    struct thread *thread;
    struct list conns;          // all (struct h1_conn, node)
    struct list idle;           // in H1_IDLE, longest first (idle_node)
    size_t client_count;        // without control connections
    struct header *header_room; // for parsing
    size_t header_room_count;
    struct list spares; // of struct h1_work
    size_t spare_count;
    bool draining;
    bool is_cut;          // nothing is taken in any more
    bool patient;         // when draining: idle connections too get a moment for a last request
    struct h1_home *next; // of accept.c
};

// The request body as it is read from the connection, a source for handlers.
struct h1_body {
    struct body source; // first
    bool exists;        // the request has one
    bool is_chunked;
    bool finished;         // all of it was read
    bool failed;           // it will never be complete
    bool waiting;          // the reader waits for on_more
    bool continue_due;     // the client waits for 100 Continue
    uint8_t continue_left; // bytes of 100 Continue that the socket had no room for
    uint64_t left;         // with Content-Length: bytes not decoded yet
    struct h1_chunk chunk; // decoder
    struct str pending;    // decoded, in conn->in, not given out yet
    size_t pending_taken;  // bytes of conn->in that go when `pending` is used up
    size_t given;          // bytes of `pending` given out last
    struct loop_timer timer;
    uint64_t waits_since_us; // with `waiting`
    uint64_t behind_us;      // waited without a byte, or behind body_rate_min
};

enum h1_out_framing { H1_OUT_NONE, H1_OUT_LENGTH, H1_OUT_CHUNKED, H1_OUT_CLOSE };

// What of the answer is on its way. On the wire in this order: block, direct or file, CRLF if due.
struct h1_out {
    char *block;       // of the thread; NULL: none held
    size_t start, end; // bytes in it to be sent
    struct str direct; // a piece of the source, in its memory
    int file;          // or a piece of a file
    off_t file_offset;
    uint64_t file_left;
    bool crlf_due; // behind direct or file: they are a chunk
    enum h1_out_framing framing;
    uint64_t left;     // with Content-Length: bytes that the source still owes
    bool ended;        // the source has given all
    bool source_waits; // the source has nothing, and will tell
    bool has_moved;    // bytes went out since the socket was full last
    uint8_t looks;     // in a row that found nothing taken from the full socket
    size_t untaken;    // bytes in it at the last look
};

// An address as an idle connection keeps it.
struct h1_address {
    uint8_t ip[16];
    uint16_t port;
    uint16_t family; // AF_UNIX: which one is not kept
};

// What a connection has while it has a request. The few that are in use stay warm, however many
// connections wait.
struct h1_work {
    struct h1_conn *conn;
    struct list_node node; // in home->spares
    struct peer peer;
    struct h1_address peer_at, local_at; // what `peer` was made of
    struct h1_body body;
    struct h1_out out;
};

struct h1_conn {
    uint32_t magic;
    enum h1_state state;
    struct h1_home *home;
    struct list_node node, idle_node;
    struct stream stream;
    struct h1_address peer, local;
    bool is_control, is_tls;
    struct loop_timer timer; // of the state
    struct loop_task task;   // to go on at the end of the turn
    struct buf in;           // read, not used yet
    size_t in_seen;          // of them looked at in vain for the end of a head
    bool readable;           // there may be bytes: reading has not found the end yet
    bool hangup;             // the client has closed its direction, at least
    bool is_tls_due;         // behind the PROXY header
    bool running;            // in a handler of the state table
    bool entered;            // a state whose first work is still to be done
    bool answered;           // the exchange's answer is there
    bool keep_alive;         // as the client wants it, then as we answered
    uint8_t looks;           // reads and heads since other connections had their turn
    uint8_t empty_lines;     // since the last request
    uint64_t served;         // requests
    uint64_t dropped_bytes;  // in H1_DRAIN and H1_LINGER
    struct exchange *ex;
    struct h1_work *work; // NULL: idle
};

// h1_conn_admit counts one more open connection of a client, unless there are `max` of them in all
// threads. Any thread.
MUST_USE bool h1_conn_admit(size_t max);

// How a connection came.
struct h1_origin {
    struct sock_addr peer;
    struct sock_addr local; // len 0: ask the socket
    bool is_control;
    bool has_proxy_header;
    bool is_tls;
};

// h1_conn_open serves the connected socket `fd`, which it takes over; a client's was admitted. What
// has come already is read and answered at once. If the loop refuses the socket, it is closed.
void h1_conn_open(struct h1_home *home, int fd, const struct h1_origin *origin);

// h1_conn_work gives the connection its work, if it has none.
void h1_conn_work(struct h1_conn *conn);

// h1_conn_work_drop takes it away.
void h1_conn_work_drop(struct h1_conn *conn);

// h1_conn_tell_flood logs that the client is cut for what it sends beside bytes (tls_is_flooded).
void h1_conn_tell_flood(const struct h1_conn *conn);

// h1_conn_home_rest frees what is kept of past connections for new ones. Its thread.
void h1_conn_home_rest(struct h1_home *home);

// h1_conn_home_done frees what a home without connections holds.
void h1_conn_home_done(struct h1_home *home);

// h1_conn_address keeps an address.
struct h1_address h1_conn_address(const struct sock_addr *addr);

// h1_conn_cut ends a connection now; an exchange in progress is aborted. Not from one of its own
// callbacks.
void h1_conn_cut(struct h1_conn *conn);

// h1_conn_enter moves to a state; its work begins when the running handler has returned.
void h1_conn_enter(struct h1_conn *conn, enum h1_state state);

// h1_conn_close enters H1_CLOSED.
void h1_conn_close(struct h1_conn *conn);

// h1_conn_await_next enters the state for the next request, of which bytes may be there.
void h1_conn_await_next(struct h1_conn *conn);

// h1_conn_arm sets the time limit of the state that was entered last.
void h1_conn_arm(struct h1_conn *conn, uint64_t after_us);

// h1_conn_later goes on with the connection at the end of this turn; an idle one ends then if its
// home is draining.
void h1_conn_later(struct h1_conn *conn);

// h1_conn_has_turn counts one more read or head. False: others have their turn before; it goes on
// then as by h1_conn_later.
MUST_USE bool h1_conn_has_turn(struct h1_conn *conn);

enum h1_read { H1_READ_BYTES, H1_READ_WAIT, H1_READ_END };

// h1_conn_read reads once: into `in` when that holds bytes already, else into the thread's scratch.
// *out_bytes is then all that is there. END: closed or broken. Only for who has looked at all of
// `in`, or that would grow with what the client sends.
enum h1_read h1_conn_read(struct h1_conn *conn, struct str *out_bytes);

// h1_conn_fill is h1_conn_read that always reads into `in`.
enum h1_read h1_conn_fill(struct h1_conn *conn);

// h1_read_some reads once into `room`. BYTES: *out_len bytes.
enum h1_read h1_read_some(struct h1_conn *conn, char *room, size_t size, size_t *out_len);

// h1_proxy_read takes the header of the PROXY protocol and believes it. BYTES: it was there. END:
// it is none, or the client is gone.
enum h1_read h1_proxy_read(struct h1_conn *conn);

enum h1_head_result {
    H1_HEAD_MORE,    // not complete; all bytes were kept
    H1_HEAD_REQUEST, // conn->ex holds a request
    H1_HEAD_REFUSED, // conn->ex was answered with a refusal
};

// h1_head_take makes an exchange of `bytes`, what h1_conn_read gave. What follows the head is kept.
enum h1_head_result h1_head_take(struct h1_conn *conn, struct str bytes);

// h1_head_refuse makes an exchange that is answered `status`, for a request that never became one.
void h1_head_refuse(struct h1_conn *conn, int status, const char *reason);

// h1_answer_start is the first work of H1_HANDLE, h1_answer_send that of H1_SEND.
void h1_answer_start(struct h1_conn *conn);
void h1_answer_send(struct h1_conn *conn);

// h1_answer_go_on sends on, and lets the handler read on, in H1_SEND.
void h1_answer_go_on(struct h1_conn *conn);

// h1_answer_look looks whether the client takes anything of the full socket: times out in H1_SEND.
void h1_answer_look(struct h1_conn *conn);

// h1_answer_abort ends an exchange whose client is gone, and the connection.
void h1_answer_abort(struct h1_conn *conn);

// h1_body_begin prepares the body of a request; content_length -1: chunked.
void h1_body_begin(struct h1_conn *conn, int64_t content_length, bool expects_continue);

// h1_body_wake tells a waiting reader that bytes may have come.
void h1_body_wake(struct h1_conn *conn);

// h1_body_continue sends what is left of a 100 Continue. 0 or -errno.
MUST_USE int h1_body_continue(struct h1_conn *conn);

// h1_body_fail makes the body fail for its reader.
void h1_body_fail(struct h1_conn *conn);

// h1_body_is_drainable tells whether what is left is little enough to be read for keep-alive.
bool h1_body_is_drainable(const struct h1_conn *conn);

// h1_body_drop reads and drops what is left. BYTES: all of it was read. END: it can't be.
enum h1_read h1_body_drop(struct h1_conn *conn);

enum h1_send_result {
    H1_SEND_DONE,   // the whole answer is with the kernel
    H1_SEND_ROOM,   // the socket is full
    H1_SEND_SOURCE, // the source has nothing now
    H1_SEND_LATER,  // enough for one turn
    H1_SEND_CUT,    // the source has failed: what went out is not complete
    H1_SEND_BROKEN, // the client is gone
};

// h1_send_begin makes the head of conn->ex's answer and decides on framing and keep-alive.
enum h1_send_result h1_send_begin(struct h1_conn *conn);

// h1_send_go_on sends as much as goes.
enum h1_send_result h1_send_go_on(struct h1_conn *conn);

// h1_send_done gives back what sending has held.
void h1_send_done(struct h1_conn *conn);
