// SPDX-License-Identifier: Apache-2.0
// prefork -- life under a server that is not Godwit: descriptor 0 was a connection, or a listening
// socket for which this process forks children. The environment variables are those of stock LSAPI
// programs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "godwit_app.h"

struct prefork_settings {
    uint32_t children;     // LSAPI_CHILDREN; up to 1: no children, one connection at a time
    uint32_t extra;        // LSAPI_EXTRA_CHILDREN
    uint32_t idle_s;       // LSAPI_MAX_IDLE: a process that waits longer ends
    uint32_t all_idle_s;   // LSAPI_PGRP_MAX_IDLE: the manager without children ends; 0: never
    uint64_t requests_max; // LSAPI_MAX_REQS; 0: no limit
    uint32_t process_s;    // LSAPI_MAX_PROCESS_TIME: longest request
    bool keep_listening;   // LSAPI_KEEP_LISTEN: a child takes another connection after its own
    bool notify;           // LSAPI_ACCEPT_NOTIFY: no REQ_RECEIVED for each request
    bool follow_parent;    // no LSAPI_PPID_NO_CHECK: end when the parent has gone
};

// prefork_settings_read reads them from the environment.
void prefork_settings_read(struct prefork_settings *out);

// prefork_connected serves the connection `fd` to its end. Exit status.
int prefork_connected(const struct godwit_app_hooks *hooks, const struct prefork_settings *set,
                      int fd);

// prefork_listening serves the listening socket `fd`. Exit status, in the children too.
int prefork_listening(const struct godwit_app_hooks *hooks, const struct prefork_settings *set,
                      int fd);
