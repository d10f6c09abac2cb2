// SPDX-License-Identifier: Apache-2.0
// lsapi_backend_test -- conversations with workers that behave and with all kinds that do not: what
// the client gets, and what becomes of the slot.
#include "backend/lsapi_backend.h"

#include <stdio.h>
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

#include "../core/stage.h"
#include "base/mem.h"
#include "core/metrics.h"
#include "os/fd.h"
#include "os/random.h"

#define SLOTS_MAX   4
#define TURNS_MAX   1000
#define BODY_MAX    (2 * 1024 * 1024)
#define BIG_BYTES   (1024 * 1024)
#define BUFFER_SIZE (64 * 1024)
#define CONFIG      "spool_dir $D; site _ { body_memory 64k; }"

static struct stage stage;

// One connection to a worker that the test plays.
struct line {
    struct slot slot;
    int worker; // the worker's end
    bool taken;
    bool released;
    enum slot_outcome outcome;
};

static struct {
    struct endpoint endpoint;
    struct line lines[SLOTS_MAX];
    size_t line_count;
    struct ticket *waiting;
    bool cancelled;
    bool is_full;
} app;

static struct lsapi_backend_conf conf;

// What the client has got.
static struct {
    struct exchange *ex;
    bool responded;
    int status;
    int64_t length; // -2: no body
    struct buf body;
    enum body_result end; // BODY_WAIT: not yet
    size_t may_take;      // at once; 0: a client that does not read
    uint64_t file_bytes;  // that came from a file
} client;

static void on_watch(struct loop_watch *watch, unsigned ready)
{
    struct slot *slot = CONTAINER_OF(watch, struct slot, watch);
    if (slot->on_ready)
        slot->on_ready(slot, ready);
}

static struct slot *acquire(struct endpoint *ep, struct ticket *t)
{
    for (size_t i = 0; i < app.line_count; i++) {
        struct line *l = &app.lines[i];
        if (l->taken)
            continue;
        l->taken = true;
        l->slot.readable = l->slot.hangup = false;
        return &l->slot;
    }
    assert_ptr_equal(ep, &app.endpoint);
    app.waiting = t;
    return NULL;
}

static void cancel(struct endpoint *ep, struct ticket *t)
{
    (void)ep;
    assert_ptr_equal(t, app.waiting);
    app.waiting = NULL;
    app.cancelled = true;
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
    return app.is_full;
}

static const struct endpoint_ops OPS = {refuses, acquire, cancel, release};

static struct line *add_line(void)
{
    int pair[2];
    struct line *l = &app.lines[app.line_count++];
    assert_int_equal(fd_pair(SOCK_STREAM | SOCK_NONBLOCK, pair), 0);
    *l = (struct line){.worker = pair[1]};
    l->slot = (struct slot){.fd = pair[0], .endpoint = &app.endpoint, .worker_pid = 4242};
    l->slot.watch.on_ready = on_watch;
    assert_int_equal(loop_watch_start(stage.loop, &l->slot.watch, pair[0], POLL_READ | POLL_WRITE),
                     0);
    return l;
}

static enum phase_result handle(struct exchange *ex)
{
    static const struct cgi_env_script SCRIPT = {
        .document_root = STR_INIT("/srv"),
        .file = STR_INIT("/srv/a.php"),
        .name = STR_INIT("/a.php"),
    };
    lsapi_backend_serve(ex, &conf, &SCRIPT);
    return PHASE_DONE;
}

static struct module tested = {.name = "tested", .hooks = {[PHASE_HANDLE] = handle}};

static void keep(const struct body_chunk *chunk)
{
    if (chunk->file == FD_NONE) {
        assert_true(buf_put(&client.body, chunk->bytes));
        return;
    }
    static char room[BODY_MAX];
    assert_true(chunk->file_bytes <= sizeof room);
    assert_int_equal(pread(chunk->file, room, chunk->file_bytes, chunk->offset), chunk->file_bytes);
    assert_true(buf_put(&client.body, str_n(room, chunk->file_bytes)));
    client.file_bytes += chunk->file_bytes;
}

