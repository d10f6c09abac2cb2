// SPDX-License-Identifier: Apache-2.0
// access_log_line -- see access_log_line.h.
#include "feature/access_log_line.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/escape.h"

#define VALUE_BYTES_MAX ((size_t)2048) // of one value from outside; the rest is cut

// A thread's room for lines, and the text of the second that was needed last.
struct room {
    struct buf line;
    int64_t second;
    char date[32]; // 30/Nov/2026:18:20:01 +0000
};

static const char ROOM_OWNER;

static void free_room(void *data)
{
    struct room *room = data;
    buf_done(&room->line);
    mem_free(room);
}

static struct room *room_of(struct thread *t)
{
    struct room *room = thread_attached(t, &ROOM_OWNER);
    if (!room) {
        room = mem_new(struct room);
        room->second = INT64_MIN;
        thread_attach(t, &ROOM_OWNER, room, free_room);
    }
    buf_take(&room->line, buf_len(&room->line));
    return room;
}

// The line has no ceiling, so nothing here can be refused.
static void put(struct buf *b, struct str s)
{
    bool ok = buf_put(b, s);
    ASSERT(ok);
}

static void put_quoted(struct buf *b, struct str s)
{
    bool ok = escape_log(b, str_slice(s, 0, VALUE_BYTES_MAX));
    ASSERT(ok);
}

static void put_uint(struct buf *b, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    put(b, str_n(digits + at, sizeof digits - at));
}

static unsigned status_of(const struct exchange *ex)
{
    return ex->resp.status > 0 ? (unsigned)ex->resp.status : ACCESS_LOG_LINE_STATUS_ABORTED;
}

static uint64_t duration_us(const struct exchange *ex)
{
    uint64_t now_us = loop_now_us(ex->thread->loop);
    return now_us > ex->facts.start_us ? now_us - ex->facts.start_us : 0;
}

static struct str date_of(struct room *room, int64_t second)
{
    static const char *const MONTHS[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    if (second != room->second) {
        struct date_parts d = date_split(second);
        (void)snprintf(room->date, sizeof room->date, "%02u/%s/%04u:%02u:%02u:%02u +0000",
                       (unsigned)d.day % 100, MONTHS[d.month - 1], (unsigned)d.year % 10000,
                       (unsigned)d.hour % 100, (unsigned)d.minute % 100, (unsigned)d.second % 100);
        room->second = second;
    }
    return str_c(room->date);
}

static struct str header_of(const struct exchange *ex, enum header_id id)
{
    struct str value = header_list_value(&ex->req.headers, id);
    return value.len ? value : STR("-");
}

static void put_fact(struct buf *b, struct str name, uint64_t value)
{
    put(b, name);
    put_uint(b, value);
}

struct str access_log_line_text(struct exchange *ex)
{
    struct room *room = room_of(ex->thread);
    struct buf *b = &room->line;
    put(b, str_c(ex->peer->ip));
    put(b, STR(" - "));
    if (ex->facts.user.len)
        put_quoted(b, ex->facts.user);
    else
        put(b, STR("-"));
    put(b, STR(" ["));
    put(b, date_of(room, ex->facts.start_wall_us / 1000000));
    put(b, STR("] \""));
    put_quoted(b, ex->req.line);
    put_fact(b, STR("\" "), status_of(ex));
    put_fact(b, STR(" "), ex->facts.body_sent_bytes);
    put(b, STR(" \""));
    put_quoted(b, header_of(ex, HEADER_REFERER));
    put(b, STR("\" \""));
    put_quoted(b, header_of(ex, HEADER_USER_AGENT));
    put(b, STR("\" id="));
    put(b, str_c(ex->id));
    put(b, STR(" site="));
    put_quoted(b, ex->site ? ex->site->name : STR("-"));
    if (ex->facts.app.len) {
        put(b, STR(" app="));
        put_quoted(b, ex->facts.app);
        put_fact(b, STR(" worker_pid="), (uint64_t)ex->facts.worker_pid);
        put_fact(b, STR(" queue_us="), ex->facts.queue_us);
        put_fact(b, STR(" backend_us="), ex->facts.backend_us);
    }
    put_fact(b, STR(" duration_us="), duration_us(ex));
    if (ex->facts.cut)
        put(b, STR(" cut"));
    if (ex->facts.aborted)
        put(b, STR(" aborted"));
    if (ex->facts.cause.len) {
        put(b, STR(" cause=\""));
        put_quoted(b, ex->facts.cause);
        put(b, STR("\""));
    }
    return buf_view(b);
}

static void put_text(struct buf *b, struct str name, struct str value)
{
    put(b, name);
    put(b, STR("\""));
    bool ok = escape_json(b, str_slice(value, 0, VALUE_BYTES_MAX));
    ASSERT(ok);
    put(b, STR("\""));
}

static void put_moment(struct buf *b, int64_t wall_us)
{
    struct date_parts d = date_split(wall_us / 1000000);
    buf_fmt(b, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", d.year, d.month, d.day, d.hour,
            d.minute, d.second, (int)(wall_us / 1000 % 1000));
}

static void put_flag(struct buf *b, struct str name, bool value)
{
    put(b, name);
    put(b, value ? STR("true") : STR("false"));
}

struct str access_log_line_json(struct exchange *ex)
{
    struct room *room = room_of(ex->thread);
    struct buf *b = &room->line;
    const struct header_list *headers = &ex->req.headers;
    put_moment(b, ex->facts.start_wall_us);
    put_text(b, STR(",\"request_id\":"), str_c(ex->id));
    put_text(b, STR(",\"client\":"), str_c(ex->peer->ip));
    put_text(b, STR(",\"user\":"), ex->facts.user);
    put_text(b, STR(",\"method\":"), ex->req.method_text);
    put_text(b, STR(",\"target\":"), ex->req.target);
    put_text(b, STR(",\"request\":"), ex->req.line);
    put_text(b, STR(",\"host\":"), ex->req.host);
    put_text(b, STR(",\"site\":"), ex->site ? ex->site->name : (struct str){0});
    put_fact(b, STR(",\"status\":"), status_of(ex));
    put_fact(b, STR(",\"body_bytes\":"), ex->facts.body_sent_bytes);
    put_text(b, STR(",\"referer\":"), header_list_value(headers, HEADER_REFERER));
    put_text(b, STR(",\"user_agent\":"), header_list_value(headers, HEADER_USER_AGENT));
    put_text(b, STR(",\"app\":"), ex->facts.app);
    put_fact(b, STR(",\"worker_pid\":"), (uint64_t)ex->facts.worker_pid);
    put_fact(b, STR(",\"queue_us\":"), ex->facts.queue_us);
    put_fact(b, STR(",\"backend_us\":"), ex->facts.backend_us);
    put_fact(b, STR(",\"duration_us\":"), duration_us(ex));
    put_flag(b, STR(",\"cut\":"), ex->facts.cut);
    put_flag(b, STR(",\"aborted\":"), ex->facts.aborted);
    put_text(b, STR(",\"cause\":"), ex->facts.cause);
    put(b, STR("}"));
    return buf_view(b);
}
