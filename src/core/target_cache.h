// SPDX-License-Identifier: Apache-2.0
// target_cache -- what a thread has seen in the file system lately, by absolute path. Bounded in
// entries, in names that were not there (a stranger chooses those), and in the length of a path.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "os/look_below.h"

struct thread;

#define TARGET_CACHE_ENTRIES_MAX 4096
#define TARGET_CACHE_ABSENT_MAX  512  // of them for paths where nothing is
#define TARGET_CACHE_PATH_MAX    1024 // longer paths are looked at each time

enum target_seen {
    TARGET_SEEN_NOTHING,
    TARGET_SEEN_FILE,
    TARGET_SEEN_DIR,
    TARGET_SEEN_SPECIAL,   // neither file nor directory
    TARGET_SEEN_FORBIDDEN, // permission
};

// What stands at a path: at its first `part_len` bytes, which are the whole path but for a regular
// file that is followed by more.
struct target_look {
    enum target_seen seen;
    size_t part_len;
    uint64_t path_hash; // hash_str of the path that was looked at
    struct look facts;  // with TARGET_SEEN_FILE and TARGET_SEEN_DIR
};

// target_cache_look tells what stands at `path` (absolute, NUL-terminated behind; its first
// root_len bytes are a root, taken as one piece), seen at most `check_us` ago (0: now). What lies
// behind a link that is not to be followed is forbidden.
struct target_look target_cache_look(struct thread *t, struct str path, size_t root_len,
                                     enum look_links links, uint64_t check_us);
