// SPDX-License-Identifier: Apache-2.0
// play -- see play.h. The endpoint gives out lines in order; nobody waits for long.
#include "play.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/mem.h"
#include "os/fd.h"

#define BODY_MAX (2 * 1024 * 1024)

struct play play;

static void on_watch(struct loop_watch *watch, unsigned ready)
{
    struct slot *slot = CONTAINER_OF(watch, struct slot, watch);
    if (slot->on_ready)
        slot->on_ready(slot, ready);
}

static struct slot *acquire(struct endpoint *ep, struct ticket *t)
{
    for (size_t i = 0; i < play.app.line_count; i++) {
        struct line *l = &play.app.lines[i];
        if (l->taken)
            continue;
        l->taken = true;
        l->slot.readable = l->slot.hangup = false;
        return &l->slot;
    }
    assert_ptr_equal(ep, &play.app.endpoint);
    play.app.waiting = t;
    return NULL;
}

static void cancel(struct endpoint *ep, struct ticket *t)
{
    (void)ep;
    assert_ptr_equal(t, play.app.waiting);
    play.app.waiting = NULL;
    play.app.cancelled = true;
}

static void release(struct endpoint *ep, struct slot *slot, enum slot_outcome outcome)
{
    (void)ep;
    struct line *l = CONTAINER_OF(slot, struct line, slot);
    assert_true(l->taken && !l->released);
    assert_null(slot->user);
    l->released = true;
    l->outcome = outcome;
}

static bool refuses(struct endpoint *ep, struct exchange *ex, enum endpoint_failure *out_failure,
                    struct str *out_text)
{
    (void)ep;
    (void)ex;
    *out_failure = ENDPOINT_QUEUE_FULL;
    *out_text = STR("The queue is full.");
    return play.app.is_full;
}

static bool is_wanted(struct endpoint *ep)
{
    (void)ep;
    return play.app.is_wanted;
}

static const struct endpoint_ops OPS = {
    .refuses = refuses,
    .is_wanted = is_wanted,
    .acquire = acquire,
    .cancel = cancel,
    .release = release,
};

struct line *play_add_line(void)
{
    int pair[2];
    struct line *l = &play.app.lines[play.app.line_count++];
    assert_int_equal(fd_pair(SOCK_STREAM | SOCK_NONBLOCK, pair), 0);
    *l = (struct line){.worker = pair[1]};
    l->slot = (struct slot){.fd = pair[0], .endpoint = &play.app.endpoint, .worker_pid = 4242};
    l->slot.watch.on_ready = on_watch;
    assert_int_equal(
        loop_watch_start(play.stage.loop, &l->slot.watch, pair[0], POLL_READ | POLL_WRITE), 0);
    return l;
}

static enum phase_result handle(struct exchange *ex)
{
    static const struct cgi_env_script SCRIPT = {
        .document_root = STR_INIT("/srv"),
        .file = STR_INIT("/srv/a.php"),
        .name = STR_INIT("/a.php"),
    };
    lsapi_backend_serve(ex, &play.conf, &SCRIPT);
    return PHASE_DONE;
}

static struct module tested = {.name = "tested", .hooks = {[PHASE_HANDLE] = handle}};

void play_keep(const struct body_chunk *chunk)
{
    if (chunk->file == FD_NONE) {
        assert_true(buf_put(&play.client.body, chunk->bytes));
        return;
    }
    static char room[BODY_MAX];
    assert_true(chunk->file_bytes <= sizeof room);
    assert_int_equal(pread(chunk->file, room, chunk->file_bytes, chunk->offset), chunk->file_bytes);
    assert_true(buf_put(&play.client.body, str_n(room, chunk->file_bytes)));
    play.client.file_bytes += chunk->file_bytes;
}

void play_take_body(void)
{
    struct body_chunk chunk;
    enum body_result result = BODY_WAIT;
    while (play.client.may_take
           && (result = body_pull(play.client.ex->resp.body, play.client.may_take, &chunk))
                  == BODY_DATA)
        play_keep(&chunk);
    if (play.client.may_take)
        play.client.end = result;
}

void play_on_more(void *arg)
{
    (void)arg;
    assert_int_equal(play.client.end, BODY_WAIT);
    play_take_body();
}

static void respond(struct exchange *ex)
{
    assert_ptr_equal(ex, play.client.ex);
    assert_false(play.client.responded);
    play.client.responded = true;
    play.client.status = ex->resp.status;
    play.client.length = ex->resp.body ? ex->resp.body->length : -2;
}

static const struct front_ops FRONT = {.respond = respond};
static struct peer peer = {.ip = "192.0.2.1", .local_ip = "192.0.2.2"};

struct exchange *play_new_exchange(void)
{
    struct exchange *ex = exchange_new(&play.stage.thread, &peer, &FRONT, NULL);
    play.client.ex = ex;
    play.client.end = BODY_WAIT;
    return ex;
}

void play_ask(const char *method, const char *upload)
{
    struct exchange *ex = play_new_exchange();
    ex->req.method_text = str_c(method);
    ex->req.method = method_find(str_c(method));
    ex->req.version = 11;
    ex->req.path = ex->req.target = STR("/a.php");
    ex->req.line = STR("GET /a.php HTTP/1.1");
    if (upload) {
        ex->req.has_body = true;
        ex->req.content_length = (int64_t)strlen(upload);
        ex->req.body = body_text(&ex->arena, str_c(upload));
    }
    exchange_start(ex);
}

