// SPDX-License-Identifier: Apache-2.0
// pool_state -- what the pools hold, shared by the files of the pool only. One mutex guards all
// pools: it is held for some hundred nanoseconds twice per request, and one lock needs no order.
//
//   worker: STARTING --ready--> IDLE <--grant/release--> BUSY
//              | failed           | retire                 | release: DETACHED, AWAY -> DETACHED
//              v                  v                        | BROKEN, CLOSED, LEFT, STUCK: RETIRING
//            freed             RETIRING                    | its time has come: RETIRING
//                                 '-------- exit ----------'--> freed (BUSY: at release)
//
//   DETACHED --says that it is back--> IDLE      (AWAY) --closes--> RETIRING
//
// A worn worker serves on until another one, started for it, is ready; so many at a time as the app
// may have spare ones. One that has had all the requests that it may have, and more, retires, or
// rests if it is the last one:
//
//   BUSY --spent, the last--> RESTING --another one is ready--> RETIRING
//                                '-----none can be started----> IDLE or BUSY
//
//   ticket: QUEUED --grant--> GRANTED --inbox--> on_slot
//              '----fail----> FAILED ---inbox--> on_failed       cancel leaves each of them
//
// Invariants (pool_check): while tickets wait, workers are idle only because as many as may be are
// busy; each worker is in
// its pool's list and counted under its state; only IDLE, BUSY and RESTING ones have a descriptor,
// and DETACHED ones that may come back; a slot has a user only while BUSY; workers never exceed the
// maximum by more than the one that proves a new generation and those that replace worn workers.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "app/pool.h"
#include "app/pool_queue.h"
#include "app/pool_request.h"
#include "app/restart_file.h"
#include "base/list.h"
#include "base/map.h"

#define POOL_MAGIC          0x504f4f4cu
#define POOL_WORKER_MAGIC   0x574f524bu
#define POOL_NEVER          UINT64_MAX
#define POOL_STARTS_AT_ONCE 4       // of one app
#define POOL_EXIT_US        1000000 // that a retiring worker is waited for before a spent one serves on
#define POOL_SPARE_PART     4       // of the maximum, that may be started for worn workers at once
#define POOL_FAILURES_MAX   3       // in a row, with no worker alive: waiting requests are refused
#define POOL_BACKOFF_MIN_US 100000
#define POOL_BACKOFF_MAX_US 10000000
#define POOL_TRACE_US       250000  // that a stuck worker has to say where it is
#define POOL_CLOSED_US      100000  // that one which has closed over a request has to end by itself
#define POOL_TERM_US        1000000 // and then, by SIGTERM
#define POOL_FAILURE_BYTES  4096    // kept of why the last start failed
#define POOL_INFO_BYTES_MAX (16 * 1024)
#define POOL_BOARD_SPARE    64 // places of a scoreboard looked at beyond twice the workers
#define POOL_TOP_COUNT      4  // idle workers looked at for one that this thread watches already

enum pool_worker_state {
    POOL_WORKER_STARTING,
    POOL_WORKER_IDLE,
    POOL_WORKER_BUSY,
    POOL_WORKER_DETACHED, // has answered and goes on working; may have closed
    POOL_WORKER_RETIRING, // connection closed by us; its end is awaited
    POOL_WORKER_RESTING,  // is given no request unless no other one can be started; one at most
    POOL_WORKER_STATES
};

enum { POOL_TICKET_NONE, POOL_TICKET_QUEUED, POOL_TICKET_GRANTED, POOL_TICKET_FAILED };

// How far it has gone with one that has closed its connection over a request, or while it was away
// from one that it had answered.
enum pool_worker_closing {
    POOL_WORKER_NOT_CLOSED,
    POOL_WORKER_CLOSED, // most such workers just end
    POOL_WORKER_ENDING, // is about to be sent SIGTERM, or needs none; kill_us ends that
    POOL_WORKER_TERMED  // was sent SIGTERM, however it ends now
};

// What a worker has done since it was started.
struct pool_busy_facts {
    uint64_t at_us; // 0: not looked at yet
    uint64_t ran_us, lined_up_us, had_request_us;
};