static void take_body(void)
{
    struct body_chunk chunk;
    enum body_result result = BODY_WAIT;
    while (client.may_take
           && (result = body_pull(client.ex->resp.body, client.may_take, &chunk)) == BODY_DATA)
        keep(&chunk);
    if (client.may_take)
        client.end = result;
}

static void on_more(void *arg)
{
    (void)arg;
    assert_int_equal(client.end, BODY_WAIT);
    take_body();
}

static void respond(struct exchange *ex)
{
    assert_ptr_equal(ex, client.ex);
    assert_false(client.responded);
    client.responded = true;
    client.status = ex->resp.status;
    client.length = ex->resp.body ? ex->resp.body->length : -2;
}

static const struct front_ops FRONT = {respond};
static struct peer peer = {.ip = "192.0.2.1", .local_ip = "192.0.2.2"};

static void ask(const char *method, const char *upload)
{
    struct exchange *ex = exchange_new(&stage.thread, &peer, &FRONT, NULL);
    client.ex = ex;
    client.end = BODY_WAIT;
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
static void turn_for(int wait_ms)
{
    stage_turn(&stage, wait_ms);
    if (client.responded && client.ex->resp.body && client.end == BODY_WAIT
        && client.ex->req.method != HTTP_HEAD && !client.ex->resp.body->on_more) {
        client.ex->resp.body->on_more = on_more;
        take_body();
    }
}

static void turn(void)
{
    turn_for(0);
}

static void turns(void)
{
    for (int i = 0; i < 5; i++)
        turn();
}

static void end_exchange(void)
{
    if (!client.responded)
        exchange_abort(client.ex);
    exchange_end(client.ex);
    client.ex = NULL;
}

// What the worker reads: a whole request packet; the body that follows it is appended to `body`.
static void read_request(struct line *l, struct buf *body)
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

struct script {
    struct wr out;
    char *room;
};

static struct script script_new(void)
{
    struct script s = {.room = mem_alloc(BODY_MAX)};
    s.out = (struct wr){.ptr = s.room, .size = BODY_MAX};
    return s;
}

static void put_head(struct script *s, int status, const char *name, const char *value)
{
    struct lsapi_pair line = {str_c(name), str_c(value)};
    assert_true(lsapi_put_head(&s->out, status, &line, 1));
}

static void put_packet(struct script *s, enum lsapi_type type, const char *text)
{
    lsapi_put_packet(&s->out, type, strlen(text));
    wr_bytes(&s->out, str_c(text));
    assert_true(wr_ok(&s->out));
}

static void say(struct line *l, struct str bytes)
{
    assert_int_equal(fd_write(l->worker, bytes), bytes.len);
}

static int open_case(void **state)
{
    (void)state;
    memset(&app, 0, sizeof app);
    memset(&client, 0, sizeof client);
    client.may_take = 10000;
    app.endpoint = (struct endpoint){.name = STR("test"), .ops = &OPS};
    conf = (struct lsapi_backend_conf){
        .endpoint = &app.endpoint,
        .request_ms = 60000,
        .response_buffer_bytes = BUFFER_SIZE,
    };
    return 0;
}

static int close_case(void **state)
{
    (void)state;
    if (client.ex)
        end_exchange();
    buf_done(&client.body);
    for (size_t i = 0; i < app.line_count; i++) {
        struct line *l = &app.lines[i];
        assert_true(!l->taken || l->released); // no conversation forgets its slot
        loop_watch_stop(&l->slot.watch);
        fd_close(&l->slot.fd);
        fd_close(&l->worker);
    }
    return 0;
}

static void assert_body(const char *text)
{
    assert_true(str_eq(buf_view(&client.body), str_c(text)));
}

static struct script ordinary_answer(void)
{
    struct script s = script_new();
    put_packet(&s, LSAPI_REQ_RECEIVED, "");
    put_head(&s, 201, "Content-Type", "text/plain");
    put_packet(&s, LSAPI_RESP_STREAM, "Hello, ");
    put_packet(&s, LSAPI_STDERR_STREAM, "a notice\nand half");
    put_packet(&s, LSAPI_RESP_STREAM, "world");
    put_packet(&s, LSAPI_RESP_END, "");
    return s;
}

static void a_whole_answer_frees_the_slot_at_once(void **state)
{
    (void)state;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    struct script s = ordinary_answer();
    say(l, wr_view(&s.out));
    stage_turn(&stage, 0);
    assert_true(client.responded && l->released);
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(client.status, 201);
    assert_int_equal(client.length, 12); // known, so that no chunks are needed
    turn();
    assert_int_equal(client.end, BODY_END);
    assert_body("Hello, world");
    assert_int_equal(client.ex->facts.worker_pid, 4242);
    mem_free(s.room);
}

static void an_answer_in_single_bytes(void **state)
{
    (void)state;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    struct script s = ordinary_answer();
    for (size_t i = 0; i < s.out.len; i++) {
        say(l, str_n(s.room + i, 1));
        turn();
    }
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(client.status, 201);
    assert_int_equal(client.length, -1);
    assert_int_equal(client.end, BODY_END);
    assert_body("Hello, world");
    mem_free(s.room);
}

static void an_upload_comes_whole(void **state)
{
    (void)state;
    char *upload = mem_alloc(BIG_BYTES + 1);
    memset(upload, 'u', BIG_BYTES);
    struct buf got = {0};
    struct line *l = add_line();
    ask("POST", upload);
    bool first = true;
    for (int i = 0; i < TURNS_MAX && buf_len(&got) < BIG_BYTES; i++) {
        turn_for(100); // the temporary file is written by another thread
        if (first && app.lines[0].taken) {
            read_request(l, &got);
            first = false;
            continue;
        }
        static char room[256 * 1024];
        ssize_t count = first ? 0 : fd_read(l->worker, room, sizeof room);
        if (count > 0)
            assert_true(buf_put(&got, str_n(room, (size_t)count)));
    }
    assert_true(str_eq(buf_view(&got), str_c(upload)));
    struct script s = ordinary_answer();
    say(l, wr_view(&s.out));
    turns();
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(client.end, BODY_END);
    buf_done(&got);
    mem_free(s.room);
    mem_free(upload);
}

static void nothing_of_an_upload_is_read_for_a_full_queue(void **state)
{
    (void)state;
    app.is_full = true;
    ask("POST", "upload");
    turns();
    assert_int_equal(client.status, 503);
    struct body_chunk chunk;
    assert_int_equal(body_pull(client.ex->req.body, 100, &chunk), BODY_DATA);
    assert_true(str_eq(chunk.bytes, STR("upload")));
}

static void an_answer_before_the_upload_was_read(void **state)
{
    (void)state;
    char *upload = mem_alloc(BIG_BYTES + 1);
    memset(upload, 'u', BIG_BYTES);
    struct line *l = add_line();
    ask("POST", upload);
    for (int i = 0; i < TURNS_MAX && !l->taken; i++)
        turn_for(100);
    struct script s = ordinary_answer();
    say(l, wr_view(&s.out));
    turns();
    assert_int_equal(client.status, 201);
    assert_int_equal(l->outcome, SLOT_BROKEN); // the rest would be taken for a request
    mem_free(s.room);
    mem_free(upload);
}

// A worker that does something bad with the one request it gets.
struct misdeed {
    const char *what;
    void (*put)(struct script *s);
    bool reads;  // the request
    bool closes; // its end
    int status;
    enum slot_outcome outcome;
};

static void put_nothing(struct script *s)
{
    (void)s;
}

static void put_garbage(struct script *s)
{
    wr_bytes(&s->out, STR("HTTP/1.1 200 OK\r\n\r\n"));
}

static void put_half_head(struct script *s)
{
    put_head(s, 200, "X-A", "1");
    s->out.len -= 3;
}

static void put_body_first(struct script *s)
{
    put_packet(s, LSAPI_RESP_STREAM, "x");
}

static void put_only_end(struct script *s)
{
    put_packet(s, LSAPI_RESP_END, "");
}

static void put_two_lengths(struct script *s)
{
    struct lsapi_pair lines[] = {{STR("Content-Length"), STR("1")},
                                 {STR("Content-Length"), STR("2")}};
    assert_true(lsapi_put_head(&s->out, 200, lines, 2));
}

static void put_farewell(struct script *s)
{
    struct script answer = ordinary_answer();
    wr_bytes(&s->out, wr_view(&answer.out));
    mem_free(answer.room);
    put_packet(s, LSAPI_CONN_CLOSE, "");
}

static const struct misdeed MISDEEDS[] = {
    {"dies after reading", put_nothing, true, true, 502, SLOT_BROKEN},
    {"sends something else", put_garbage, true, false, 502, SLOT_BROKEN},
    {"dies in the head", put_half_head, true, true, 502, SLOT_BROKEN},
    {"sends a body first", put_body_first, true, false, 502, SLOT_BROKEN},
    {"sends no head", put_only_end, true, false, 502, SLOT_BROKEN},
    {"contradicts itself", put_two_lengths, true, false, 502, SLOT_BROKEN},
    {"says farewell", put_farewell, true, true, 201, SLOT_DETACHED},
};

static void misdeeds(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(MISDEEDS); i++) {
        const struct misdeed *m = &MISDEEDS[i];
        open_case(state);
        struct line *l = add_line();
        struct line *other = add_line();
        ask("GET", NULL);
        if (m->reads)
            read_request(l, NULL);
        struct script s = script_new();
        m->put(&s);
        say(l, wr_view(&s.out));
        if (m->closes)
            fd_close(&l->worker);
        turns();
        if (client.status != m->status || l->outcome != m->outcome)
            fail_msg("%s: status %d, outcome %d", m->what, client.status, (int)l->outcome);
        assert_false(other->taken); // what a worker has taken is not tried on another one
        mem_free(s.room);
        close_case(state);
    }
    open_case(state);
}

