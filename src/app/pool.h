// SPDX-License-Identifier: Apache-2.0
// pool -- the workers of one app and the requests that wait for them: one queue, in order of
// arrival, in front of a stack of idle slots. Pools outlive snapshots and are found by name.
// Decides which processes should live; asks for them through struct pool_link and never touches a
// process itself.
//
// Threads: endpoint calls come from the thread of the exchange; everything named "control thread"
// from that one only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "app/pool_request.h"
#include "backend/endpoint.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/spool_file.h"
#include "core/thread.h"
#include "os/proc.h"
#include "wire/scoreboard.h"

struct pool;
struct restart_file;

// How the keeper is asked. Called on the control thread, never under a lock.
struct pool_link {
    void (*start)(void *arg, struct str app, uint32_t worker_id); // answer: ready or failed
    void (*signal)(void *arg, uint32_t worker_id, int signal);    // SIGKILL: answer: exit
    enum proc_life (*life)(pid_t pid);                            // NULL: of /proc
    bool (*ignores)(pid_t pid, int signal);                       // NULL: of /proc
    void (*app_idle)(void *arg, struct str app);                  // its spawner may leave
    // The next workers come from a new spawner; the old one stays until `restarted` tells whether
    // it may leave. NULL: there are no spawners.
    void (*renew)(void *arg, struct str app);
    // The outcome of pool_restart: `text` says why there are no new workers.
    void (*restarted)(void *arg, struct str app, bool ok, struct str text);
    uint64_t (*now_us)(void);                         // NULL: the monotonic clock
    uint64_t (*anon_kib)(pid_t pid);                  // NULL: of /proc; any thread
    bool (*times)(pid_t pid, struct proc_times *out); // NULL: of /proc
    void *arg;
};

#define POOL_BUSY_ANY UINT32_MAX

struct pool_settings {
    struct str name;
    uint64_t digest; // of what running workers depend on
    uint32_t workers_min, workers_max;
    uint32_t busy_max;    // of them, that have a request at once; 0: as measured; POOL_BUSY_ANY
    uint32_t queue_max;   // waiting requests
    uint64_t queue_us;    // longest wait
    uint64_t idle_us;     // a worker above workers_min leaves after it
    uint64_t stop_us;     // a worker that was asked to leave is killed after it
    uint64_t request_us;  // the same for one whose request was broken off
    uint64_t detached_us; // the same for one that goes on after its answer
    uint64_t
        requests_max; // a worker is replaced after about as many (a tenth more or less); 0: never
    uint64_t memory_max_bytes; // a worker is replaced that has more of its own; 0: never
};

// What holds for all apps together; 0: no limit.
struct pool_limits {
    uint32_t workers_max;
    uint64_t memory_max_bytes; // own memory of all workers
};

// pool_open prepares for `thread_count` threads. The link is copied. Control thread (of `control`).
void pool_open(const struct pool_link *link, struct thread *control, unsigned thread_count);

// pool_thread_start must be called once by each thread before its first acquire.
void pool_thread_start(struct thread *t);

// pool_close forgets everything and closes all connections. No thread acquires any more, no slot is
// taken. Control thread.
void pool_close(void);

// pool_ref finds or makes the pool of that name and takes a reference; a new one is not in force
// until pool_commit names it. pool_unref gives it back, on any thread.
struct pool *pool_ref(struct str name);
void pool_unref(struct pool *p);

// pool_endpoint is the pool as backends see it.
struct endpoint *pool_endpoint(struct pool *p);

// pool_spool counts what the app's temporary files hold.
struct spool_quota *pool_spool(struct pool *p);

// pool_restart_file is what restart_file knows of the app.
struct restart_file *pool_restart_file(struct pool *p);

// pool_commit puts `count` settings in force; pools that are not among them serve what waits and
// end. A changed digest changes the workers one after another: the old ones serve until a new one
// is ready. Control thread.
void pool_commit(const struct pool_settings *settings, size_t count,
                 const struct pool_limits *limits);

// pool_ready: the keeper has started worker `id`, whose LSAPI connection is `fd` (taken over).
void pool_ready(struct str app, uint32_t id, int32_t pid, int fd);

// pool_failed: the start of worker `id` has failed; `text` says why, with its last words.
void pool_failed(struct str app, uint32_t id, struct str text);

enum pool_exit {
    POOL_EXIT_WANTED, // we had asked for it, or it left in peace after its connection was closed
    POOL_EXIT_UNEXPECTED, // it was idle, busy or broke off
    POOL_EXIT_UNKNOWN     // no such worker
};

// What was known of a worker that has ended.
struct pool_end {
    int32_t pid;
    struct pool_request request; // without an id: it had none
    bool answered;               // the request; it only went on
};

// pool_exited: worker `id` is gone with a wait status, or IPC_STATUS_UNKNOWN. *out is not written
// for an unknown one.
enum pool_exit pool_exited(struct str app, uint32_t id, int status, struct pool_end *out);

// pool_board sets the app's scoreboard memory (SCOREBOARD_BYTES; borrowed until the next call for
// the app; NULL: none). Control thread, as pool_report.
void pool_board(struct str app, const struct scoreboard_record *board);

// pool_info keeps what the app's runtime says of itself (JSON text).
void pool_info(struct str app, struct str json);

// pool_orphan: nobody starts workers any more, nor tells of their end. What the living ones can
// serve is served; what would wait for another one is refused at once.
void pool_orphan(void);

// pool_look does what is due: expired waits, starts, retirements, kills. Runs by itself on the
// control thread's loop; tests with their own clock call it.
void pool_look(void);
