// SPDX-License-Identifier: Apache-2.0
// static_cache -- files at hand in a thread, with what their answers say about them: small ones in
// memory, larger ones open. Whether an entry is still true is the caller's to know: it asks with
// what the file system says now.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/list.h"
#include "base/str.h"
#include "core/thread.h"
#include "http/date.h"
#include "os/look.h"

#define STATIC_CACHE_FILE_BYTES_MAX ((off_t)(16 * 1024)) // larger ones are sent from where they are
#define STATIC_CACHE_ETAG_BYTES     64
// An open file that nobody asks for is let go: it may have been removed, and holds its place on the
// disk.
#define STATIC_CACHE_OPEN_US UINT64_C(5000000)

// One file as it is answered with. In the cache or on its own; counted, since an answer on its way
// needs it while the cache may drop it.
struct static_file {
    struct look facts;
    struct str etag;
    struct str last_modified;
    struct str content; // ptr NULL: not in memory, but behind `fd`
    int fd;
    // private
    unsigned refs;
    struct list_node node; // in_memory or open
    uint64_t used_us;
    struct str path;
    char etag_room[STATIC_CACHE_ETAG_BYTES];
    char date_room[DATE_BYTES + 1];
};

// static_cache_new makes a description of the file at `path`. `bytes` (facts.size many, copied) is
// its content; NULL: it is read from `fd`, which is taken over. References: 1, the caller's.
MUST_USE struct static_file *static_cache_new(struct str path, const struct look *facts,
                                              const char *bytes, int fd);

// static_cache_put keeps the file for later requests of this thread: at most `bytes_max` of all in
// memory, at most `open_max` open ones.
void static_cache_put(struct thread *t, struct static_file *file, int64_t bytes_max,
                      int64_t open_max);

// static_cache_find returns the file at `path` if it is kept and its facts are these, else NULL. A
// new reference.
MUST_USE struct static_file *static_cache_find(struct thread *t, struct str path,
                                               const struct look *facts);

// static_cache_unref drops a reference.
void static_cache_unref(struct static_file *file);
