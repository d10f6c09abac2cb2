// SPDX-License-Identifier: Apache-2.0
// access_log -- one line a request: combined with what the server knows besides, or JSON. Writes
// through sinks that the server's role gives by path; opens no file itself.
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "core/module.h"
#include "core/snapshot.h"
#include "log/sink.h"

extern struct module access_log_module;

// access_log_paths writes the different paths that the snapshot's sites log to (absolute, or
// "stdout"), at most `max`, and returns how many there are. Slices of the snapshot.
size_t access_log_paths(const struct snapshot *s, struct str *out, size_t max);

// access_log_sink says where lines of `path` go from now on; NULL: nowhere. Any thread; the old
// sink must outlive requests in progress.
void access_log_sink(const char *path, struct sink *sink);
