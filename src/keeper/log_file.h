// SPDX-License-Identifier: Apache-2.0
// log_file -- opens a log by its name. Root opens logs in directories that belong to others, where
// a name may lead anywhere; nobody but who may write a file anyway gets it written.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

// log_file_open opens the file at an absolute path for appending, and makes it when there is none:
// a blocking descriptor; "/dev/stdout" and "/dev/stderr" are those of this process. When root
// calls:
//   - in a directory of root: symbolic links lead on, and a device or a FIFO with a reader is fine;
//   - in a directory of another user: opened, and made, with the rights of that user; only a
//   regular
//     file that belongs to him, and no link on the way from there on;
//   - in one of root that a group may write to: only a regular file of root with one name;
//   - in one that everybody may write to: never.
// Negative: `err` says why. The working thread must be the only one: its rights change meanwhile.
MUST_USE int log_file_open(const char *path, struct err *err);

// log_file_check says whether log_file_open would be refused, without making the file.
MUST_USE bool log_file_check(const char *path, struct err *err);

// log_file_standard returns the descriptor that "stdout", "/dev/stdout" and their like stand for,
// FD_NONE for other names.
int log_file_standard(const char *name);