static void a_request_that_was_not_taken_is_tried_again(void **state)
{
    (void)state;
    struct line *dead = add_line();
    struct line *closed = add_line();
    struct line *good = add_line();
    fd_close(&closed->worker); // the write fails
    ask("GET", NULL);
    fd_close(&dead->worker); // dies with the request unread
    turns();
    assert_int_equal(dead->outcome, SLOT_BROKEN);
    assert_int_equal(closed->outcome, SLOT_BROKEN);
    read_request(good, NULL);
    struct script s = ordinary_answer();
    say(good, wr_view(&s.out));
    turns();
    assert_int_equal(client.status, 201);
    assert_int_equal(good->outcome, SLOT_REUSE);
    mem_free(s.room);
}

static void a_farewell_that_crosses_the_request(void **state)
{
    (void)state;
    struct line *leaving = add_line();
    struct line *good = add_line();
    struct script s = script_new();
    put_packet(&s, LSAPI_CONN_CLOSE, "");
    ask("GET", NULL);
    read_request(leaving, NULL); // lost in its buffer
    say(leaving, wr_view(&s.out));
    turns();
    assert_int_equal(leaving->outcome, SLOT_BROKEN);
    assert_true(good->taken);
    read_request(good, NULL);
    mem_free(s.room);
}

