// SPDX-License-Identifier: Apache-2.0
// server_files -- see server_files.h.
#include "main/server_files.h"

#include <inttypes.h>

#include "app/app_conf.h"
#include "front/front_limits.h"
#include "log/log.h"
#include "os/proc.h"

// What is kept back; never more than half of the limit.
#define FILES_BASE       64 // channel, listeners, logs, scoreboards, files being sent
#define FILES_PER_THREAD 4
#define FILES_PER_WORKER 2 // its connection and its standard error

static int64_t workers_max(struct snapshot *s)
{
    struct app_conf **apps;
    struct err err = {0};
    size_t count;
    int64_t sum = 0;
    // The loader has found it good.
    bool ok = app_conf_list(s, &s->arena, &apps, &count, &err);
    for (size_t i = 0; ok && i < count; i++)
        sum += apps[i]->workers.max;
    err_done(&err);
    return sum;
}

void server_files_share(struct snapshot *s, unsigned threads)
{
    int64_t limit = (int64_t)proc_files_limit();
    int64_t kept =
        FILES_BASE + FILES_PER_THREAD * (int64_t)threads + FILES_PER_WORKER * workers_max(s);
    int64_t most = limit - (kept < limit / 2 ? kept : limit / 2);
    front_limits_share(INT64_MAX);
    int64_t wanted = front_limits_get(FRONT_CONNECTIONS_MAX);
    front_limits_share(most);
    if (wanted > most) {
        log_warn("", "server.few_files",
                 "connections_max is %" PRId64 ", but there are at most %" PRId64
                 ": the limit of open files (RLIMIT_NOFILE) is %" PRId64,
                 wanted, most, limit);
    }
}
