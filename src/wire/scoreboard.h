// SPDX-License-Identifier: Apache-2.0
// scoreboard -- what each worker of one app is doing, in memory shared between the app's workers
// (which write, without system calls) and the server (which only reads). One record a worker.
//
// The writers run as the app's user and are not trusted: readers copy a record out under its
// sequence number and bound every field. Layout is fixed, native byte order, one machine.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define SCOREBOARD_RECORDS_MAX 1024 // workers of one app
#define SCOREBOARD_URL_MAX     256  // bytes of "METHOD URL" kept

enum scoreboard_state {
    SCOREBOARD_FREE,
    SCOREBOARD_BOOTING,
    SCOREBOARD_IDLE,
    SCOREBOARD_READING,  // has the request's head, reads the body
    SCOREBOARD_RUNNING,  // the application computes
    SCOREBOARD_DETACHED, // has answered and closed its connection, still works
    SCOREBOARD_LEAVING
};

struct scoreboard_record {
    _Atomic uint32_t sequence; // odd while being written
    uint32_t state;            // enum scoreboard_state
    uint32_t pid;
    uint32_t worker_id;
    uint64_t since_us;         // monotonic, of the last change of state
    uint64_t requests;         // begun
    uint64_t anon_kib_at_fork; // anonymous memory right after fork: shared with the spawner
    uint64_t busy_us;          // with requests, up to since_us
    uint16_t url_len;
    char url[SCOREBOARD_URL_MAX];
    char unused[512 - 4 - 3 * 4 - 4 * 8 - 2 - SCOREBOARD_URL_MAX];
};

#define SCOREBOARD_BYTES (SCOREBOARD_RECORDS_MAX * sizeof(struct scoreboard_record))

// scoreboard_reset empties record `index` for a new worker (state BOOTING). Its worker only.
void scoreboard_reset(struct scoreboard_record *board, uint32_t index, uint32_t worker_id,
                      uint32_t pid, uint64_t now_us, uint64_t anon_kib);

// scoreboard_set changes the state. Its worker only.
void scoreboard_set(struct scoreboard_record *board, uint32_t index, enum scoreboard_state state,
                    uint64_t now_us);

// scoreboard_begin notes a request: state READING, counts it, keeps the start of "METHOD URL".
void scoreboard_begin(struct scoreboard_record *board, uint32_t index, struct str method,
                      struct str url, uint64_t now_us);

// scoreboard_get copies record `index` out, consistent and bounded (unknown states become FREE,
// lengths are clamped). False when it stayed in motion (a dead writer): the copy is then not
// filled.
MUST_USE bool scoreboard_get(const struct scoreboard_record *board, uint32_t index,
                             struct scoreboard_record *out);

// scoreboard_state_text names a state ("idle").
const char *scoreboard_state_text(enum scoreboard_state state);
