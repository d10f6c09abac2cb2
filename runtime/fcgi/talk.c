// SPDX-License-Identifier: Apache-2.0
// talk -- see talk.h. The request is written while the answer is read: a program may answer before
// it has read a body, and both sides would wait for ever.
#include "talk.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "os/fd.h"
#include "wire/fcgi.h"

#define PIECE_BYTES    16384
#define PARAMS_MAX     ((size_t)1024 * 1024)
#define HEAD_BYTES_MAX ((size_t)128 * 1024)
#define NAME_BYTES     256

struct talk {
    int fd;
    struct godwit_app_request *req;
    struct buf out; // to the program, not written yet
    size_t out_at;
    bool body_sent;
    int program; // pidfd; FD_NONE: it has ended
    struct fcgi_resp in;
    struct buf head; // CGI header lines, until they end
    bool head_done, ended, left;
    const char *why;
};

static struct str str_of(struct godwit_app_text text)
{
    return str_n(text.ptr, text.len);
}

// The variable of a header that has no known one.
static struct str derive_name(struct str name, char room[static NAME_BYTES])
{
    static const char PREFIX[] = "HTTP_";
    size_t len = sizeof PREFIX - 1;
    memcpy(room, PREFIX, len);
    for (size_t i = 0; i < name.len && len < NAME_BYTES; i++)
        room[len++] = name.ptr[i] == '-' ? '_' : (char)toupper((unsigned char)name.ptr[i]);
    return str_n(room, len);
}

static bool put_variables(struct talk *t, struct buf *pairs)
{
    struct godwit_app_pair pair;
    struct godwit_app_header header;
    char room[NAME_BYTES];
    // php-cgi wants to be told that a server has looked at the address.
    bool ok = fcgi_put_pair(pairs, STR("REDIRECT_STATUS"), STR("200"));
    for (size_t at = 0; ok && godwit_app_env_next(t->req, &at, &pair);)
        ok = fcgi_put_pair(pairs, str_of(pair.name), str_of(pair.value));
    for (size_t at = 0; ok && godwit_app_header_next(t->req, &at, &header);) {
        struct str name = str_of(header.cgi_name);
        if (!name.len)
            name = derive_name(str_of(header.name), room);
        ok = fcgi_put_pair(pairs, name, str_of(header.value));
    }
    return ok;
}

static bool put_request(struct talk *t)
{
    char room[FCGI_BEGIN_BYTES];
    struct wr w = {.ptr = room, .size = sizeof room};
    struct buf pairs = {.ceiling_bytes = PARAMS_MAX};
    fcgi_put_begin(&w);
    bool ok = put_variables(t, &pairs) && buf_put(&t->out, wr_view(&w))
              && fcgi_put_params(&t->out, buf_view(&pairs));
    buf_done(&pairs);
    return ok;
}

// The next piece of the body, or its end, behind what is to be sent.
static void put_body(struct talk *t)
{
    char room[FCGI_HEAD_BYTES + PIECE_BYTES];
    struct wr w = {.ptr = room, .size = sizeof room};
    long count = godwit_app_read(t->req, room + FCGI_HEAD_BYTES, PIECE_BYTES);
    if (count < 0) {
        t->left = true;
        return;
    }
    fcgi_put_head(&w, FCGI_STDIN, (size_t)count);
    t->body_sent = count == 0;
    if (!buf_put(&t->out, str_n(room, FCGI_HEAD_BYTES + (size_t)count)))
        t->why = "it does not read the request's body";
}

static void send_some(struct talk *t)
{
    struct str rest = str_skip(buf_view(&t->out), t->out_at);
    ssize_t count = fd_write(t->fd, rest);
    if (count == -EAGAIN)
        return;
    if (count < 0) { // it may have answered before it went: reading tells
        t->body_sent = true;
        count = (ssize_t)rest.len;
    }
    t->out_at += (size_t)count;
    if (t->out_at == buf_len(&t->out)) {
        buf_done(&t->out);
        t->out_at = 0;
    }
}

// ---- the answer

