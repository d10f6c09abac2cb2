// SPDX-License-Identifier: Apache-2.0
// worker -- one worker process from the wish for it to its end. It belongs to an app and carries
// the id that the server gave it.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/str.h"
#include "event/loop.h"
#include "keeper/child.h"
#include "os/fd.h"
#include "wire/ipc.h"

struct app;
struct keeper;
struct spawner;
struct worker_output;

enum worker_state {
    WORKER_WAITING, // for its spawner's HELLO
    WORKER_FORKING, // the spawner was asked
    WORKER_BOOTING, // the process is known
    WORKER_READY    // handed to the server
};

struct worker {
    struct list_node node; // app.workers
    struct app *app;
    struct spawner *spawner; // until READY
    uint32_t id;
    uint32_t index; // place on the scoreboard
    enum worker_state state;
    bool is_told;   // the server knows that it failed, or is gone: nothing more is sent
    bool is_killed; // its end was asked for
    bool is_retry;  // its first spawner ended when it was to fork it
    struct child child;
    struct loop_timer timer;      // until READY: start is overdue; then: it is killed
    struct worker_output *output; // stderr, while BOOTING
    int errors;                   // to read its stderr, while FORKING
    // A READY that came before FORKED.
    int ready_fd;
    pid_t ready_pid;
    uid_t ready_uid;
    // The process that serves when it is another one than the worker, which only stands for it;
    // else 0 and FD_NONE.
    pid_t server_pid;
    int server;     // pidfd
    int server_end; // its wait status, or IPC_STATUS_UNKNOWN
    bool has_server_end;
};

// worker_start makes a worker with a place on the scoreboard and has it forked, now or after HELLO.
void worker_start(struct app *app, uint32_t id, uint32_t index);

// worker_fork has the spawner fork a worker that waits.
void worker_fork(struct worker *w);

// worker_forked: the spawner says that `pid` is the worker of that id. NULL, or how it has broken
// the protocol.
MUST_USE const char *worker_forked(struct spawner *s, uint32_t id, pid_t pid);

// worker_ready: somebody on the spawner's channel says to be the worker of that id, or (with the
// number of another process in `pid`) to stand for the one that serves. `packet` holds the server's
// end of its connection and who the sender is. NULL, or how it has broken the protocol.
MUST_USE const char *worker_ready(struct spawner *s, uint32_t id, pid_t pid,
                                  struct fd_received *packet);

// worker_failed: the worker, or its spawner for it, says why it can't start.
void worker_failed(struct spawner *s, const struct ipc_msg *msg, pid_t sender);

// worker_fail tells the server that the start has failed and ends what there is of the worker. It
// may be freed.
void worker_fail(struct worker *w, enum ipc_stage stage, int32_t status, struct str text);

// worker_lose_channel: the spawner's channel has been closed, and READY cannot come any more.
void worker_lose_channel(struct spawner *s, const char *why);

// worker_lose_spawner: the spawner has ended. Workers that it was just asked for are asked of
// another one, once; others that have no process fail.
void worker_lose_spawner(struct spawner *s, int status);

// worker_kill signals the worker that the server calls `id`. After a wish to end it is killed when
// the app's time for that is over.
void worker_kill(struct keeper *k, uint32_t id, int signal);

// worker_end asks the worker to end, as worker_kill does; a start is given up. It may be freed.
void worker_end(struct worker *w);

// worker_orphan: the server is gone. The worker is ended; nobody is told. It may be freed.
void worker_orphan(struct worker *w);
