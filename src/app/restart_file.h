// SPDX-License-Identifier: Apache-2.0
// restart_file -- tmp/restart.txt of an app, as deploy tools touch it: when its time has changed
// the app's workers are replaced. Looked at once a second while requests come, by a pool thread;
// the request does not wait for it.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/exchange.h"

struct app_conf;

// What is known of an app's file; in its pool.
struct restart_file {
    _Atomic uint64_t next_us; // when it is looked at again
    _Atomic bool busy;        // a look is under way: the rest is its own
    bool known;
    int64_t time_ns; // last modification; 0: there is none
};

// restart_file_look looks whether it is time to look.
void restart_file_look(struct restart_file *f, const struct exchange *ex,
                       const struct app_conf *app);
