// SPDX-License-Identifier: Apache-2.0
// app_driver -- see app_driver.h.
#include "app_driver.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/proc.h"

#define ENV_MAX 64

static bool readable(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, DRIVER_WAIT_MS) == 1;
}

bool driver_start(struct driver *d, const char *const *argv, const char *const *envp)
{
    // Under a sanitizer a crash is to look as it does without.
    const char *env[ENV_MAX] = {"GODWIT_CHANNEL=3", "GODWIT_BOARD=4", "GODWIT_APP=test",
                                "ASAN_OPTIONS=handle_segv=0"};
    int pair[2], board = file_shared("board", SCOREBOARD_BYTES);
    size_t count = 4;
    for (; envp && *envp && count < ENV_MAX - 1; envp++)
        env[count++] = *envp;
    d->board = file_map(board, SCOREBOARD_BYTES, false);
    if (!d->board || fd_pair(SOCK_SEQPACKET, pair) < 0 || proc_be_subreaper() < 0)
        return false;
    struct proc_start start = {.path = argv[0],
                               .argv = argv,
                               .envp = env,
                               .stdin_fd = FD_NONE,
                               .stdout_fd = FD_NONE,
                               .stderr_fd = FD_NONE,
                               .fds = (int[]){pair[1], board},
                               .fd_count = 2,
                               .death_signal = SIGKILL};
    d->channel = pair[0];
    d->spawner = proc_start(&start);
    fd_close(&pair[1]);
    fd_close(&board);
    return d->spawner > 0;
}

bool driver_expect(struct driver *d, enum ipc_type type, struct ipc_msg *out, int *out_fd)
{
    struct fd_received got;
    *out = (struct ipc_msg){0};
    if (!readable(d->channel) || fd_receive(d->channel, d->room, sizeof d->room, &got) != 1
        || !got.len || !ipc_decode(str_n(d->room, got.len), out))
        return false;
    if (out_fd)
        *out_fd = got.fd_count ? got.fds[0] : FD_NONE;
    else if (got.fd_count)
        fd_close(&got.fds[0]);
    return out->type == type;
}

static bool order(struct driver *d, enum ipc_type type, uint32_t id, uint32_t index, int fd)
{
    struct ipc_msg msg = {.type = type, .id = id, .index = index};
    size_t len = ipc_encode(&msg, d->room);
    return len && fd_send(d->channel, str_n(d->room, len), &fd, fd == FD_NONE ? 0 : 1) == 0;
}

bool driver_order(struct driver *d, enum ipc_type type, uint32_t id, uint32_t index)
{
    return order(d, type, id, index, FD_NONE);
}

bool driver_fork(struct driver *d, uint32_t id, struct ipc_msg *out_forked, int *out_errors)
{
    int errors[2];
    if (fd_pipe(errors) < 0)
        return false;
    *out_errors = errors[0];
    bool is_asked = order(d, IPC_FORK, id, id, errors[1]);
    fd_close(&errors[1]);
    return is_asked && driver_expect(d, IPC_FORKED, out_forked, NULL) && out_forked->id == id;
}

bool driver_worker_start(struct driver *d, uint32_t id, struct driver_worker *out)
{
    struct ipc_msg forked, ready;
    *out = (struct driver_worker){.conn = FD_NONE, .errors = FD_NONE};
    if (!driver_fork(d, id, &forked, &out->errors)
        || !driver_expect(d, IPC_READY, &ready, &out->conn) || ready.id != id)
        return false;
    out->pid = forked.pid;
    return forked.pid == ready.pid && out->conn != FD_NONE;
}

int driver_wait(pid_t pid)
{
    int status = -1, pidfd = proc_pidfd(pid);
    if (pidfd < 0 || !readable(pidfd) || waitpid(pid, &status, 0) != pid)
        status = -1;
    fd_close(&pidfd);
    return status;
}

// ---- LSAPI

static struct str or_else(const char *text, const char *otherwise)
{
    return str_c(text ? text : otherwise);
}

