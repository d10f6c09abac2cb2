// SPDX-License-Identifier: Apache-2.0
// loop -- one thread's readiness, timers and later-tasks turned into calls. Edge-triggered: a watch
// tells once that bytes have come; read until short or -EAGAIN. No policy, no log.
//
// A turn: wait for events -> call watches -> expire timers -> take the mailbox -> run later-tasks.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/list.h"
#include "event/wheel.h"
#include "os/poll.h"

struct loop;
struct loop_watch;
struct loop_timer;
struct loop_task;

typedef void loop_watch_fn(struct loop_watch *watch, unsigned ready); // POLL_* bits
typedef void loop_timer_fn(struct loop_timer *timer);
typedef void loop_task_fn(struct loop_task *task);

// Embedded in its owner. Zeroed: not started.
struct loop_watch {
    loop_watch_fn *on_ready;
    // private
    _Atomic(struct loop *) loop; // the loop that watches now; NULL: stopped
    int fd;
};

// Embedded in its owner. Zeroed: not started.
struct loop_timer {
    loop_timer_fn *on_expired;
    // private
    struct wheel_timer wheel;
};

// Embedded in its owner; runs once each time it was posted.
struct loop_task {
    loop_task_fn *run;
    // private
    struct list_node node;
};

// loop_new makes a loop, or ends in -errno in *out_error and NULL.
MUST_USE struct loop *loop_new(int *out_error);

// loop_free frees it; nothing may be started in it any more. NULL is fine.
void loop_free(struct loop *l);

// loop_run turns until loop_stop.
void loop_run(struct loop *l);

// loop_turn does one turn, waiting at most `wait_ms` for events (-1: until one comes).
void loop_turn(struct loop *l, int wait_ms);

// loop_stop makes loop_run return after this turn. The loop's thread only.
void loop_stop(struct loop *l);

// loop_now_us is the monotonic time, read once a turn.
uint64_t loop_now_us(const struct loop *l);

// loop_wall_us is the time of day, read once a turn.
int64_t loop_wall_us(const struct loop *l);

// loop_watch_start watches `fd` (borrowed) for `interest` (POLL_READ | POLL_WRITE usual,
// POLL_SHARED for listeners). What is ready now is reported in the next turn. A watch that another
// loop holds is moved: that loop will not call it again, provided that the watch's memory stays
// valid (never freed while loops run) and the caller's lock orders the two threads; one that comes
// back may get a call too many, so expect -EAGAIN. 0 or -errno (then it is stopped).
MUST_USE int loop_watch_start(struct loop *l, struct loop_watch *w, int fd, unsigned interest);

// loop_watch_stop ends it; call before the descriptor is closed. No call comes after it, also not
// for events already taken in this turn. Fine when stopped.
void loop_watch_stop(struct loop_watch *w);

// loop_watch_close is loop_watch_stop that closes the descriptor as well, and spares the system
// call of taking it out of the queue: the kernel does that with the last close. Only for
// descriptors that no one else holds (no dup here, none passed to another process), or events
// would come for ever. Closes nothing when stopped.
void loop_watch_close(struct loop_watch *w);

// loop_timer_start (re)arms a timer `after_us` from now. Precision: some milliseconds, never early.
void loop_timer_start(struct loop *l, struct loop_timer *t, uint64_t after_us);

// loop_timer_stop disarms; fine when not armed.
void loop_timer_stop(struct loop_timer *t);

// loop_timer_is_armed tells whether it will expire.
bool loop_timer_is_armed(const struct loop_timer *t);

// loop_later runs `task` at the end of this turn (once, however often asked); asked for by a task
// that runs there, at the end of the next, which then does not wait. The loop's thread only.
void loop_later(struct loop *l, struct loop_task *task);

// loop_later_cancel takes a task back; fine when not waiting.
void loop_later_cancel(struct loop_task *task);

// loop_post hands `task` to the loop of another thread and wakes it. The task must be in no list.
// Any thread.
void loop_post(struct loop *l, struct loop_task *task);
