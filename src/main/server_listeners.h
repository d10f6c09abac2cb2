// SPDX-License-Identifier: Apache-2.0
// server_listeners -- the listening sockets that the keeper has passed: collected for a generation,
// put in force on all threads at its commit. The control socket is the control thread's alone.
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"
#include "main/server_threads.h"

struct server_listeners {
    struct list offered; // of the generation that is being prepared
    struct list in_force;
};

// server_listeners_init makes it empty.
void server_listeners_init(struct server_listeners *l);

// server_listeners_offer takes `fd` over for the generation that is being prepared.
void server_listeners_offer(struct server_listeners *l, struct str name, int fd);

// server_listeners_abandon closes what was offered.
void server_listeners_abandon(struct server_listeners *l);

// server_listeners_commit accepts on what was offered and on nothing else. A socket that is in
// force already goes on without a break.
void server_listeners_commit(struct server_listeners *l, struct server_threads *threads);

// server_listeners_names copies the addresses in force (without "control"); *out_count of them.
struct str *server_listeners_names(const struct server_listeners *l, struct arena *a,
                                   size_t *out_count);

// server_listeners_control is the control socket, FD_NONE when there is none.
int server_listeners_control(const struct server_listeners *l);
