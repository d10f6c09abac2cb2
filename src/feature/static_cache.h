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
#include "http/header.h"
#include "os/look.h"

#define STATIC_CACHE_FILE_BYTES_MAX ((off_t)(16 * 1024)) // larger ones are sent from where they are
#define STATIC_CACHE_ETAG_BYTES     64
#define STATIC_CACHE_FIELD_COUNT    2
// An open file that nobody asks for is let go: it may have been removed, and holds its place on the
// disk.
#define STATIC_CACHE_OPEN_US UINT64_C(5000000)

// "Last-Modified: " and "ETag: ", two fields in lines.
#define STATIC_CACHE_FIELDS_BYTES (STATIC_CACHE_ETAG_BYTES + DATE_BYTES + 32)

// One file as it is answered with. In the cache or on its own; counted, since an answer on its way
// needs it while the cache may drop it.
struct static_file {
    struct look facts;
    struct str etag;
    struct header fields[STATIC_CACHE_FIELD_COUNT]; // Last-Modified, ETag: of each answer about it
    struct str content;                             // ptr NULL: not in memory, but behind `fd`
    int fd;
    // private
    unsigned refs;
    struct list_node node; // in_memory or open
    uint64_t used_us;
    struct str path;
    struct header type; // Content-Type
    const void *type_owner;
    uint32_t type_generation;
    char *type_room; // NULL: none was kept yet
    char fields_room[STATIC_CACHE_FIELDS_BYTES];
};

// static_cache_new makes a description of the file at `path` that `fd`, which is taken over, is
// open on; what is small enough is read into memory. `now_s` is the time of the answer's Date,
// which the Last-Modified field must not be later than. References: 1, the caller's.
MUST_USE struct static_file *static_cache_new(struct str path, const struct look *facts, int fd,
                                              int64_t now_s);

// static_cache_put keeps the file for later requests of this thread: at most `bytes_max` of all in
// memory, at most `open_max` open ones.
void static_cache_put(struct thread *t, struct static_file *file, int64_t bytes_max,
                      int64_t open_max);

// static_cache_find returns the file at `path` (`hash`: its hash_str) if it is kept and its facts
// are these, else NULL. A new reference.
MUST_USE struct static_file *static_cache_find(struct thread *t, struct str path, uint64_t hash,
                                               const struct look *facts);

// static_cache_type is the Content-Type field that was kept with the file for `owner` of this
// generation of the configuration, NULL if none was. It holds as long as the caller's reference.
const struct header *static_cache_type(const struct static_file *file, const void *owner,
                                       uint32_t generation);

// static_cache_keep_type keeps one, and returns it; NULL if it can't be kept now, since somebody
// may still use another.
const struct header *static_cache_keep_type(struct static_file *file, const void *owner,
                                            uint32_t generation, struct str value);

// static_cache_unref drops a reference.
void static_cache_unref(struct static_file *file);
