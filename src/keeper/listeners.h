// SPDX-License-Identifier: Apache-2.0
// listeners -- the listening sockets of the instance: one per address, shared by all configurations
// that name it, so that a reload or a new server never closes what clients queue on.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "os/sock.h"

struct listener {
    struct list_node node;
    char address[SOCK_TEXT_MAX]; // as sock_addr_text writes it
    struct sock_addr bound;      // what it is bound to: differs from the address for port 0
    int fd;
    unsigned refs;
    bool is_announced; // was logged as being listened on
    bool is_inherited; // came with the start (socket activation): never closed, no file removed
    dev_t device;      // of the file of a Unix socket
    ino_t inode;
};

struct listeners {
    struct list all;
};

// listeners_init makes an empty table.
void listeners_init(struct listeners *l);

// listeners_inherit takes the sockets that a service manager has opened for this process
// (LISTEN_PID, LISTEN_FDS: descriptors from 3 on) and clears the variables. They are used in place
// of binding when a configuration names their address. False: `err` says which descriptor is unfit.
bool listeners_inherit(struct listeners *l, struct err *err);

// listeners_open gives the socket of an address, bound now if there is none yet; `mode` is that of
// a Unix socket's file (0: usual). NULL: `err` says why. Undone by listeners_unref.
MUST_USE struct listener *listeners_open(struct listeners *l, struct str address, mode_t mode,
                                         struct err *err);

// listeners_unref gives it back; the last one closes it and removes the file of a Unix socket.
void listeners_unref(struct listener *listener);

// listeners_done closes what is left.
void listeners_done(struct listeners *l);
