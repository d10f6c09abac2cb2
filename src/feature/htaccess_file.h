// SPDX-License-Identifier: Apache-2.0
// htaccess_file -- looks at the .htaccess file of one directory. Blocks on the disk.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"

#define HTACCESS_FILE_BYTES_MAX ((size_t)(256 * 1024)) // a larger one counts as protective

struct htaccess_finding {
    unsigned line;   // from 1; 0: nothing found
    char file[1024]; // path of the .htaccess file, cut if longer
    char what[128];  // the directive, or why the file can't be read
    bool is_passing; // for want of descriptors or memory: another look may succeed
};

// htaccess_file_look tells whether the .htaccess file of directory `dir` protects something, and
// what. One that is there but can't be read counts.
bool htaccess_file_look(struct str dir, struct htaccess_finding *out);
