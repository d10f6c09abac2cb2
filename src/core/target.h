// SPDX-License-Identifier: Apache-2.0
// target -- what a URL path names below a document root: file, directory, or a script with path info. Walks segments on bytes;
// never trusts a pattern. Looks at the file system through a small per-thread cache whose entries are trusted for `file_check`.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

enum target_kind {
    TARGET_UNKNOWN, // not looked up yet
    TARGET_NONE,    // nothing there
    TARGET_FILE,    // a regular file, the whole path names it
    TARGET_DIR,     // a directory
    TARGET_SCRIPT,  // a regular file named by a leading part of the path, followed by /more: path_info
    TARGET_DENIED,  // permission, dotfile, special file, or an odd name
};

struct target {
    enum target_kind kind;
    struct str root;        // document root (or alias) as configured, without final slash
    struct str file;        // absolute file path, NUL-terminated behind; exchange's arena
    struct str script_name; // URL path that names the file
    struct str path_info;   // rest of the URL path, begins with "/"; empty when none
    bool slash_missing;     // a directory whose URL lacks the final slash
    off_t size;
    int64_t mtime_s;
    int64_t mtime_ns;
    uint64_t inode;
};