// What several have done in a while, in which they had requests.
struct pool_busy_sums {
    uint64_t ran_us, waited_us; // waited: for something else than a processor
    uint64_t wall_us;
};

// How many may be busy at once; see pool_busy.h.
struct pool_busy {
    uint32_t max;        // 0: any number
    uint32_t long_count; // of those that are busy for long: not counted
    bool waited;         // somebody has, since the last look
    bool is_due;
    uint64_t looked_us, measured_us;
    uint64_t server_us, server_at_us; // what the server had computed, when
    struct pool_busy_sums average;
};

// Never given back to the heap while loops run: a loop may hold an event for its watch.
struct pool_worker {
    struct slot slot;
    uint32_t magic;
    struct pool *pool;
    struct list_node node; // pool.workers, or the free ones
    struct list_node idle; // pool.idle while IDLE
    enum pool_worker_state state;
    uint32_t generation;
    struct pool_request request; // at hand, or the last one
    bool has_request;            // BUSY, or not idle since
    bool exited;                 // while BUSY: freed at release
    bool killed;
    bool comes_back;                  // DETACHED: keeps its connection, to say when it is done
    bool departs;                     // DETACHED: is to leave then, not to serve on
    bool runs_on;                     // RETIRING: its client has gone; kill_us ends request_time
    enum pool_worker_closing closing; // RETIRING
    uint64_t since_us;                // of the state
    uint64_t kill_us;                 // DETACHED, RETIRING: when it is killed
    uint64_t requests_max;            // when it is worn; 0: never
    uint64_t requests_end;            // when it has had enough, even if there is no other one yet
    bool worn;                        // to be replaced: requests or memory
    bool replaces;                    // started for a worn one
    bool leaves;                      // worn, and its replacement is ready
    uint64_t fork_kib;                // anonymous memory that it shares with its spawner
    uint64_t own_kib;                 // the rest, as measured last; before that what is typical
    uint64_t measured_us;             // when; of whoever has taken the slot
    uint64_t measure_after_us;        // that time, the next one is due
    uint64_t measured_kib;            // its own, then
    uint32_t place;                   // on the scoreboard
    struct pool_busy_facts facts;     // as seen last
    _Atomic(struct thread *) owner;   // who has taken the slot; NULL: nobody
};

struct pool {
    struct endpoint endpoint;
    struct spool_quota spool;
    struct restart_file restart_file;
    uint32_t magic;
    struct list_node node; // pools.all
    struct pool_settings set;
    bool in_force;
    unsigned refs;

    struct pool_queue queue;
    struct pool_busy busy;
    struct list idle; // workers, last used first
    struct list workers;
    uint32_t counts[POOL_WORKER_STATES];

    uint32_t generation;  // of what new workers are; none is ever given to anything else
    uint32_t generations; // given so far
    uint32_t proved;      // the newest generation of which a worker was ready
    unsigned failures;    // starts in a row
    uint64_t retry_us;    // no start before it
    uint64_t start_us;    // what a start takes, measured
    uint64_t pressed_us;  // since when requests wait and no worker has been idle; 0: not
    uint64_t typical_kib; // what a worker has of its own, as measured last
    uint64_t used_us;     // last release or exit
    uint32_t worn;        // workers that are, and serve until there is another one
    uint32_t leaving;     // of them, those that have a replacement
    uint32_t gives_up;    // workers that leave after their request, for other apps
    const char *held_by;  // the limit of all apps that forbade the last start; NULL: none

    enum { POOL_RESTART_NONE, POOL_RESTART_WANTED, POOL_RESTART_PROVING } restart;

    uint32_t restart_generation; // that it is to prove
    uint32_t restart_from;       // the one before it, that it goes back to
    uint64_t restart_us;         // when one that has failed is tried again; 0: not

    bool may_have_spawner;
    bool traces; // its workers say on SIGUSR2 where they are

    char failure[POOL_FAILURE_BYTES]; // of the last failed start
    size_t failure_len;
    uint64_t failed_us; // 0: never
    uint64_t served;
    const struct scoreboard_record *board;
    char *info;
};

struct pool_inbox { // granted and failed tickets on their way to their thread
    struct thread *thread;
    struct list tickets;
    struct loop_task task;
    bool posted;
};

