// SPDX-License-Identifier: Apache-2.0
// spool_file -- a temporary file without a name for a body that exceeds its memory, and what such
// files take in all: bounded for each app and for the instance.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct exchange;
struct snapshot;
struct thread;

// Bytes in temporary files of one app. Lives as long as snapshots that use it.
struct spool_quota {
    _Atomic int64_t used_bytes;
};

// What an app may use: `quota` NULL: nobody counts; `max_bytes` 0: no limit.
struct spool_share {
    struct spool_quota *quota;
    int64_t max_bytes;
};

struct spool_file {
    int fd; // FD_NONE until the first write
    const char *dir;
    struct thread *thread;     // of the exchange
    struct snapshot *snapshot; // holds `dir` and the quota
    struct spool_share share;
    int64_t all_max; // spool_max; 0: no limit
    int64_t reserved_bytes;
};

enum spool_room {
    SPOOL_ROOM_OK,
    SPOOL_ROOM_APP, // the app's share is used up
    SPOOL_ROOM_ALL  // spool_max is used up
};

// spool_file_init prepares it for a body of the exchange, by the configuration of its path.
void spool_file_init(struct spool_file *f, const struct exchange *ex, struct spool_share share);

// spool_file_reserve counts `bytes` more, which then may be written.
MUST_USE enum spool_room spool_file_reserve(struct spool_file *f, size_t bytes);

// spool_file_room tells whether `bytes` more could be counted now, and counts nothing.
enum spool_room spool_file_room(const struct spool_file *f, int64_t bytes);

// spool_file_never tells which limit `bytes` more would exceed even if nobody else used a file;
// SPOOL_ROOM_OK: none.
enum spool_room spool_file_never(const struct spool_file *f, int64_t bytes);

// spool_file_max_text names a limit: "1048576 bytes, spool_max".
struct str spool_file_max_text(const struct spool_file *f, enum spool_room room,
                               struct exchange *ex);

// spool_file_keep gives back what was reserved beyond `bytes`: a write has failed.
void spool_file_keep(struct spool_file *f, int64_t bytes);

// spool_file_write writes reserved bytes at `offset`, and makes the file before the first. Blocks:
// for a pool thread; nobody else uses `f` meanwhile. 0 or -errno.
MUST_USE int spool_file_write(struct spool_file *f, struct str bytes, int64_t offset);

// spool_file_empty forgets the content. The next write makes another file: what the kernel still
// has to send of this one must not change.
void spool_file_empty(struct spool_file *f);

// spool_file_done closes the file and gives everything back.
void spool_file_done(struct spool_file *f);

// spool_file_room_text says in a sentence which limit forbids more.
struct str spool_file_room_text(const struct spool_file *f, enum spool_room room,
                                struct exchange *ex);

// spool_file_total is how many bytes all temporary files hold.
int64_t spool_file_total(void);