static void a_body_that_is_cut(void **state)
{
    (void)state;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    struct script s = script_new();
    put_head(&s, 200, "Content-Type", "text/plain");
    put_packet(&s, LSAPI_RESP_STREAM, "half");
    say(l, wr_view(&s.out));
    turns();
    assert_int_equal(client.status, 200);
    fd_close(&l->worker);
    turns();
    assert_int_equal(client.end, BODY_FAIL); // must not look complete
    assert_body("half");
    assert_int_equal(l->outcome, SLOT_BROKEN);
    mem_free(s.room);
}

static void promised_lengths(void **state)
{
    static const struct {
        const char *promise;
        const char *body; // the client's; the worker sends "12345"
        enum body_result end;
    } CASES[] = {{"5", "12345", BODY_END}, {"3", "123", BODY_END}, {"9", "12345", BODY_FAIL}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        open_case(state);
        struct line *l = add_line();
        ask("GET", NULL);
        read_request(l, NULL);
        struct script s = script_new();
        put_head(&s, 200, "Content-Length", CASES[i].promise);
        put_packet(&s, LSAPI_RESP_STREAM, "123");
        put_packet(&s, LSAPI_RESP_STREAM, "45");
        put_packet(&s, LSAPI_RESP_END, "");
        say(l, wr_view(&s.out));
        turns();
        assert_int_equal(client.length, CASES[i].promise[0] - '0');
        assert_int_equal(client.end, CASES[i].end);
        assert_body(CASES[i].body);
        assert_int_equal(l->outcome, SLOT_REUSE);
        mem_free(s.room);
        close_case(state);
    }
    open_case(state);
}