enum pool_order_type {
    POOL_ORDER_START,
    POOL_ORDER_KILL,
    POOL_ORDER_TERM,  // SIGTERM to one that has closed its connection, and to tell the operator
    POOL_ORDER_TRACE, // say where the script is
    POOL_ORDER_APP_IDLE,
    POOL_ORDER_RENEW,
    POOL_ORDER_TELL,     // the operator
    POOL_ORDER_CLOSED,   // the operator, of a worker that has closed its connection
    POOL_ORDER_TIMEOUT,  // the operator, of a worker that is killed and answers nobody any more
    POOL_ORDER_RESTARTED // or not
};

// What a restart has come to.
enum pool_restarted {
    POOL_RESTARTED_WELL,
    // A new worker could not be started, and
    POOL_RESTARTED_STAY,     // the old ones stay; it is tried again
    POOL_RESTARTED_OLD_CODE, // there are none: who comes next starts one, as before
    POOL_RESTARTED_LATER,    // the same, but the settings are new: who comes next tries again
    // Nothing is known of the new ones.
    POOL_RESTARTED_REMOVED
};

struct pool_order { // for the keeper, given by the control thread
    struct list_node node;
    enum pool_order_type type;
    uint32_t worker_id;
    int32_t pid;   // of POOL_ORDER_TERM
    bool answered; // of the same: nobody lacks an answer
    enum pool_restarted restarted;
    struct str app;  // copied behind
    struct str text; // to tell; copied behind
};

struct pools {
    pthread_mutex_t lock; // guards: everything below and all pools, workers and queued tickets
    struct pool_link link;
    struct thread *control;
    struct list all;
    struct map by_name;
    struct list free_workers;
    struct pool_inbox *inboxes; // by thread index
    unsigned inbox_count;
    struct list orders;
    uint32_t next_id;
    bool orphaned; // the keeper is gone
    unsigned cpu_count;
    struct pool_limits limits;
    uint64_t own_kib;      // of all workers
    _Atomic bool measures; // some limit needs it
    struct loop_task look_task;
    bool look_posted; // the task is on its way
    bool looking;     // what is asked for now is seen by the look that runs
    uint64_t look_us; // when the next look comes by itself
    struct loop_timer look_timer;
};

extern struct pools pool_state;

// pool_state_lock and pool_state_unlock guard all pools.
void pool_state_lock(void);
void pool_state_unlock(void);

// pool_state_self is what this thread said that it is; pool_state_set_self says it.
struct thread *pool_state_self(void);
void pool_state_set_self(struct thread *t);

// Below here the lock is held by the caller.

// pool_state_now_us is the clock of the link.
uint64_t pool_state_now_us(void);

// pool_state_due asks for a look at `at_us` at the latest.
void pool_state_due(uint64_t at_us);

// pool_state_order queues a wish for the keeper.
void pool_state_order(enum pool_order_type type, struct str app, uint32_t worker_id);

// pool_state_tell queues a message for the operator.
PRINTF_LIKE(2, 3) void pool_state_tell(const struct pool *p, const char *fmt, ...);

// pool_state_timeout queues the message that a worker, which answers nobody any more, is killed for
// its time.
void pool_state_timeout(const struct pool_worker *w);

// pool_state_term queues SIGTERM to a worker that has closed its connection.
void pool_state_term(const struct pool_worker *w);

// pool_state_closed queues the message that such a one has not ended and is killed.
void pool_state_closed(const struct pool *p, int32_t pid, bool termed);

// pool_state_restarted queues the outcome of a restart.
void pool_state_restarted(const struct pool *p, enum pool_restarted how, struct str text);

// pool_state_deliver sends a ticket (in no list) to its thread's inbox.
void pool_state_deliver(struct ticket *t, int state);

// pool_state_fail takes a queued ticket out and fails it.
void pool_state_fail(struct pool *p, struct ticket *t, enum endpoint_failure failure);

// pool_state_free forgets a pool without workers and tickets.
void pool_state_free(struct pool *p);

// pool_state_alive is how many workers count against the maximum.
uint32_t pool_state_alive(const struct pool *p);

// pool_state_usable is how many can serve now or after what they do. Without worn ones that have a
// replacement.
uint32_t pool_state_usable(const struct pool *p);
