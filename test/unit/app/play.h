// SPDX-License-Identifier: Apache-2.0
// play -- what tests of the pool stand on: a keeper, workers and clients that the test plays, on
// the test's own clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/pool.h"
#include "os/proc.h"

#define SECOND_US          UINT64_C(1000000)
#define PLAY_CLIENTS_MAX   64
#define PLAY_PROCESSES_MAX 4096
#define PLAY_CASE(name)    cmocka_unit_test_setup_teardown(name, play_open_case, play_close_case)

// A worker as the keeper knows it.
struct process {
    uint32_t id;
    struct str app;
    uint64_t anon_kib;
    int peer;                // the worker's end; FD_NONE: not ready yet, or closed
    struct proc_times times; // what it has done; all 0: the kernel does not tell
    bool alive;
    bool kill_wanted;
};

// A request.
struct client {
    struct exchange exchange;
    struct ticket ticket;
    struct slot *slot;
    bool waits;
    int failure; // -1: none
    char text[512];
};

struct play {
    struct thread thread;
    uint64_t now_us;
    struct process processes[PLAY_PROCESSES_MAX];
    size_t process_count;
    // How often the keeper was asked for something, or told.
    unsigned starts, kills, terms, traces, measures, app_idles, renewals, restarted, not_restarted;
    bool ends;           // what is told of each process that has closed its connection
    struct pool_end end; // what was told of the last one that has ended
    struct pool *pool;   // of the app `shop`
    struct pool_limits limits;
    struct client clients[PLAY_CLIENTS_MAX];
    unsigned order[PLAY_PROCESSES_MAX]; // of the clients that were given a slot by the inbox
    size_t ordered;
    bool is_deaf; // whether SIGTERM is ignored by each of them, is told
};

extern struct play play;

// play_open_case and play_close_case stand around each test.
int play_open_case(void **state);
int play_close_case(void **state);

// play_look lets the pool and the loop do what there is to do.
void play_look(void);

// play_pass lets time pass, then looks.
void play_pass(uint64_t us);

// play_ready is what the keeper says of a worker that has started.
void play_ready(struct process *p);

// play_end is what it says of one that has ended.
enum pool_exit play_end(struct process *p, int status);

// play_start_fails is what it says of one that could not start.
void play_start_fails(struct process *p, const char *why);

// play_ask_pool asks for a slot of a pool.
void play_ask_pool(struct client *c, struct pool *p);

// play_ask asks for a slot of the app `shop`.
void play_ask(struct client *c);

// play_begin gives the first client the first worker of `shop`.
void play_begin(void);

// play_leave is a client that does not wait any longer.
void play_leave(struct client *c);

// play_give gives the slot back.
void play_give(struct client *c, enum slot_outcome outcome);

// play_process_of is the worker whose slot the client has.
struct process *play_process_of(const struct client *c);

// play_settings is how `shop` is configured if a test says nothing else.
struct pool_settings play_settings(void);

// play_commit puts settings in force, then looks.
void play_commit(struct pool_settings set);

// play_report is what the pool tells of its only app.
const struct pool_report *play_report(struct arena *a);

// play_has_left tells whether its connection was closed: it is to leave.
bool play_has_left(const struct process *p);
