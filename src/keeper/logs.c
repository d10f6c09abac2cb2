// SPDX-License-Identifier: Apache-2.0
// logs -- see logs.h.
#include "keeper/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/fd.h"

#define LOG_MODE 0640

static bool is_standard(const char *name)
{
    return name[0] != '/';
}

// Descriptor or -errno.
static int open_named(const char *name)
{
    if (strcmp(name, "stdout") == 0)
        return fd_dup(STDOUT_FILENO);
    if (strcmp(name, "stderr") == 0)
        return fd_dup(STDERR_FILENO);
    if (is_standard(name))
        return -EINVAL;
    // Not blocking at the open: a FIFO without a reader is an error, not the end of the keeper.
    int fd =
        open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, LOG_MODE);
    if (fd < 0)
        return -errno;
    int rc = fd_set_nonblock(fd, false);
    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

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
    opened->fd = open_named(opened->name);
    if (opened->fd < 0) {
        err_set(err, "cannot open the log %s: %s", opened->name, strerror(-opened->fd));
        mem_free(opened->name);
        mem_free(opened);
        return NULL;
    }
    list_push_back(&l->all, &opened->node);
    return opened;
}

bool logs_reopen(struct logfile *log, struct err *err)
{
    if (is_standard(log->name))
        return true;
    int fd = open_named(log->name);
    if (fd < 0)
        return err_set(err, "cannot open the log %s: %s", log->name, strerror(-fd));
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
