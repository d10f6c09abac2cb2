// SPDX-License-Identifier: Apache-2.0
// ask -- see ask.h.
#include "ask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/assert.h"
#include "os/fd.h"

static void respond(struct exchange *ex)
{
    struct ask *a = ex->front_data;
    a->answered = true;
}

static const struct front_ops OPS = {.respond = respond};
static const struct peer PEER = {.ip = "192.0.2.1", .local_ip = "192.0.2.2"};

void ask_begin(struct ask *a, struct stage *stage, enum http_method method, const char *path,
               const char *headers)
{
    *a = (struct ask){0};
    struct exchange *ex = exchange_new(&stage->thread, &PEER, &OPS, a);
    struct request *req = &ex->req;
    a->ex = ex;
    req->method = method;
    req->method_text = method_name(method);
    struct str rest = arena_dup(&ex->arena, str_c(path));
    req->target = rest;
    req->has_query = str_find(rest, '?') < rest.len;
    req->path = str_cut(&rest, '?');
    req->query = rest;
    req->line = arena_fmt(&ex->arena, "%.*s %s HTTP/1.1", STR_ARG(req->method_text), path);
    req->version = 11;
    req->host = STR("a.example");
    struct str lines = headers ? arena_dup(&ex->arena, str_c(headers)) : (struct str){0};
    while (lines.len > 0) {
        struct str line = str_cut(&lines, '\n');
        struct str name = str_cut(&line, ':');
        header_list_add(&req->headers, name, str_trim(line));
    }
    exchange_start(ex);
}

static void read_file(struct ask *a, const struct body_chunk *chunk)
{
    char room[4096];
    uint64_t left = chunk->file_bytes;
    off_t at = chunk->offset;
    while (left > 0) {
        ssize_t n = pread(chunk->file, room, left < sizeof room ? (size_t)left : sizeof room, at);
        assert_true(n > 0);
        assert_true(buf_put(&a->body, str_n(room, (size_t)n)));
        left -= (uint64_t)n;
        at += n;
    }
}

static void read_body(struct ask *a, struct body *body)
{
    struct body_chunk chunk;
    while (body && body_pull(body, 10000, &chunk) == BODY_DATA) {
        if (chunk.file != FD_NONE)
            read_file(a, &chunk);
        else
            assert_true(buf_put(&a->body, chunk.bytes));
    }
}

void ask_end(struct ask *a)
{
    struct exchange *ex = a->ex;
    size_t len = 0;
    if (a->answered) {
        a->status = ex->resp.status;
        for (size_t i = 0; i < ex->resp.headers.count; i++) {
            const struct header *h = &ex->resp.headers.items[i];
            len += (size_t)snprintf(a->headers + len, sizeof a->headers - len, "%.*s: %.*s\n",
                                    STR_ARG(h->name), STR_ARG(h->value));
            assert_true(len < sizeof a->headers);
        }
        if (ex->req.method != HTTP_HEAD)
            read_body(a, ex->resp.body);
    }
    exchange_end(ex);
    a->ex = NULL;
}

int ask(struct ask *a, struct stage *stage, const char *path, const char *headers)
{
    ask_begin(a, stage, HTTP_GET, path, headers);
    ask_end(a);
    return a->status;
}

const char *ask_header(const struct ask *a, const char *name)
{
    static char value[1024];
    struct str rest = str_c(a->headers);
    value[0] = '\0';
    while (rest.len > 0) {
        struct str line = str_cut(&rest, '\n');
        if (str_eq_nocase(str_cut(&line, ':'), str_c(name)))
            (void)snprintf(value, sizeof value, "%.*s", STR_ARG(str_trim(line)));
    }
    return value;
}

const char *ask_body(struct ask *a)
{
    static char text[1 << 17];
    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(buf_view(&a->body)));
    return text;
}

void ask_done(struct ask *a)
{
    buf_done(&a->body);
}