static void answers_without_a_body(void **state)
{
    static const struct {
        const char *method;
        int status;
        int64_t length;
    } CASES[] = {{"HEAD", 200, 77}, {"GET", 204, -2}, {"GET", 304, -2}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        open_case(state);
        struct line *l = add_line();
        ask(CASES[i].method, NULL);
        read_request(l, NULL);
        struct script s = script_new();
        put_head(&s, CASES[i].status, "Content-Length", "77");
        put_packet(&s, LSAPI_RESP_STREAM, "dropped");
        put_packet(&s, LSAPI_RESP_END, "");
        say(l, wr_view(&s.out));
        turns();
        assert_int_equal(client.status, CASES[i].status);
        assert_int_equal(client.length, CASES[i].length);
        assert_int_equal(l->outcome, SLOT_REUSE);
        mem_free(s.room);
        close_case(state);
    }
    open_case(state);
}

static void put_big_answer(struct script *s)
{
    put_head(s, 200, "Content-Type", "text/plain");
    static char piece[LSAPI_STREAM_BYTES_MAX];
    memset(piece, 'b', sizeof piece);
    for (size_t i = 0; i < BIG_BYTES / sizeof piece; i++) {
        lsapi_put_packet(&s->out, LSAPI_RESP_STREAM, sizeof piece);
        wr_bytes(&s->out, str_n(piece, sizeof piece));
    }
    put_packet(s, LSAPI_RESP_END, "");
}

// Writes what the socket takes; true when all is written.
static bool push(struct line *l, struct str *left)
{
    ssize_t sent = fd_write(l->worker, *left);
    if (sent > 0)
        *left = str_skip(*left, (size_t)sent);
    return left->len == 0;
}

static void a_slow_client_stops_the_worker(void **state)
{
    (void)state;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    struct script s = script_new();
    put_big_answer(&s);
    struct str left = wr_view(&s.out);
    for (int i = 0; i < 50; i++) { // the client takes nothing
        (void)push(l, &left);
        stage_turn(&stage, 0);
    }
    assert_true(client.responded && !l->released);
    assert_true(left.len > BIG_BYTES / 4); // bounded: the worker had to stop
    for (int i = 0; i < TURNS_MAX && !l->released; i++) {
        (void)push(l, &left);
        turn();
    }
    turns();
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_int_equal(client.end, BODY_END);
    assert_int_equal(buf_len(&client.body), BIG_BYTES);
    mem_free(s.room);
}

// An answer of BIG_BYTES of which each byte tells where it stands.
static struct script telling_answer(const char *type)
{
    static char piece[10000];
    struct script s = script_new();
    put_head(&s, 200, "Content-Type", type);
    for (size_t at = 0; at < BIG_BYTES; at += sizeof piece) {
        size_t len = BIG_BYTES - at < sizeof piece ? BIG_BYTES - at : sizeof piece;
        for (size_t i = 0; i < len; i++)
            piece[i] = (char)((at + i) % 251);
        lsapi_put_packet(&s.out, LSAPI_RESP_STREAM, len);
        wr_bytes(&s.out, str_n(piece, len));
    }
    put_packet(&s, LSAPI_RESP_END, "");
    return s;
}

static void assert_telling_body(void)
{
    assert_int_equal(client.end, BODY_END);
    assert_int_equal(buf_len(&client.body), BIG_BYTES);
    const char *bytes = buf_view(&client.body).ptr;
    for (size_t i = 0; i < BIG_BYTES; i++)
        if (bytes[i] != (char)(i % 251))
            fail_msg("byte %zu is wrong", i);
}

// Writes the answer for a client that reads nothing until the worker is free, or for `turn_count`
// turns.
static void say_to_nobody(struct line *l, struct str *left, int turn_count)
{
    client.may_take = 0;
    for (int i = 0; i < turn_count && !l->released; i++) {
        (void)push(l, left);
        turn_for(1);
    }
}

static void take_rest(struct line *l, struct str *left, size_t at_once)
{
    client.may_take = at_once;
    take_body();
    for (int i = 0; i < TURNS_MAX && client.end == BODY_WAIT; i++) {
        (void)push(l, left);
        turn_for(1);
    }
    turns();
}

