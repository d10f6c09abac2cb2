// SPDX-License-Identifier: Apache-2.0
// look -- what stands at a path or behind a descriptor; opening what is to be read; names in a
// directory. May block on a slow disk.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"

enum look_kind {
    LOOK_FILE, // a regular file
    LOOK_DIR,
    LOOK_OTHER, // pipe, socket, device
};

struct look {
    enum look_kind kind;
    off_t size;
    int64_t mtime_s;
    int64_t mtime_ns; // below a second
    uint64_t inode;
};

// look_at tells what stands at `path`, symbolic links followed. 0 or -errno.
MUST_USE int look_at(const char *path, struct look *out);

// look_behind tells what a descriptor is open on. 0 or -errno.
MUST_USE int look_behind(int fd, struct look *out);

// look_open opens a file to read; a pipe put in its place cannot hold us up, and links into a
// process, such as /proc/self/fd/1, are -ELOOP. Descriptor or -errno.
MUST_USE int look_open(const char *path);

// look_list calls fn for each name in directory `path` but "." and "..", in no order. `is_dir` is
// true for directories, not for symbolic links to them. 0 or -errno.
MUST_USE int look_list(const char *path, void (*fn)(void *arg, const char *name, bool is_dir),
                       void *arg);
