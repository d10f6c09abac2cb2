// SPDX-License-Identifier: Apache-2.0
// error_log -- see error_log.h.
#include "keeper/error_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include "keeper/log_file.h"
#include "keeper/state.h"
#include "log/log.h"
#include "os/fd.h"

static const struct logfile *find(const struct generation *g)
{
    for (size_t i = 0; i < g->plan.log_count; i++)
        if (str_eq(g->plan.logs[i].name, g->plan.error_log))
            return g->logs[i];
    return NULL;
}

// A FIFO whose reader sleeps would stop the keeper: it is the server's only.
static bool is_named_fifo(const struct logfile *log)
{
    struct stat st;
    return log_file_standard(log->name) == FD_NONE && fstat(log->fd, &st) == 0
           && S_ISFIFO(st.st_mode);
}

void error_log_use(struct keeper *k)
{
    const struct plan *plan = &k->current->plan;
    const struct logfile *log = find(k->current);
    enum log_format format = plan->log_format;
    if (!log || log_file_standard(log->name) == STDERR_FILENO || is_named_fifo(log)) {
        // What found out that the journal reads along knows better than a default.
        if (k->options->log_format == LOG_JOURNALD)
            format = LOG_JOURNALD;
        log_init(plan->log_level, format, k->options->log_fd);
    } else {
        log_init(plan->log_level, format, log->fd);
    }
}

void error_log_leave(struct keeper *k)
{
    if (k->current)
        log_init(k->current->plan.log_level, k->options->log_format, k->options->log_fd);
}
