// SPDX-License-Identifier: Apache-2.0
// logs -- see logs.h.
#include "keeper/logs.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "keeper/log_file.h"
#include "os/fd.h"

void logs_init(struct logs *l)
{
    list_init(&l->all);
}

struct logfile *logs_open(struct logs *l, struct str name, struct err *err)
{
    list_foreach(&l->all, struct logfile, node, log) {
        if (str_eq(str_c(log->name), name)) {
            log->refs++;
            return log;
        }
    }
    struct logfile *opened = mem_new(struct logfile);
    opened->name = mem_alloc(name.len + 1);
    memcpy(opened->name, name.ptr, name.len);
    opened->refs = 1;
    opened->fd = log_file_open(opened->name, err);
    if (opened->fd < 0) {
        mem_free(opened->name);
        mem_free(opened);
        return NULL;
    }
    list_push_back(&l->all, &opened->node);
    return opened;
}

bool logs_reopen(struct logfile *log, struct err *err)
{
    if (log_file_standard(log->name) != FD_NONE)
        return true;
    int fd = log_file_open(log->name, err);
    if (fd < 0)
        return false;
    fd_close(&log->fd);
    log->fd = fd;
    return true;
}

void logs_unref(struct logfile *log)
{
    ASSERT(log->refs > 0);
    if (--log->refs > 0)
        return;
    list_remove(&log->node);
    fd_close(&log->fd);
    mem_free(log->name);
    mem_free(log);
}
