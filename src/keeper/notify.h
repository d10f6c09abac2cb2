// SPDX-License-Identifier: Apache-2.0
// notify -- tells the service manager what the instance does, when one asked to be told
// (NOTIFY_SOCKET, sd_notify(3)). Never blocks; nobody listening is fine.
#pragma once

#include "base/compiler.h"
#include "os/sock.h"

struct notify {
    struct sock_addr to;
    int fd; // FD_NONE: nobody asked
};

// notify_open reads NOTIFY_SOCKET (a path, or "@" and an abstract name) and clears it, so that
// children do not speak in our name.
void notify_open(struct notify *n);

// notify_send sends lines NAME=VALUE, joined by newlines, in one datagram.
PRINTF_LIKE(2, 3) void notify_send(const struct notify *n, const char *fmt, ...);

// notify_close ends it.
void notify_close(struct notify *n);