// One turn that waits at most `wait_ms` for something to do.
void play_turn_for(int wait_ms)
{
    stage_turn(&play.stage, wait_ms);
    if (play.client.responded && play.client.ex->resp.body && play.client.end == BODY_WAIT
        && play.client.ex->req.method != HTTP_HEAD && !play.client.ex->resp.body->on_more) {
        play.client.ex->resp.body->on_more = play_on_more;
        play_take_body();
    }
}

void play_turn(void)
{
    play_turn_for(0);
}

void play_turns(void)
{
    for (int i = 0; i < 5; i++)
        play_turn();
}

void play_end_exchange(void)
{
    if (!play.client.responded)
        exchange_abort(play.client.ex);
    exchange_end(play.client.ex);
    play.client.ex = NULL;
}

// What the worker reads: a whole request packet; the body that follows it is appended to `body`.
void play_read_request(struct line *l, struct buf *body)
{
    static char room[256 * 1024];
    ssize_t count = fd_read(l->worker, room, sizeof room);
    assert_true(count > LSAPI_HEAD_BYTES);
    size_t len;
    assert_int_equal(lsapi_packet_len(str_n(room, (size_t)count), &len), LSAPI_PACKET_OK);
    struct lsapi_view view;
    assert_true(lsapi_view_open(str_n(room, len), &view));
    assert_true(str_eq(view.script_file, STR("/srv/a.php")));
    if (body)
        assert_true(buf_put(body, str_n(room + len, (size_t)count - len)));
}

struct script play_script_new(void)
{
    struct script s = {.room = mem_alloc(BODY_MAX)};
    s.out = (struct wr){.ptr = s.room, .size = BODY_MAX};
    return s;
}

void play_put_head(struct script *s, int status, const char *name, const char *value)
{
    struct lsapi_pair line = {str_c(name), str_c(value)};
    assert_true(lsapi_put_head(&s->out, status, &line, 1));
}

void play_put_packet(struct script *s, enum lsapi_type type, const char *text)
{
    lsapi_put_packet(&s->out, type, strlen(text));
    wr_bytes(&s->out, str_c(text));
    assert_true(wr_ok(&s->out));
}

void play_say(struct line *l, struct str bytes)
{
    assert_int_equal(fd_write(l->worker, bytes), bytes.len);
}

int play_open_case(void **state)
{
    (void)state;
    memset(&play.app, 0, sizeof play.app);
    memset(&play.client, 0, sizeof play.client);
    play.client.may_take = 10000;
    play.app.endpoint = (struct endpoint){.name = STR("test"), .ops = &OPS};
    play.conf = (struct lsapi_backend_conf){
        .endpoint = &play.app.endpoint,
        .request_ms = 60000,
        .response_buffer_bytes = PLAY_BUFFER_SIZE,
    };
    return 0;
}

int play_close_case(void **state)
{
    (void)state;
    if (play.client.ex)
        play_end_exchange();
    buf_done(&play.client.body);
    for (size_t i = 0; i < play.app.line_count; i++) {
        struct line *l = &play.app.lines[i];
        assert_true(!l->taken || l->released); // no conversation forgets its slot
        loop_watch_stop(&l->slot.watch);
        fd_close(&l->slot.fd);
        fd_close(&l->worker);
    }
    return 0;
}

void play_assert_body(const char *text)
{
    assert_true(str_eq(buf_view(&play.client.body), str_c(text)));
}

struct script play_ordinary_answer(void)
{
    struct script s = play_script_new();
    play_put_packet(&s, LSAPI_REQ_RECEIVED, "");
    play_put_head(&s, 201, "Content-Type", "text/plain");
    play_put_packet(&s, LSAPI_RESP_STREAM, "Hello, ");
    play_put_packet(&s, LSAPI_STDERR_STREAM, "a notice\nand half");
    play_put_packet(&s, LSAPI_RESP_STREAM, "world");
    play_put_packet(&s, LSAPI_RESP_END, "");
    return s;
}

void play_put_big_answer(struct script *s)
{
    play_put_head(s, 200, "Content-Type", "text/plain");
    static char piece[LSAPI_STREAM_BYTES_MAX];
    memset(piece, 'b', sizeof piece);
    for (size_t i = 0; i < PLAY_BIG_BYTES / sizeof piece; i++) {
        lsapi_put_packet(&s->out, LSAPI_RESP_STREAM, sizeof piece);
        wr_bytes(&s->out, str_n(piece, sizeof piece));
    }
    play_put_packet(s, LSAPI_RESP_END, "");
}

// Writes what the socket takes; true when all is written.
bool play_push(struct line *l, struct str *left)
{
    ssize_t sent = fd_write(l->worker, *left);
    if (sent > 0)
        *left = str_skip(*left, (size_t)sent);
    return left->len == 0;
}

int play_run(const struct CMUnitTest *tests, size_t count)
{
    static struct module *const MODULES[] = {&tested};
    stage_open(&play.stage, MODULES, ARRAY_LEN(MODULES));
    stage_config(&play.stage, PLAY_CONFIG);
    int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    stage_close(&play.stage);
    return failed;
}
