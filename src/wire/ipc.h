// SPDX-License-Identifier: Apache-2.0
// ipc -- the messages between Godwit's own processes: one packet each on SOCK_SEQPACKET socket
// pairs, descriptors beside them (fd_send). Pure codec: no sockets. All pairs are made by the
// keeper.
//
// loader --> keeper   PLAN or PLAN_FAILED, once, then the loader exits
// keeper <-> server   the rest of the first two groups
// keeper <-> spawner  FORK, LEAVE / HELLO, FORKED; each worker inherits the spawner's end and sends
//                     READY or FAILED itself, with credentials
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define IPC_BYTES_MAX      (64 * 1024) // one packet
#define IPC_STATUS_UNKNOWN (-1)        // in the place of a wait status
#define IPC_TEXT_MAX       (60 * 1024) // name and text together; longer text is cut by the sender

enum ipc_type {
    // loader -> keeper
    IPC_PLAN = 1,    // fds: sealed plan (keeper/plan.h), sealed resolved configuration
    IPC_PLAN_FAILED, // text: errors, one a line

    // keeper -> server. LISTENER, LOG and BOARD of a generation come before its PREPARE, all of
    // them,
    // also those that the generation before had.
    IPC_LISTENER,      // gen, name: address text, or "control"; fd
    IPC_LOG,           // gen, name: path, "stdout", "stderr"; fd
    IPC_BOARD,         // gen, name: app; fd: its scoreboard (wire/scoreboard.h)
    IPC_PREPARE,       // gen, index: threads (0: one per processor), which only the first one of a
                       // server decides; fd: sealed configuration. Answer: PREPARED or REFUSED
    IPC_COMMIT,        // gen: use it from now on
    IPC_ABANDON,       // gen: forget it
    IPC_LOG_REOPENED,  // name; fd: swap it in
    IPC_WORKER_READY,  // name: app, id, pid; fds: LSAPI connection, read end of its stderr
    IPC_WORKER_FAILED, // name: app, id, stage, status (wait status or errno), text: last of its
                       // stderr
    IPC_WORKER_EXIT,   // name: app, id, status: wait status, or IPC_STATUS_UNKNOWN
    IPC_APP_LOG,       // name: app, pid, text: lines its spawner wrote to stderr
    IPC_APP_INFO,      // name: app, text: what its runtime said of itself in HELLO (JSON)
    IPC_ANSWER,        // id of the RELOAD or STOP, status 0: done (text: a warning), else text says
                       // why not
    IPC_DRAIN,         // stop accepting, finish what runs, exit

    // server -> keeper
    IPC_PREPARED,    // gen
    IPC_REFUSED,     // gen, text
    IPC_COMMITTED,   // gen: in force on each thread; addresses that it lacks are closed
    IPC_START,       // name: app, id (chosen by the server, never reused): one more worker
    IPC_KILL,        // id, status: signal
    IPC_APP_IDLE,    // name: the app has no workers and none is wanted: its spawner may leave
    IPC_RELOAD,      // id
    IPC_STOP,        // id, status 0: finish first, 1: now
    IPC_REOPEN_LOGS, // id

    // keeper -> spawner
    IPC_FORK,  // id, index: the worker's place on the scoreboard; fd: its stderr, may be lacking
    IPC_LEAVE, // exit; workers stay

    // spawner and workers -> keeper
    IPC_HELLO,  // text: JSON about the runtime ({"runtime":"godwit-php","version":...,"ini":[...]})
    IPC_FORKED, // id, pid
    IPC_READY,  // id, pid; fd: server's end of the LSAPI connection
    IPC_FAILED, // id, stage, status: errno or 0, text

    // server -> keeper; here, for numbers stay what they are: programs have been built with them
    IPC_APP_RENEW, // name: the next workers come from a new spawner; the one that is there is kept
    IPC_APP_SETTLE // name, status 0: the new spawner is good; else the one before is used again
};

enum ipc_stage { // where a start failed
    IPC_STAGE_NONE,
    IPC_STAGE_EXEC,    // the program could not be started
    IPC_STAGE_PRELOAD, // the spawner ended or said nothing in time before HELLO
    IPC_STAGE_FORK,    // fork failed
    IPC_STAGE_BOOT,    // the worker ended or said nothing in time before READY
    IPC_STAGE_IDENTITY // the worker is not who it should be
};

// One message; fields that a type does not use are zero.
struct ipc_msg {
    enum ipc_type type;
    uint32_t id;
    uint32_t gen;
    uint32_t index;
    int32_t pid;
    int32_t status;
    enum ipc_stage stage;
    struct str name; // borrowed
    struct str text; // borrowed
};

// ipc_encode writes the message; returns its length, 0 when name and text exceed IPC_TEXT_MAX.
MUST_USE size_t ipc_encode(const struct ipc_msg *msg, char room[static IPC_BYTES_MAX]);

// ipc_decode reads one packet; out's slices borrow from `packet`. False when malformed.
MUST_USE bool ipc_decode(struct str packet, struct ipc_msg *out);

// ipc_stage_text says the stage in words ("while booting").
const char *ipc_stage_text(enum ipc_stage stage);
