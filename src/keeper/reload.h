// SPDX-License-Identifier: Apache-2.0
// reload -- the way of a configuration into force, at the start and later: loaded, opened,
// prepared, committed; or abandoned at any point, with nothing changed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "event/loop.h"

struct keeper;
struct generation;

#define RELOAD_ASKERS_MAX 64 // who may wait for the outcome of one

enum reload_phase { RELOAD_IDLE, RELOAD_LOADING, RELOAD_PREPARING, RELOAD_COMMITTING };

struct reload_askers {
    uint32_t ids[RELOAD_ASKERS_MAX]; // of IPC_RELOAD
    size_t count;
};

struct reload {
    enum reload_phase phase;
    struct generation *candidate; // while PREPARING
    uint32_t last_number;
    struct loop_timer timer;
    struct loop_task next; // begins the one that waits
    bool is_first;         // while COMMITTING: the instance starts with it
    bool again;            // asked for during one: another one follows
    struct reload_askers asked, waiting;
};

// reload_init makes it idle.
void reload_init(struct reload *r);

// reload_request begins a reload; during one it asks for another one after it. `id` is that of
// IPC_RELOAD, which is answered; 0 for nobody.
void reload_request(struct keeper *k, uint32_t id);

// reload_is_preparing tells that the server is to prepare reload.candidate.
bool reload_is_preparing(const struct keeper *k);

// reload_loaded: the loader has left a plan (borrowed) and a configuration (taken over).
void reload_loaded(struct keeper *k, int plan_fd, int config_fd);

// reload_prepared: the server is ready to use generation `number`: it is told to.
void reload_prepared(struct keeper *k, uint32_t number);

// reload_committed: the server uses generation `number` on all its threads, or has died: the one
// that is started next will use it.
void reload_committed(struct keeper *k, uint32_t number);

// reload_fail: what is on its way is abandoned for these reasons, which are logged and answered.
// When it was the first one, the instance ends.
void reload_fail(struct keeper *k, struct err *why);

// reload_forget_askers: the server that asked is gone.
void reload_forget_askers(struct keeper *k);

// reload_reopen_logs opens all log files anew and hands them to the server.
void reload_reopen_logs(struct keeper *k);

// reload_cancel abandons what is on its way without a word: the instance ends.
void reload_cancel(struct keeper *k);
