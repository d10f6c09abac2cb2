// SPDX-License-Identifier: Apache-2.0
// server_conf -- the directives of the instance as a whole: who the server is, how many threads,
// where it logs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "conf/key.h"
#include "core/module.h"
#include "core/snapshot.h"

extern struct module server_conf_module;

struct server_conf {
    struct key_words user; // empty, or NAME, or NAME GROUP
    int64_t threads;       // 0: one per processor
    int64_t drain_ms;      // longest wait for running requests at stop
    int log_level;         // enum log_level
    int log_format;        // enum log_format
    struct str error_log;  // absolute path, "stderr" or "stdout"
    bool development;      // error pages may show details
};

// server_conf returns the snapshot's directives.
const struct server_conf *server_conf(const struct snapshot *s);
