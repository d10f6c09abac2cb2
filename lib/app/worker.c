// SPDX-License-Identifier: Apache-2.0
// worker -- see worker.h. Also the functions that the application calls about its request.
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "board.h"
#include "os/fd.h"
#include "quit.h"
#include "wire/output_line.h"

#define SETTING_MARK     1 // first byte of a special entry's name that is a PHP setting
#define SETTING_IS_FINAL 4 // its second byte

// The application's handle; there is one request at a time in a process.
struct godwit_app_request {
    struct worker *worker;
    struct conn *conn;
    bool is_reading; // on the scoreboard
};

static struct godwit_app_text text_of(struct str s)
{
    return (struct godwit_app_text){s.ptr, s.len};
}

static struct str str_of(struct godwit_app_text text)
{
    return str_n(text.ptr, text.len);
}

// ---- serving

static struct worker *this_worker; // of the process, once it has booted

// A program may fork while it serves, as PHP's pcntl_fork does. The exchange stays the parent's:
// the copy may compute, but it answers nobody and ends with the program's function.
static void on_forked(void)
{
    this_worker->is_copy = true;
    this_worker->on_busy = NULL;
    quit_copied();
    board_leave();
    conn_disown(&this_worker->conn);
}

// A worker that is given a request must not push the server off its processor at once, before the
// next one is given to another worker: each request would cost two changes of processes more. Its
// share of the processors stays the same. Whoever has chosen a policy for us knows better.
static void yield_to_server(void)
{
    struct sched_param none = {0};
    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &none); // slower without it
}

int worker_boot(struct worker *w)
{
    int rc = w->hooks->boot ? w->hooks->boot(w->hooks->arg) : 0;
    if (rc == 0) {
        yield_to_server();
        quit_watch();
    }
    if (rc == 0 && !this_worker)
        rc = pthread_atfork(quit_copying, NULL, on_forked);
    this_worker = w;
    w->booted = rc == 0;
    return rc;
}

static struct str request_url(const struct lsapi_view *view)
{
    struct lsapi_pair pair;
    size_t at = 0;
    while (lsapi_view_env(view, &at, &pair))
        if (str_eq(pair.name, STR("REQUEST_URI")))
            return pair.value;
    return view->script_name;
}

static void serve_one(struct worker *w)
{
    struct conn *c = &w->conn;
    struct godwit_app_request req = {.worker = w, .conn = c};
    if (w->on_busy)
        w->on_busy(true);
    if (w->ack == WORKER_ACK_EACH || (w->ack == WORKER_PID_THEN_ACK && w->on_connection))
        conn_ack(c);
    w->requests++;
    w->on_connection++;
    board_begin(c->view.method, request_url(&c->view));
    req.is_reading = !conn_body_is_here(c);
    if (!req.is_reading)
        board_set(SCOREBOARD_RUNNING);
    w->hooks->serve(w->hooks->arg, &req);
    bool last = quit_wanted() || (w->requests_max && w->requests >= w->requests_max);
    if (c->state != CONN_AWAY)
        conn_end(c, last);
    else if (last)
        conn_close(c);
    else
        conn_return(c);
    if (w->on_busy)
        w->on_busy(false);
    board_set(c->state == CONN_IDLE ? SCOREBOARD_IDLE : SCOREBOARD_LEAVING);
}

static bool keep_waiting(struct conn *c)
{
    struct worker *w = CONTAINER_OF(c, struct worker, conn);
    return !quit_wanted() && w->keep_waiting && w->keep_waiting();
}

bool worker_serve(struct worker *w, int fd)
{
    static const char MALFORMED[] = "godwit-app: malformed request, connection closed\n";
    enum conn_result result;
    ASSERT(w->booted);
    conn_init(&w->conn, fd);
    w->conn.keep_waiting = keep_waiting;
    w->on_connection = 0;
    quit_on(fd);
    board_set(SCOREBOARD_IDLE);
    if (w->ack == WORKER_ACK_ONCE)
        conn_ack(&w->conn);
    if (w->ack == WORKER_PID_ONLY || w->ack == WORKER_PID_THEN_ACK)
        conn_pid(&w->conn, getpid());
    while ((result = conn_next(&w->conn)) == CONN_REQUEST) {
        quit_busy(true);
        serve_one(w);
        quit_busy(false);
    }
    if (result == CONN_MALFORMED)
        godwit_app_log(NULL, MALFORMED, sizeof MALFORMED - 1);
    quit_on(FD_NONE);
    conn_close(&w->conn);
    return !w->is_copy && !quit_wanted() && !(w->requests_max && w->requests >= w->requests_max);
}

void worker_leave(struct worker *w)
{
    if (w->hooks->leave)
        w->hooks->leave(w->hooks->arg);
    if (w->conn.in)
        conn_done(&w->conn);
}

// ---- what was asked

struct godwit_app_text godwit_app_method(const struct godwit_app_request *req)
{
    return text_of(req->conn->view.method);
}

struct godwit_app_text godwit_app_script_file(const struct godwit_app_request *req)
{
    return text_of(req->conn->view.script_file);
}

struct godwit_app_text godwit_app_script_name(const struct godwit_app_request *req)
{
    return text_of(req->conn->view.script_name);
}

struct godwit_app_text godwit_app_query(const struct godwit_app_request *req)
{
    return text_of(req->conn->view.query);
}

