// SPDX-License-Identifier: Apache-2.0
// accept -- where connections come in: listeners of one server thread, its limits, its end. Each
// thread starts the same listening sockets (EPOLLEXCLUSIVE wakes one of them). All calls on the
// thread of `t`.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "core/module.h"
#include "core/thread.h"
#include "os/sock.h"

extern struct module front_module; // limits and times of connections

struct front_listener;

// front_listen_start accepts connections on the listening socket `fd` (borrowed until
// front_listen_stop; non-blocking). `name` is for the log and copied. NULL when the loop refuses
// it.
MUST_USE struct front_listener *front_listen_start(struct thread *t, int fd, const char *name,
                                                   bool is_control);

// front_listen_stop ends it; connections that it accepted live on. NULL is fine.
void front_listen_stop(struct front_listener *l);

// front_serve takes over the connected, non-blocking stream socket `fd` of `peer` and serves it.
void front_serve(struct thread *t, int fd, const struct sock_addr *peer, bool is_control);

// front_drain closes the thread's idle connections and makes the others close after their answer.
// A request that has reached our socket is answered; a connection that has brought none yet gets a
// moment for one, and with `patient` an idle one too, so that no client meets a closed connection
// while it sends. For good.
void front_drain(struct thread *t, bool patient);

// front_cut closes all connections of the thread now; exchanges in progress are aborted. For good:
// new ones are refused, and none is handed to another thread any more.
// From within an exchange, its own connection is left to end as front_drain says.
void front_cut(struct thread *t);

// front_connection_count is how many connections of clients the thread has open, control
// connections left out.
size_t front_connection_count(const struct thread *t);
