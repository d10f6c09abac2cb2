// SPDX-License-Identifier: Apache-2.0
// listing_entries -- the names in a directory with size and date, read and sorted. Blocks: for a
// job thread. Leaves out what is not served anyway: names that begin with a dot, special files,
// links that lead nowhere or must not be followed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "os/look_below.h"

#define LISTING_ENTRIES_MAX 200000

enum listing_sort { LISTING_NAME, LISTING_SIZE, LISTING_DATE };

struct listing_entry {
    size_t name_at, name_len; // in names
    bool is_dir;
    off_t size;
    int64_t mtime_s;
};

struct listing_entries {
    struct listing_entry *items;
    size_t count;
    struct buf names;
    bool is_cut; // there were more than LISTING_ENTRIES_MAX
    // private
    size_t size;
};

// What is read, and how.
struct listing_order {
    const char *dir;
    size_t root_len;       // bytes of dir that are the root
    enum look_links links; // that are followed below it
    enum listing_sort sort;
    bool descending;
};

// listing_entries_read fills *out (zeroed) from a directory, directories first. 0 or -errno.
MUST_USE int listing_entries_read(const struct listing_order *order, struct listing_entries *out);

// listing_entries_name is the name of an entry.
struct str listing_entries_name(const struct listing_entries *e, size_t at);

// listing_entries_bytes is the memory that they take.
size_t listing_entries_bytes(const struct listing_entries *e);

// listing_entries_done frees.
void listing_entries_done(struct listing_entries *e);