// Where the header lines end and the body begins; 0: not yet.
static size_t head_end(struct str bytes)
{
    for (size_t i = 0; i + 1 < bytes.len; i++) {
        if (bytes.ptr[i] != '\n')
            continue;
        if (bytes.ptr[i + 1] == '\n')
            return i + 2;
        if (bytes.ptr[i + 1] == '\r' && i + 2 < bytes.len && bytes.ptr[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

static void take_line(struct talk *t, struct str line)
{
    uint64_t status;
    if (str_ends(line, STR("\r")))
        line.len--;
    if (!line.len)
        return;
    if (str_starts_nocase(line, STR("Status:"))) {
        struct str value = str_trim(str_skip(line, 7));
        if (str_to_u64(str_cut(&value, ' '), &status))
            godwit_app_status(t->req, status <= 999 ? (int)status : 0);
    }
    (void)godwit_app_header_line(t->req, (struct godwit_app_text){line.ptr, line.len});
}

static void take_head(struct talk *t)
{
    struct str bytes = buf_view(&t->head);
    size_t end = head_end(bytes);
    if (!end)
        return;
    struct str lines = str_slice(bytes, 0, end);
    godwit_app_status(t->req, 200); // php-cgi says any other, also that of a Location
    while (lines.len)
        take_line(t, str_cut(&lines, '\n'));
    t->head_done = true;
    struct str body = str_skip(bytes, end);
    t->left = godwit_app_write(t->req, body.ptr, body.len) < 0;
    buf_done(&t->head);
}

static void on_stdout(struct talk *t, struct str bytes)
{
    if (t->head_done) {
        t->left = godwit_app_write(t->req, bytes.ptr, bytes.len) < 0;
        return;
    }
    if (!buf_put(&t->head, bytes))
        t->why = "its header lines are too long";
    else
        take_head(t);
}

static void receive(struct talk *t)
{
    char room[PIECE_BYTES];
    ssize_t count = fd_read(t->fd, room, sizeof room);
    if (count == -EAGAIN)
        return;
    if (count <= 0) {
        t->why = "it broke off in the middle of an answer";
        return;
    }
    struct str in = str_n(room, (size_t)count);
    while (!t->why && !t->ended && !t->left) {
        struct fcgi_event event = fcgi_resp_next(&t->in, &in);
        switch (event.type) {
        case FCGI_EVENT_AGAIN:
            // What has come is not held back: the program decides when it flushes.
            if (t->head_done && godwit_app_flush(t->req) < 0)
                t->left = true;
            return;
        case FCGI_EVENT_STDOUT:
            on_stdout(t, event.bytes);
            break;
        case FCGI_EVENT_STDERR:
            godwit_app_log(t->req, event.bytes.ptr, event.bytes.len);
            break;
        case FCGI_EVENT_END:
            t->ended = true;
            break;
        case FCGI_EVENT_FAILED:
            t->why = event.why;
            break;
        }
    }
}

// The program has ended: what it has written is still read. A child of it that has the connection
// too says nothing more.
static void on_program_end(struct talk *t)
{
    t->program = FD_NONE;
    t->body_sent = true;
    t->out_at = 0;
    buf_done(&t->out);
    (void)shutdown(t->fd, SHUT_RDWR);
}

static void exchange(struct talk *t)
{
    while (!t->why && !t->ended && !t->left) {
        bool has_out = t->out_at < buf_len(&t->out);
        if (!has_out && !t->body_sent) {
            put_body(t);
            continue;
        }
        struct pollfd entries[] = {{.fd = t->fd, .events = POLLIN},
                                   {.fd = t->program, .events = POLLIN}};
        if (has_out)
            entries[0].events |= POLLOUT;
        if (poll(entries, ARRAY_LEN(entries), -1) < 0)
            continue; // a signal
        if (entries[0].revents & POLLOUT)
            send_some(t);
        if (entries[0].revents & (POLLIN | POLLHUP | POLLERR))
            receive(t);
        if (entries[1].revents)
            on_program_end(t);
    }
}

enum talk_result talk_run(int fd, int program, struct godwit_app_request *req, const char **out_why)
{
    struct talk t = {
        .fd = fd, .program = program, .req = req, .head = {.ceiling_bytes = HEAD_BYTES_MAX}};
    if (!put_request(&t))
        t.why = "the request's variables are too long";
    if (!t.why && fd_set_nonblock(fd, true) < 0)
        t.why = "its connection cannot be used";
    exchange(&t);
    if (t.ended && !t.head_done)
        t.why = "it ended its answer without a head";
    buf_done(&t.out);
    buf_done(&t.head);
    if (t.left)
        return TALK_LEFT;
    *out_why = t.why;
    return t.why ? TALK_FAILED : TALK_DONE;
}