static void a_file_frees_the_worker(void **state)
{
    (void)state;
    conf.response_spool_bytes = 4 * BIG_BYTES;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    struct script s = telling_answer("text/plain");
    struct str left = wr_view(&s.out);
    say_to_nobody(l, &left, TURNS_MAX);
    assert_true(l->released);
    assert_int_equal(l->outcome, SLOT_REUSE);
    assert_true(spool_file_total() > BIG_BYTES / 2);
    take_rest(l, &left, 30000);
    assert_telling_body();
    assert_true(client.file_bytes > BIG_BYTES / 2);
    end_exchange();
    assert_int_equal(spool_file_total(), 0);
    mem_free(s.room);
}

// What keeps an answer out of a file, or stops the file: then the worker waits, nothing is lost.
static void when_there_is_no_file(void **state)
{
    static struct spool_quota quota;

    static const struct {
        const char *name, *type, *directives;
        int64_t file_max, quota_max;
        bool has_file; // for the start of it
    } CASES[] = {
        {"an event stream", "text/event-stream", "spool_dir $D;", 4 * BIG_BYTES, 0, false},
        {"response_spool_max", "text/plain", "spool_dir $D;", BIG_BYTES / 2, 0, true},
        {"response_spool_max 0", "text/plain", "spool_dir $D;", 0, 0, false},
        {"spool_quota", "text/plain", "spool_dir $D;", 4 * BIG_BYTES, BIG_BYTES / 2, true},
        {"spool_max", "text/plain", "spool_dir $D; spool_max 400k;", 4 * BIG_BYTES, 0, true},
        {"no directory", "text/plain", "spool_dir /nowhere;", 4 * BIG_BYTES, 0, false},
        {"a full disk", "text/plain", "spool_dir /proc;", 4 * BIG_BYTES, 0, false},
    };

    close_case(state);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        open_case(state);
        char config[256];
        (void)snprintf(config, sizeof config, "site _ { } %s", CASES[i].directives);
        stage_config(&stage, config);
        conf.response_spool_bytes = CASES[i].file_max;
        conf.spool_share = (struct spool_share){&quota, CASES[i].quota_max};
        struct line *l = add_line();
        ask("GET", NULL);
        read_request(l, NULL);
        struct script s = telling_answer(CASES[i].type);
        struct str left = wr_view(&s.out);
        say_to_nobody(l, &left, 100);
        if (l->released || (spool_file_total() > 0) != CASES[i].has_file)
            fail_msg("%s: %lld bytes in files", CASES[i].name, (long long)spool_file_total());
        take_rest(l, &left, 10000);
        assert_telling_body();
        assert_int_equal(l->outcome, SLOT_REUSE);
        end_exchange();
        assert_int_equal(spool_file_total(), 0);
        assert_int_equal(quota.used_bytes, 0);
        mem_free(s.room);
        close_case(state);
    }
    stage_config(&stage, CONFIG);
    open_case(state);
}

static void a_client_that_leaves_a_file(void **state)
{
    (void)state;
    conf.response_spool_bytes = 4 * BIG_BYTES;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    struct script s = telling_answer("text/plain");
    struct str left = str_slice(wr_view(&s.out), 0, BIG_BYTES / 2);
    for (int i = 0; i < TURNS_MAX && spool_file_total() == 0; i++)
        say_to_nobody(l, &left, 1);
    end_exchange();
    assert_int_equal(l->outcome, SLOT_BROKEN);
    for (int i = 0; i < TURNS_MAX && spool_file_total() > 0; i++)
        stage_turn(&stage, 1); // a write may be under way
    assert_int_equal(spool_file_total(), 0);
    mem_free(s.room);
}

