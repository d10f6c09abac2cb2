// SPDX-License-Identifier: Apache-2.0
// conn -- one LSAPI connection seen from the application, blocking: takes requests, gives answers.
// A small exchange costs two system calls, one read and one write. Knows no modes and no hooks.
//
//   IDLE --conn_next--> HEAD --first send--> BODY --conn_end--> IDLE
//                         \------------------/|\--failure--> CLOSED
//                                             '---conn_leave--> AWAY --conn_return--> IDLE
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "godwit_app.h"
#include "wire/lsapi.h"

// Response headers: what lsapilib sends at most; all of them together, so that the packet stays
// below 65535; and one of them.
#define CONN_LINES_MAX       GODWIT_APP_HEADERS_MAX
#define CONN_LINE_BYTES_MAX  GODWIT_APP_HEADER_BYTES_MAX
#define CONN_LINE_LENGTH_MAX GODWIT_APP_HEADER_LENGTH_MAX
#define CONN_DRAIN_BYTES_MAX (8 << 20) // of a body that the application left unread

// AWAY: the answer is complete, the application works on, and will come back.
enum conn_state { CONN_IDLE, CONN_HEAD, CONN_BODY, CONN_AWAY, CONN_CLOSED };

enum conn_result {
    CONN_REQUEST,  // conn.view is a request
    CONN_END,      // the server has closed, or nobody wants to wait any longer
    CONN_MALFORMED // not a request
};

struct conn {
    int fd;
    enum conn_state state;
    bool is_broken; // the server went away in the middle of an answer
    struct lsapi_view view;
    int64_t body_left; // not yet taken by the application
    int status;

    // Called when a read timed out (SO_RCVTIMEO) between requests: false ends the wait. May be
    // NULL.
    bool (*keep_waiting)(struct conn *c);
    // private
    char *in; // [in_start, in_end) is unread; the packet at hand lies before it and stays
    size_t in_start, in_end, packet_end;
    char *out; // stream packets, the last one open
    size_t out_len, open_at;
    bool has_open;
    char *head; // RESP_HEADER with the lengths; the lines follow from `lines`
    size_t line_count;
    struct buf lines;
};

// conn_init takes over a connected socket. The memory is kept for the next connection.
void conn_init(struct conn *c, int fd);

// conn_close closes the socket and forgets the exchange; fine when it is closed.
void conn_close(struct conn *c);

// conn_disown lets go of the exchange in a process that was forked from the one that serves it:
// what is written is dropped, and the other one is not disturbed.
void conn_disown(struct conn *c);

// conn_done closes and frees; the connection can be initialised again.
void conn_done(struct conn *c);

// conn_next waits for the next request.
MUST_USE enum conn_result conn_next(struct conn *c);

// conn_body_is_here tells that no byte of the body is still to be read from the socket.
bool conn_body_is_here(const struct conn *c);

// conn_read takes up to `size` bytes of the body. Count, 0 at the end, -EPIPE when it is cut short.
MUST_USE ssize_t conn_read(struct conn *c, void *room, size_t size);

// conn_line adds a response header, name and value or, with an empty name, a whole line. False when
// it is refused (see godwit_app_header_add).
MUST_USE bool conn_line(struct conn *c, struct str name, struct str value);

// conn_write appends to the answer's body. 0 or -EPIPE.
int conn_write(struct conn *c, struct str bytes);

// conn_flush sends the head and what was collected. 0 or -EPIPE.
int conn_flush(struct conn *c);

// conn_log sends text for the server's error log at once. 0 or -EPIPE.
int conn_log(struct conn *c, struct str text);

// conn_ack sends REQ_RECEIVED, conn_pid the pid notice. 0 or -EPIPE.
int conn_ack(struct conn *c);
int conn_pid(struct conn *c, pid_t pid);

// conn_has_answered tells that nothing more can be said: the answer is complete, or nobody listens.
bool conn_has_answered(const struct conn *c);

// conn_leave completes the answer and says that no request will be taken for a while; conn_return,
// that they will be again. The connection is CLOSED afterwards when that fails.
void conn_leave(struct conn *c);
void conn_return(struct conn *c);

// conn_end completes the answer; with `last` it says so and closes. The connection is IDLE or
// CLOSED afterwards.
void conn_end(struct conn *c, bool last);
