// SPDX-License-Identifier: Apache-2.0
// body -- a body as a source that is pulled: the front pulls a response when the socket has room, a
// backend pulls a request when it has room. A slow reader therefore stops the producer without any
// flag. Filters wrap a source in a source.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

enum body_result {
    BODY_DATA, // *out holds bytes or a piece of a file
    BODY_WAIT, // nothing now: on_more will be called once when there is
    BODY_END,  // complete
    BODY_FAIL  // cannot be completed: the reader must not look complete (cut)
};

struct body_chunk {
    struct str bytes; // memory, valid until the next pull or close of this source
    int file;         // FD_NONE for memory, else a descriptor borrowed until close
    off_t offset;     // in the file
    uint64_t file_bytes;
};

struct body;

struct body_ops {
    // pull gives the next piece, at most max_bytes (> 0) long.
    enum body_result (*pull)(struct body *body, uint64_t max_bytes, struct body_chunk *out);
    // close releases it, also in the middle; exactly once.
    void (*close)(struct body *body);
};

// Embedded first in a concrete source.
struct body {
    const struct body_ops *ops;
    int64_t length; // bytes in all, -1 unknown
    bool timed_out; // with BODY_FAIL: its sender took too long
    bool is_live;   // pieces come in time (event stream): do not hold them back for bigger ones
    // The reader sets these before it pulls; called at most once per BODY_WAIT, on the reader's
    // thread, never from within pull.
    void (*on_more)(void *arg);
    void *on_more_arg;
};

// body_pull, body_close and body_more (source -> reader) are the calls through the table; close and
// more of NULL are nothing.
enum body_result body_pull(struct body *body, uint64_t max_bytes, struct body_chunk *out);
void body_close(struct body *body);
void body_more(struct body *body);

// body_text makes a source of borrowed bytes, allocated in the arena.
struct arena;
struct body *body_text(struct arena *a, struct str text);

// body_file makes a source of [offset, offset + bytes) of `fd`, which it takes over and closes.
struct body *body_file(struct arena *a, int fd, off_t offset, uint64_t bytes);