static void at_any_pace(void **state)
{
    close_case(state);
    for (unsigned seed = 1; seed <= 12; seed++) {
        open_case(state);
        conf.response_spool_bytes = seed % 3 ? 4 * BIG_BYTES : 200 * 1024;
        struct line *l = add_line();
        ask("GET", NULL);
        read_request(l, NULL);
        struct script s = telling_answer("text/plain");
        struct str left = wr_view(&s.out);
        for (unsigned i = 0; i < 40 && !l->released; i++) {
            say_to_nobody(l, &left, (int)((i * 7 + seed) % 11) + 1);
            for (unsigned piece = (i * 5 + seed) % 9; piece > 0 && client.responded; piece--) {
                struct body_chunk chunk;
                client.ex->resp.body->on_more = NULL;
                if (body_pull(client.ex->resp.body, 9000, &chunk) == BODY_DATA)
                    keep(&chunk);
            }
        }
        client.ex->resp.body->on_more = on_more;
        take_rest(l, &left, 50000);
        assert_telling_body();
        end_exchange();
        mem_free(s.room);
        close_case(state);
    }
    open_case(state);
}

// A body that the test sends piece by piece.
static struct {
    struct body body;
    struct str there;
    bool ended, failed;
} sent;

static enum body_result pull_sent(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    (void)body;
    if (sent.failed)
        return BODY_FAIL;
    if (!sent.there.len)
        return sent.ended ? BODY_END : BODY_WAIT;
    size_t len = max_bytes < sent.there.len ? (size_t)max_bytes : sent.there.len;
    *out = (struct body_chunk){.bytes = str_n(sent.there.ptr, len), .file = FD_NONE};
    sent.there = str_skip(sent.there, len);
    return BODY_DATA;
}

static void close_sent(struct body *body)
{
    (void)body;
}

static void ask_streaming(struct line **out_line)
{
    static const struct body_ops OPS_SENT = {pull_sent, close_sent};
    memset(&sent, 0, sizeof sent);
    sent.body = (struct body){.ops = &OPS_SENT, .length = 10};
    conf.stream_request = true;
    *out_line = add_line();
    struct exchange *ex = exchange_new(&stage.thread, &peer, &FRONT, NULL);
    client.ex = ex;
    client.end = BODY_WAIT;
    ex->req.method_text = STR("POST");
    ex->req.method = HTTP_POST;
    ex->req.version = 11;
    ex->req.path = ex->req.target = STR("/a.php");
    ex->req.line = STR("POST /a.php HTTP/1.1");
    ex->req.has_body = true;
    ex->req.content_length = 10;
    ex->req.body = &sent.body;
    exchange_start(ex);
}

static void a_body_that_is_passed_on_as_it_comes(void **state)
{
    (void)state;
    struct line *l;
    struct buf got = {0};
    char room[64];
    conf.request_ms = 5; // does not count while the worker waits for the client
    ask_streaming(&l);
    read_request(l, &got);
    for (int i = 0; i < 20; i++)
        stage_turn(&stage, 1);
    assert_false(client.responded);
    sent.there = STR("01234");
    body_more(&sent.body);
    assert_int_equal(fd_read(l->worker, room, sizeof room), 5);
    sent.there = STR("56789");
    sent.ended = true;
    body_more(&sent.body);
    assert_int_equal(fd_read(l->worker, room, sizeof room), 5);
    assert_memory_equal(room, "56789", 5);
    struct script s = ordinary_answer();
    say(l, wr_view(&s.out));
    turns();
    assert_int_equal(client.status, 201);
    assert_int_equal(l->outcome, SLOT_REUSE);
    buf_done(&got);
    mem_free(s.room);
}

static void a_body_that_breaks_off_on_its_way(void **state)
{
    (void)state;
    struct line *l;
    ask_streaming(&l);
    sent.failed = true;
    body_more(&sent.body);
    turns();
    assert_int_equal(client.status, 400);
    assert_int_equal(l->outcome, SLOT_BROKEN);
}

static void a_streamed_body_is_not_sent_twice(void **state)
{
    (void)state;
    struct line *l;
    (void)add_line();
    ask_streaming(&l);
    struct line *taken = app.lines[0].taken ? &app.lines[0] : l;
    fd_close(&taken->worker);
    turns();
    assert_int_equal(client.status, 502);
}

static void request_time(void **state)
{
    (void)state;
    conf.request_ms = 5;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    for (int i = 0; i < TURNS_MAX && !client.responded; i++)
        stage_turn(&stage, -1); // the timer ends it
    assert_int_equal(client.status, 504);
    assert_int_equal(l->outcome, SLOT_STUCK);
    assert_int_equal(stage_metric(&stage, "request_timeouts"), 1);
}

