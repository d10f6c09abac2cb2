// SPDX-License-Identifier: Apache-2.0
// proc_file -- what /proc has in its small files about a process. Any thread.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

#define PROC_FILE_ROW_BYTES    1024 // for `stat`
#define PROC_FILE_STATUS_BYTES 4096 // for `status`

// proc_file_read reads /proc/PID/NAME as far as there is room; empty when it can't be read.
struct str proc_file_read(pid_t pid, const char *name, char *room, size_t size);

// proc_file_row reads the row of the process table, for proc_file_field.
struct str proc_file_row(pid_t pid, char room[static PROC_FILE_ROW_BYTES]);

// Fields of the row, by their numbers in proc(5).
enum proc_file_row_field {
    PROC_FILE_STATE = 3,
    PROC_FILE_PARENT = 4,
    PROC_FILE_FLAGS = 9,
    PROC_FILE_START = 22,
    PROC_FILE_EXIT_CODE = 52
};

// proc_file_field returns a field of the row; empty when there is none.
struct str proc_file_field(struct str row, enum proc_file_row_field field);

// proc_file_value returns what stands in the line of `status` that begins with `key`, as "Uid:";
// empty when there is none.
struct str proc_file_value(struct str status, struct str key);
