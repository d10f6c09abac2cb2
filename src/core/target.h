// SPDX-License-Identifier: Apache-2.0
// target -- what a URL path names below a document root: file, directory, or a script with path
// info. Walks segments on bytes; never trusts a pattern. Looks at the file system through a small
// per-thread cache whose entries are trusted for `file_check`.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "core/module.h"

struct exchange;
struct target_look; // of core/target_cache.h

extern struct module target_module; // directives file_check, symlinks

enum target_kind {
    TARGET_UNKNOWN, // not looked up yet
    TARGET_NONE,    // nothing there
    TARGET_FILE,    // a regular file, the whole path names it
    TARGET_DIR,     // a directory
    TARGET_SCRIPT,  // a regular file named by a leading part of the path, followed by /more:
                    // path_info
    TARGET_DENIED,  // permission, dotfile or special file
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
    uint64_t file_hash; // hash_str of `file`, when that is the whole path
};

// target_need looks up what the exchange's path names below the root in force (site_conf), once;
// later calls only return the kind. TARGET_UNKNOWN: no root in force. May read the file system.
enum target_kind target_need(struct exchange *ex);

// target_find looks up `url_path` (decoded, begins with "/") and fills ex->target. `prefix` is the
// leading part of it that `root` stands for ("" for a document root). A name that is followed by
// more path is a script only if a module runs it (module.runs_script); otherwise there is nothing
// there.
void target_find(struct exchange *ex, struct str root, struct str prefix, struct str url_path);

// target_is_script tells whether a module of the exchange's path runs files of this name.
bool target_is_script(const struct exchange *ex, struct str file_name);

// target_look tells what stands at `path`, NUL-terminated behind, below the target's root; as
// target_find would see it.
struct target_look target_look(const struct exchange *ex, struct str path);

// target_open opens a file below the target's root to be read, following links as `symlinks` says.
// Descriptor or -errno.
MUST_USE int target_open(const struct exchange *ex, struct str path);

// target_links tells which symbolic links below the root are followed here (symlinks): an enum
// look_links of os/look_below.h.
int target_links(const struct exchange *ex);

// target_check_us is how long a look at the file system may be trusted here (file_check).
uint64_t target_check_us(const struct exchange *ex);
