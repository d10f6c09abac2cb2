// SPDX-License-Identifier: Apache-2.0
// server_output -- see server_output.h.
#include "main/server_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/pool_request.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/mem.h"
#include "log/log.h"
#include "os/fd.h"
#include "wire/output_line.h"

#define LINE_MAX_BYTES 4096 // a longer line is logged in pieces
#define LAST_BYTES     4096 // kept of each worker
#define READ_BYTES     4096
#define READS_PER_TURN 16 // then others get their turn

struct output {
    struct list_node node;
    struct loop *loop;
    struct loop_watch watch;
    struct loop_task again;
    int fd;
    uint32_t worker_id;
    int32_t pid;
    struct buf line; // not complete yet
    struct buf last;
    size_t app_len;
    char app[];
};

static struct list outputs = {{&outputs.head, &outputs.head}};

// A line of worker `worker_id`; 0: of another process of the app.
static void log_line(struct str app, uint32_t worker_id, int32_t pid, struct str line)
{
    char scope[128];
    char text[2 * LINE_MAX_BYTES];
    struct pool_request request;
    struct str id = output_line_take(&line);
    if (!line.len)
        return;
    const char *said = log_quote(line, text, sizeof text);
    int32_t worker_pid;
    if (pool_request_find(app, worker_id, id, &request, &worker_pid)) {
        (void)snprintf(scope, sizeof scope, "req %s", request.id);
        log_warn(scope, "app.output", "site %.*s, app \"%.*s\", worker %d says: %s",
                 (int)request.site_len, request.site, STR_ARG(app), (int)worker_pid, said);
        return;
    }
    // What is not known to be true of the request is told as the app's own word.
    (void)snprintf(scope, sizeof scope, "app %.*s", STR_ARG(app));
    log_warn(scope, "app.output", "process %d says%s%.*s: %s", (int)pid,
             id.len ? " of request " : "", STR_ARG(id), said);
}

void server_output_log(struct str app, int32_t pid, struct str lines)
{
    while (lines.ptr)
        log_line(app, 0, pid, str_cut(&lines, '\n'));
}

static void keep_last(struct output *o, struct str bytes)
{
    if (bytes.len > LAST_BYTES)
        bytes = str_skip(bytes, bytes.len - LAST_BYTES);
    size_t have = buf_len(&o->last);
    if (have + bytes.len > LAST_BYTES)
        buf_take(&o->last, have + bytes.len - LAST_BYTES);
    bool fits = buf_put(&o->last, bytes);
    ASSERT(fits);
}

static void keep_line(struct output *o)
{
    struct str line = buf_view(&o->line);
    (void)output_line_take(&line);
    keep_last(o, line);
}

static void flush_line(struct output *o)
{
    log_line(str_n(o->app, o->app_len), o->worker_id, o->pid, buf_view(&o->line));
    keep_line(o);
    buf_take(&o->line, buf_len(&o->line));
}

static void take(struct output *o, struct str bytes)
{
    while (bytes.len) {
        size_t room = LINE_MAX_BYTES - buf_len(&o->line);
        struct str piece = str_slice(bytes, 0, room);
        size_t end = str_find(piece, '\n');
        bool ends = end < piece.len;
        bool fits = buf_put(&o->line, str_slice(piece, 0, end));
        ASSERT(fits);
        bytes = str_skip(bytes, ends ? end + 1 : end);
        if (ends || buf_len(&o->line) == LINE_MAX_BYTES)
            flush_line(o);
        if (ends)
            keep_last(o, STR("\n"));
    }
}

static void end(struct output *o)
{
    flush_line(o);
    loop_watch_stop(&o->watch);
    loop_later_cancel(&o->again);
    fd_close(&o->fd);
    buf_done(&o->line);
    buf_done(&o->last);
    list_remove(&o->node);
    mem_free(o);
}

enum reading { READING_AGAIN, READING_MORE, READING_ENDED };

static enum reading read_some(struct output *o)
{
    char room[READ_BYTES];
    for (int i = 0; i < READS_PER_TURN; i++) {
        ssize_t count = fd_read(o->fd, room, sizeof room);
        if (count == -EAGAIN)
            return READING_AGAIN;
        if (count <= 0)
            return READING_ENDED;
        take(o, str_n(room, (size_t)count));
    }
    return READING_MORE;
}

static void step(struct output *o)
{
    switch (read_some(o)) {
    case READING_AGAIN:
        break;
    case READING_MORE:
        loop_later(o->loop, &o->again);
        break;
    case READING_ENDED:
        end(o);
        break;
    }
}

static void on_ready(struct loop_watch *watch, unsigned ready)
{
    (void)ready;
    step(CONTAINER_OF(watch, struct output, watch));
}

static void on_again(struct loop_task *task)
{
    step(CONTAINER_OF(task, struct output, again));
}

void server_output_open(struct loop *loop, struct str app, uint32_t worker_id, int32_t pid, int fd)
{
    struct output *o = mem_alloc(sizeof *o + app.len);
    memcpy(o->app, app.ptr, app.len);
    o->app_len = app.len;
    o->loop = loop;
    o->fd = fd;
    o->worker_id = worker_id;
    o->pid = pid;
    o->watch.on_ready = on_ready;
    o->again.run = on_again;
    list_push_back(&outputs, &o->node);
    if (fd_set_nonblock(fd, true) < 0 || loop_watch_start(loop, &o->watch, fd, POLL_READ) < 0)
        end(o);
}

void server_output_last(uint32_t worker_id, struct buf *out)
{
    list_foreach(&outputs, struct output, node, o) {
        if (o->worker_id != worker_id)
            continue;
        // A grandchild may hold the pipe: its end may never come.
        (void)read_some(o);
        keep_line(o);
        (void)!buf_put(out, buf_view(&o->last));
        return;
    }
}

void server_output_close(void)
{
    list_foreach(&outputs, struct output, node, o)
        end(o);
}