bool driver_send(int conn, const struct driver_request *req)
{
    static char room[LSAPI_REQUEST_BYTES_MAX];
    struct lsapi_pair env[ENV_MAX] = {
        {STR("DOCUMENT_ROOT"), STR("/srv/www")},
        {STR("SERVER_SOFTWARE"), STR("Godwit")},
        {STR("SERVER_NAME"), STR("example.org")},
        {STR("SERVER_PORT"), STR("80")},
        {STR("SERVER_PROTOCOL"), STR("HTTP/1.1")},
        {STR("REMOTE_ADDR"), STR("192.0.2.7")},
        {STR("REQUEST_URI"), or_else(req->script_name, "/index.php")},
        {STR("SCRIPT_FILENAME"), or_else(req->script_file, "/srv/www/index.php")},
        {STR("SCRIPT_NAME"), or_else(req->script_name, "/index.php")},
        {STR("QUERY_STRING"), or_else(req->query, "")},
        {STR("REQUEST_METHOD"), or_else(req->method, "GET")},
    };
    size_t count = 11;
    for (size_t i = 0; i < req->env_count && count < ENV_MAX; i++)
        env[count++] = req->env[i];
    struct lsapi_request packet = {.env = env,
                                   .env_count = count,
                                   .special = req->special,
                                   .special_count = req->special_count,
                                   .headers = req->headers,
                                   .header_count = req->header_count,
                                   .request_line = STR("GET / HTTP/1.1"),
                                   .body_bytes = (int64_t)req->body.len};
    struct wr w = {.ptr = room, .size = sizeof room};
    return lsapi_put_request(&w, &packet) && fd_write_all(conn, wr_view(&w)) == 0
           && fd_write_all(conn, req->body) == 0;
}

static void note_head(struct driver_answer *a, struct str head)
{
    struct lsapi_pair line;
    for (size_t at = 0; lsapi_head_next(head, &at, &line);)
        buf_fmt(&a->head, "%.*s: %.*s\n", STR_ARG(line.name), STR_ARG(line.value));
}

// Takes one event; true when the answer is over.
static bool note(struct driver_answer *a, const struct lsapi_event *event)
{
    switch (event->type) {
    case LSAPI_EVENT_AGAIN:
        return false;
    case LSAPI_EVENT_RECEIVED:
        a->received = true;
        return false;
    case LSAPI_EVENT_PID:
        a->pid = event->pid;
        return false;
    case LSAPI_EVENT_HEAD:
        a->has_head = true;
        a->status = event->status;
        note_head(a, event->head);
        return false;
    case LSAPI_EVENT_DATA:
        return !buf_put(&a->body, event->bytes);
    case LSAPI_EVENT_STDERR:
        return !buf_put(&a->log, event->bytes);
    case LSAPI_EVENT_END:
        a->ended = true;
        return true;
    case LSAPI_EVENT_CLOSE:
        a->closed = true;
        return true;
    case LSAPI_EVENT_FAILED:
        a->why = event->why;
        return true;
    }
    return true;
}

bool driver_receive(int conn, struct driver_answer *out)
{
    static char room[65536];
    struct lsapi_resp *parser = mem_alloc(lsapi_resp_size());
    struct buf hold = {0};
    bool over = false;
    *out = (struct driver_answer){0};
    lsapi_resp_reset(parser, &hold);
    while (!over && readable(conn)) {
        ssize_t got = fd_read(conn, room, sizeof room);
        if (got <= 0) {
            out->eof = over = true;
            break;
        }
        struct str in = str_n(room, (size_t)got);
        for (;;) {
            struct lsapi_event event = lsapi_resp_next(parser, &in);
            over = note(out, &event) || over; // CONN_CLOSE may follow the end in the same piece
            if (event.type == LSAPI_EVENT_AGAIN || event.type == LSAPI_EVENT_FAILED)
                break;
        }
    }
    mem_free(parser);
    buf_done(&hold);
    return over;
}

bool driver_exchange(int conn, const struct driver_request *req, struct driver_answer *out)
{
    *out = (struct driver_answer){0};
    return driver_send(conn, req) && driver_receive(conn, out);
}

void driver_answer_done(struct driver_answer *a)
{
    buf_done(&a->head);
    buf_done(&a->body);
    buf_done(&a->log);
}

static bool has(const struct buf *b, const char *text)
{
    struct str view = buf_view(b);
    return memmem(view.ptr, view.len, text, strlen(text)) != NULL;
}

bool driver_body_is(const struct driver_answer *a, const char *text)
{
    return str_eq(buf_view(&a->body), str_c(text));
}

bool driver_body_has(const struct driver_answer *a, const char *text)
{
    return has(&a->body, text);
}

bool driver_head_has(const struct driver_answer *a, const char *line)
{
    return has(&a->head, line);
}

bool driver_read_all(int fd, struct buf *out)
{
    while (readable(fd)) {
        size_t room;
        char *to = buf_room(out, 4096, &room);
        ASSERT(to);
        ssize_t got = fd_read(fd, to, room);
        if (got <= 0)
            return got == 0;
        buf_added(out, (size_t)got);
    }
    return false;
}

int driver_worker_stop(struct driver_worker *w)
{
    fd_close(&w->conn);
    int status = driver_wait(w->pid);
    fd_close(&w->errors);
    return status;
}

int driver_stop(struct driver *d)
{
    if (!driver_order(d, IPC_LEAVE, 0, 0))
        return -1;
    int status = driver_wait(d->spawner);
    fd_close(&d->channel);
    file_unmap(d->board, SCOREBOARD_BYTES);
    return status;
}