static void a_client_that_leaves_while_waiting(void **state)
{
    (void)state;
    ask("GET", NULL);
    assert_non_null(app.waiting);
    end_exchange();
    assert_true(app.cancelled);
}

static void a_client_that_leaves_while_served(void **state)
{
    (void)state;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    end_exchange();
    assert_int_equal(l->outcome, SLOT_BROKEN);
}

static void an_answer_that_nobody_wants_is_read_to_its_end(void **state)
{
    (void)state;
    conf.abort = LSAPI_BACKEND_FINISH;
    struct line *l = add_line();
    ask("GET", NULL);
    read_request(l, NULL);
    struct script s = script_new();
    put_big_answer(&s);
    struct str left = wr_view(&s.out);
    for (int i = 0; i < 50; i++) {
        (void)push(l, &left);
        stage_turn(&stage, 0);
    }
    assert_false(l->released); // stopped by the client, who leaves now
    end_exchange();
    for (int i = 0; i < TURNS_MAX && !l->released; i++) {
        (void)push(l, &left);
        stage_turn(&stage, 0);
    }
    assert_int_equal(left.len, 0);
    assert_int_equal(l->outcome, SLOT_REUSE);
    mem_free(s.room);
}

static void no_slot(void **state)
{
    (void)state;
    long long before = stage_metric(&stage, "queue_full");
    ask("GET", NULL);
    struct ticket *t = app.waiting;
    app.waiting = NULL;
    t->on_failed(t, ENDPOINT_QUEUE_FULL, STR("The queue is full (queue 2)."));
    assert_int_equal(client.status, 503);
    assert_non_null(header_list_find_id(&client.ex->resp.headers, HEADER_RETRY_AFTER));
    assert_true(str_eq(client.ex->facts.cause, STR("The queue is full (queue 2).")));
    assert_int_equal(stage_metric(&stage, "queue_full"), before + 1);
}

static void a_packet_too_large(void **state)
{
    (void)state;
    struct line *l = add_line();
    struct exchange *ex = exchange_new(&stage.thread, &peer, &FRONT, NULL);
    static char value[70000];
    memset(value, 'v', sizeof value);
    client.ex = ex;
    ex->req.method = HTTP_GET;
    ex->req.method_text = STR("GET");
    ex->req.path = ex->req.target = STR("/");
    header_list_add(&ex->req.headers, STR("X-Long"), str_n(value, sizeof value));
    exchange_start(ex);
    assert_int_equal(client.status, 431);
    assert_int_equal(l->outcome, SLOT_REUSE); // nothing was sent
}

int main(void)
{
    static struct module *const MODULES[] = {&tested};
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    stage_config(&stage, CONFIG);
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_case, close_case)
    static const struct CMUnitTest TESTS[] = {
        CASE(a_whole_answer_frees_the_slot_at_once),
        CASE(an_answer_in_single_bytes),
        CASE(an_upload_comes_whole),
        CASE(nothing_of_an_upload_is_read_for_a_full_queue),
        CASE(an_answer_before_the_upload_was_read),
        CASE(misdeeds),
        CASE(a_request_that_was_not_taken_is_tried_again),
        CASE(a_farewell_that_crosses_the_request),
        CASE(a_body_that_is_cut),
        CASE(promised_lengths),
        CASE(answers_without_a_body),
        CASE(a_slow_client_stops_the_worker),
        CASE(a_file_frees_the_worker),
        CASE(when_there_is_no_file),
        CASE(a_client_that_leaves_a_file),
        CASE(at_any_pace),
        CASE(a_body_that_is_passed_on_as_it_comes),
        CASE(a_body_that_breaks_off_on_its_way),
        CASE(a_streamed_body_is_not_sent_twice),
        CASE(request_time),
        CASE(a_client_that_leaves_while_waiting),
        CASE(a_client_that_leaves_while_served),
        CASE(an_answer_that_nobody_wants_is_read_to_its_end),
        CASE(no_slot),
        CASE(a_packet_too_large),
    };
    int failed = cmocka_run_group_tests(TESTS, NULL, NULL);
    stage_close(&stage);
    return failed;
}
