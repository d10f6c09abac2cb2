// SPDX-License-Identifier: Apache-2.0
// lsapi_answer -- what a worker has answered and the client has not taken yet: a bounded read-ahead
// in memory that is the response's body source. Reads nothing itself.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/body.h"
#include "core/thread.h"

struct lsapi_answer_block;

struct lsapi_answer {
    struct body body; // given to the front; body.length is set by the owner
    struct thread *thread;
    size_t held_bytes; // put and not pulled
    bool complete;     // nothing will be put any more
    bool failed;       // and what is missing makes it unusable
    bool discard;      // nobody wants the bytes: put drops them
    // Called by a pull that leaves little: the owner may put more before it returns. Never NULL.
    void (*on_low)(struct lsapi_answer *a);
    void (*on_close)(struct lsapi_answer *a);
    // private
    struct lsapi_answer_block *first, *last;
    struct lsapi_answer_block *given; // with the reader until its next pull
    bool waiting;                     // the reader was told BODY_WAIT
};

// lsapi_answer_init makes it empty. Its memory must live until body_close and lsapi_answer_done.
void lsapi_answer_init(struct lsapi_answer *a, struct thread *t);

// lsapi_answer_put appends bytes (copied).
void lsapi_answer_put(struct lsapi_answer *a, struct str bytes);

// lsapi_answer_tell wakes a reader that waits, when there is something for it. Not from a pull.
void lsapi_answer_tell(struct lsapi_answer *a);

// lsapi_answer_done gives all memory back; fine when called again.
void lsapi_answer_done(struct lsapi_answer *a);
