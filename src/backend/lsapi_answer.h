// SPDX-License-Identifier: Apache-2.0
// lsapi_answer -- what a worker has answered and the client has not taken yet, as the response's
// body source: in memory up to a limit; beyond that, when the owner says so, in a temporary file.
// Reads nothing of the worker itself.
//
//   put --> [ front, in memory ] --> pull            in memory
//   put --> [ back ] --> (written out) --> [ file ] --> [ front ] --> pull     spilling
//
// The client gets front, file, what is being written, back, in this order. When it has caught up
// with the file, what is in `back` is `front` again.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/body.h"
#include "core/spool_file.h"
#include "core/thread.h"

struct lsapi_answer_block;

struct lsapi_answer_list { // of blocks
    struct lsapi_answer_block *first, *last;
    size_t bytes;
};

struct lsapi_answer {
    struct body body; // given to the front; body.length is set by the owner
    struct thread *thread;
    uint64_t held_bytes; // put and not pulled
    size_t memory_max;   // bytes of `front`; set by the owner
    int64_t file_max;    // bytes of the file; set by the owner
    bool complete;       // nothing will be put any more
    bool failed;         // and what is missing makes it unusable
    bool discard;        // nobody wants the bytes: put drops them
    bool spilling;       // what is put goes to `back`
    bool writing;        // a pool thread works: the memory must stay
    // Called by a pull that leaves little: the owner may put more before it returns. Never NULL.
    void (*on_low)(struct lsapi_answer *a);
    void (*on_close)(struct lsapi_answer *a);
    // Called when a write is over, on the thread's loop: there may be room again, and what
    // lsapi_answer_done has left is gone. `error`: -errno of a write, once for an answer. Never
    // NULL.
    void (*on_written)(struct lsapi_answer *a, int error);
    // private
    struct lsapi_answer_list front, back, out; // `out` is being written
    struct lsapi_answer_block *given;          // with the reader until its next pull
    bool waiting;                              // the reader was told BODY_WAIT
    struct spool_file file;
    bool has_file;
    int64_t file_start, file_end; // of what is in the file and was not pulled
    enum spool_room room;         // why nothing more is written
    bool write_failed;
    int write_error;
    struct job job;
};

// lsapi_answer_init makes it empty. Its memory must live until body_close, lsapi_answer_done and,
// while `writing`, on_written.
void lsapi_answer_init(struct lsapi_answer *a, struct thread *t);

// lsapi_answer_put appends bytes (copied).
void lsapi_answer_put(struct lsapi_answer *a, struct str bytes);

// lsapi_answer_is_full tells whether the worker should wait until the client has taken some, or a
// write is over.
bool lsapi_answer_is_full(const struct lsapi_answer *a);

// lsapi_answer_has_room tells whether one that was full should be filled again.
bool lsapi_answer_has_room(const struct lsapi_answer *a);

// lsapi_answer_spill puts what comes from now on into a file, until the client has caught up.
void lsapi_answer_spill(struct lsapi_answer *a, const struct exchange *ex,
                        struct spool_share share);

// What keeps a full answer from being put into a file, so that only its client can make room.
enum lsapi_answer_bar {
    LSAPI_ANSWER_BAR_NONE,
    LSAPI_ANSWER_BAR_OWN,   // file_max
    LSAPI_ANSWER_BAR_ROOM,  // the app's share, or that of all
    LSAPI_ANSWER_BAR_FAILED // a write has failed
};

// lsapi_answer_bar tells what that is now.
enum lsapi_answer_bar lsapi_answer_bar(const struct lsapi_answer *a);

// lsapi_answer_try_again writes if there is room now that there was not: others have given some
// back.
void lsapi_answer_try_again(struct lsapi_answer *a);

// lsapi_answer_tell wakes a reader that waits, when there is something for it. Not from a pull.
void lsapi_answer_tell(struct lsapi_answer *a);

// lsapi_answer_done gives all memory back, but for what is being written; fine when called again.
void lsapi_answer_done(struct lsapi_answer *a);
