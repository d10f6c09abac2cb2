// SPDX-License-Identifier: Apache-2.0
// play -- what tests of conversations with workers stand on: workers and a client that the test
// plays.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/stage.h"
#include "backend/lsapi_backend.h"
#include "base/buf.h"
#include "base/wr.h"
#include "wire/lsapi.h"

#define PLAY_LINES_MAX   4
#define PLAY_TURNS_MAX   1000
#define PLAY_BIG_BYTES   (1024 * 1024)
#define PLAY_BUFFER_SIZE (64 * 1024)
#define PLAY_CONFIG      "spool_dir $D; site _ { body_memory 64k; }"
#define PLAY_CASE(name)  cmocka_unit_test_setup_teardown(name, play_open_case, play_close_case)

// One connection to a worker that the test plays.
struct line {
    struct slot slot;
    int worker; // the worker's end
    bool taken;
    bool released;
    enum slot_outcome outcome;
};

struct play {
    struct stage stage;
    struct lsapi_backend_conf conf;

    struct {
        struct endpoint endpoint;
        struct line lines[PLAY_LINES_MAX];
        size_t line_count;
        struct ticket *waiting;
        bool cancelled;
        bool is_full;
        bool is_wanted; // other requests wait
    } app;

    // What the client has got.
    struct {
        struct exchange *ex;
        bool responded;
        int status;
        int64_t length; // -2: no body
        struct buf body;
        enum body_result end; // BODY_WAIT: not yet
        size_t may_take;      // at once; 0: a client that does not read
        uint64_t file_bytes;  // that came from a file
    } client;
};

extern struct play play;

struct CMUnitTest;

// play_run runs tests on a stage that all of them share.
int play_run(const struct CMUnitTest *tests, size_t count);

// play_open_case and play_close_case stand around each test.
int play_open_case(void **state);
int play_close_case(void **state);

// play_add_line gives the app one more worker that waits for requests.
struct line *play_add_line(void);

// play_new_exchange is the client's next request, empty.
struct exchange *play_new_exchange(void);

// play_ask sends a request with `upload` as its body; NULL: none.
void play_ask(const char *method, const char *upload);

// play_turn_for takes one turn that waits at most `wait_ms` for something to do.
void play_turn_for(int wait_ms);

// play_turn takes one turn, play_turns some.
void play_turn(void);
void play_turns(void);

// play_take_body is the client reading what it may take at once.
void play_take_body(void);

// play_on_more is what a body calls when there is more for the client.
void play_on_more(void *arg);

// play_keep adds a piece to what the client has got.
void play_keep(const struct body_chunk *chunk);

// play_end_exchange ends the exchange, answered or not.
void play_end_exchange(void);

// play_assert_body compares all that the client has got.
void play_assert_body(const char *text);

// play_read_request is what the worker reads: a whole request packet; the body that follows it is
// appended to `body`.
void play_read_request(struct line *l, struct buf *body);

// What a worker is to say; `room` is to be freed.
struct script {
    struct wr out;
    char *room;
};

// play_script_new is one that says nothing yet.
struct script play_script_new(void);

// play_put_head adds a head with one line.
void play_put_head(struct script *s, int status, const char *name, const char *value);

// play_put_packet adds a packet that holds a text.
void play_put_packet(struct script *s, enum lsapi_type type, const char *text);

// play_put_big_answer adds an answer of PLAY_BIG_BYTES.
void play_put_big_answer(struct script *s);

// play_ordinary_answer is a script of 201 with a small body.
struct script play_ordinary_answer(void);

// play_say sends all of it as the worker.
void play_say(struct line *l, struct str bytes);

// play_push sends what the socket takes; true when nothing is left.
bool play_push(struct line *l, struct str *left);