bool godwit_app_env_next(const struct godwit_app_request *req, size_t *at,
                         struct godwit_app_pair *out)
{
    struct lsapi_pair pair;
    if (!lsapi_view_env(&req->conn->view, at, &pair))
        return false;
    *out = (struct godwit_app_pair){text_of(pair.name), text_of(pair.value)};
    return true;
}

// Transfer-Encoding, the last of the index, is not shown: the body is decoded already.
bool godwit_app_header_next(const struct godwit_app_request *req, size_t *at,
                            struct godwit_app_header *out)
{
    const struct lsapi_view *view = &req->conn->view;
    struct str value;
    struct lsapi_pair pair;
    while (*at < HEADER_TRANSFER_ENCODING - 1) {
        unsigned slot = (unsigned)(*at)++;
        if (!lsapi_view_known(view, slot, &value))
            continue;
        out->name = text_of(lsapi_known_header_name(slot));
        out->cgi_name = text_of(lsapi_known_cgi_name(slot));
        out->value = text_of(value);
        return true;
    }
    if (!lsapi_view_unknown(view, (uint32_t)(*at - (HEADER_TRANSFER_ENCODING - 1)), &pair))
        return false;
    (*at)++;
    out->name = text_of(pair.name);
    out->cgi_name = (struct godwit_app_text){"", 0};
    out->value = text_of(pair.value);
    return true;
}

bool godwit_app_header(const struct godwit_app_request *req, const char *name,
                       struct godwit_app_text *out)
{
    const struct lsapi_view *view = &req->conn->view;
    enum header_id id = header_id_find(str_c(name));
    struct str value;
    if (id != HEADER_OTHER && id < HEADER_TRANSFER_ENCODING) {
        if (!lsapi_view_known(view, id - 1u, &value))
            return false;
        *out = text_of(value);
        return true;
    }
    struct lsapi_pair pair;
    for (uint32_t i = 0; lsapi_view_unknown(view, i, &pair); i++) {
        if (str_eq_nocase(pair.name, str_c(name))) {
            *out = text_of(pair.value);
            return true;
        }
    }
    return false;
}

bool godwit_app_setting_next(const struct godwit_app_request *req, size_t *at,
                             struct godwit_app_setting *out)
{
    struct lsapi_pair pair;
    while (lsapi_view_special(&req->conn->view, at, &pair)) {
        if (pair.name.len < 3 || pair.name.ptr[0] != SETTING_MARK)
            continue;
        out->is_final = pair.name.ptr[1] == SETTING_IS_FINAL;
        out->name = text_of(str_skip(pair.name, 2));
        out->value = text_of(pair.value);
        return true;
    }
    return false;
}

int64_t godwit_app_body_bytes(const struct godwit_app_request *req)
{
    return req->conn->view.body_bytes;
}

long godwit_app_read(struct godwit_app_request *req, void *room, size_t size)
{
    ssize_t got = conn_read(req->conn, room, size);
    if (req->is_reading && conn_body_is_here(req->conn)) {
        req->is_reading = false;
        board_set(SCOREBOARD_RUNNING);
    }
    return got;
}

// ---- the answer

void godwit_app_status(struct godwit_app_request *req, int status)
{
    req->conn->status = status >= 100 && status <= 999 ? status : 500;
}

bool godwit_app_header_add(struct godwit_app_request *req, struct godwit_app_text name,
                           struct godwit_app_text value)
{
    return name.len && conn_line(req->conn, str_of(name), str_of(value));
}

bool godwit_app_header_line(struct godwit_app_request *req, struct godwit_app_text line)
{
    return conn_line(req->conn, STR(""), str_of(line));
}

int godwit_app_write(struct godwit_app_request *req, const void *bytes, size_t len)
{
    return conn_write(req->conn, str_n(bytes, len));
}

int godwit_app_flush(struct godwit_app_request *req)
{
    return conn_flush(req->conn);
}

int godwit_app_finish(struct godwit_app_request *req)
{
    struct conn *c = req->conn;
    if (conn_has_answered(c))
        return c->is_broken ? -EPIPE : 0;
    if (req->worker->returns) {
        conn_leave(c);
    } else {
        quit_on(FD_NONE);
        conn_end(c, true);
    }
    board_set(SCOREBOARD_DETACHED);
    return c->is_broken ? -EPIPE : 0;
}

bool godwit_app_is_open(const struct godwit_app_request *req)
{
    return !conn_has_answered(req->conn);
}

static struct str request_id(const struct godwit_app_request *req)
{
    struct lsapi_pair pair;
    size_t at = 0;
    while (lsapi_view_special(&req->conn->view, &at, &pair))
        if (str_eq(pair.name, STR(LSAPI_REQUEST_ID_NAME)))
            return pair.value;
    return STR("");
}

void godwit_app_log(struct godwit_app_request *req, const char *text, size_t len)
{
    struct str said = str_n(text, len);
    if (req && conn_log(req->conn, said) == 0)
        return;
    struct buf marked = {0};
    struct str id = req ? request_id(req) : STR("");
    if (id.len)
        output_line_mark(&marked, id, said);
    // Nobody is left to be told when this fails too.
    int rc = fd_write_all(2, buf_len(&marked) ? buf_view(&marked) : said);
    (void)rc;
    buf_done(&marked);
}
