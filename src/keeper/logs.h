// SPDX-License-Identifier: Apache-2.0
// logs -- the log files of the instance, opened with the keeper's rights and written by the server.
// Shared by all configurations that name them. Does not write to them.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"

struct logfile {
    struct list_node node;
    char *name; // absolute path, "stdout" or "stderr"
    int fd;
    unsigned refs;
};

struct logs {
    struct list all;
};

// logs_init makes an empty table.
void logs_init(struct logs *l);

// logs_open gives the log of that name, opened for appending now if it is not open yet. NULL: `err`
// says why. Undone by logs_unref.
MUST_USE struct logfile *logs_open(struct logs *l, struct str name, struct err *err);

// logs_reopen opens the file anew under its name, after it was moved away. False: `err` says why,
// and the old descriptor stays. "stdout" and "stderr" stay as they are.
bool logs_reopen(struct logfile *log, struct err *err);

// logs_unref gives it back; the last one closes it.
void logs_unref(struct logfile *log);
