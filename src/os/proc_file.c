// SPDX-License-Identifier: Apache-2.0
// proc_file -- see proc_file.h.
#include "os/proc_file.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/assert.h"
#include "os/fd.h"

struct str proc_file_read(pid_t pid, const char *name, char *room, size_t size)
{
    char path[64];
    int len = snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    ASSERT(len > 0 && (size_t)len < sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return (struct str){0};
    ssize_t got = fd_read(fd, room, size);
    fd_close(&fd);
    return str_n(room, got > 0 ? (size_t)got : 0);
}

struct str proc_file_row(pid_t pid, char room[static PROC_FILE_ROW_BYTES])
{
    struct str row = proc_file_read(pid, "stat", room, PROC_FILE_ROW_BYTES);
    return str_ends(row, STR("\n")) ? str_slice(row, 0, row.len - 1) : row;
}

struct str proc_file_field(struct str row, enum proc_file_row_field field)
{
    // "pid (name) state parent ...": the name may hold spaces and parentheses, so count from its
    // end.
    row = str_skip(row, str_rfind(row, ')') + 2);
    for (unsigned i = PROC_FILE_STATE; i < field; i++) // the first one behind the name
        str_cut(&row, ' ');
    return str_cut(&row, ' ');
}

struct str proc_file_value(struct str status, struct str key)
{
    while (status.len > 0) {
        // The name of the process, which may hold anything, stands in a line of its own, with its
        // newlines escaped.
        struct str line = str_cut(&status, '\n');
        if (str_starts(line, key))
            return str_trim(str_skip(line, key.len));
    }
    return (struct str){0};
}
