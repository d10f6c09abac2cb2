// SPDX-License-Identifier: Apache-2.0
// log -- see log.h.
#include "log/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "log/events.h"
#include "log/sink.h"
#include "os/clock.h"
#include "os/fd.h"

#define LINE_BYTES 8192 // longer lines are cut

// Row of a level: its name and its priority in the journal (syslog's scale).
static const struct {
    const char *name;
    int priority;
} LEVELS[] = {
    [LOG_ERROR] = {"error", 3},
    [LOG_WARN] = {"warn", 4},
    [LOG_INFO] = {"info", 6},
    [LOG_DEBUG] = {"debug", 7},
};

#define ROW(name, meaning) {name, meaning},
static const struct log_event ROWS[] = {EVENTS(ROW)};
#undef ROW

static struct {
    _Atomic int most;
    _Atomic(struct sink *) sink;
    _Atomic uint64_t told_dropped; // of the sink's dropped lines, so many were told of
    enum log_format format;
    int fd;
} state = {.most = LOG_INFO, .fd = 2};

static bool is_known(const char *event)
{
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        if (strcmp(ROWS[i].name, event) == 0)
            return true;
    return false;
}

// Writes what stands before the message; returns the length.
static size_t put_head(char *line, enum log_level level, const char *scope, const char *event)
{
    int len;
    const char *open = *scope ? " [" : "";
    const char *close = *scope ? "]" : "";
    if (state.format == LOG_JOURNALD) {
        len = snprintf(line, LINE_BYTES, "<%d>%s%s%s%s ", LEVELS[level].priority, event, open,
                       scope, close);
    } else {
        int64_t wall_us = clock_wall_us();
        time_t seconds = (time_t)(wall_us / 1000000);
        struct tm tm;
        ASSERT(gmtime_r(&seconds, &tm));
        len =
            snprintf(line, LINE_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %s %s%s%s%s ",
                     tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                     (int)(wall_us / 1000 % 1000), LEVELS[level].name, event, open, scope, close);
    }
    ASSERT(len > 0 && len < LINE_BYTES / 2);
    return (size_t)len;
}

// One event is one line, whatever the message holds.
static void flatten(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
}

// Formats a whole line without its newline, for which there is room; returns the length.
static size_t put_line(char line[static LINE_BYTES], enum log_level level, const char *scope,
                       const char *event, const char *fmt, va_list args)
{
    size_t head = put_head(line, level, scope, event);
    size_t room = LINE_BYTES - head - 1;
    int wanted = vsnprintf(line + head, room, fmt, args);
    ASSERT(wanted >= 0);
    size_t len = head + (size_t)wanted;
    if ((size_t)wanted >= room) {
        len = LINE_BYTES - 2;
        memcpy(line + len - 3, "...", 3);
    }
    flatten(line, len);
    return len;
}

// Says in the log itself that lines are missing, once there is room again.
static void tell_dropped(struct sink *sink)
{
    uint64_t dropped = sink_dropped(sink);
    uint64_t told = atomic_load_explicit(&state.told_dropped, memory_order_relaxed);
    while (dropped > told
           && !atomic_compare_exchange_weak_explicit(&state.told_dropped, &told, dropped,
                                                     memory_order_relaxed, memory_order_relaxed))
        ;
    if (dropped <= told)
        return;
    char line[LINE_BYTES];
    size_t len = put_head(line, LOG_WARN, "", "log.dropped");
    int more = snprintf(line + len, sizeof line - len, "%llu lines of this log were lost",
                        (unsigned long long)(dropped - told));
    ASSERT(more > 0);
    sink_write(sink, str_n(line, len + (size_t)more));
}

static bool is_plain(char c)
{
    return c >= ' ' && c <= 0x7e && c != '"' && c != '\\';
}

void log_init(enum log_level most, enum log_format format, int fd)
{
    state.format = format;
    state.fd = fd;
    log_set_level(most);
}

void log_set_level(enum log_level most)
{
    atomic_store_explicit(&state.most, (int)most, memory_order_relaxed);
}

int log_level_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(LEVELS); i++)
        if (str_eq(name, str_c(LEVELS[i].name)))
            return (int)i;
    return -1;
}

const struct log_event *log_event_at(size_t at)
{
    return at < ARRAY_LEN(ROWS) ? &ROWS[at] : NULL;
}

void log_to_sink(struct sink *sink)
{
    atomic_store_explicit(&state.told_dropped, sink ? sink_dropped(sink) : 0, memory_order_relaxed);
    atomic_store_explicit(&state.sink, sink, memory_order_release);
}

void log_write(enum log_level level, const char *scope, const char *event, const char *fmt, ...)
{
    if ((int)level > atomic_load_explicit(&state.most, memory_order_relaxed))
        return;
    ASSERT_DEBUG(is_known(event));
    char line[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    size_t len = put_line(line, level, scope, event, fmt, args);
    va_end(args);
    struct sink *sink = atomic_load_explicit(&state.sink, memory_order_acquire);
    if (sink) {
        if (sink_write(sink, str_n(line, len)))
            tell_dropped(sink);
        return;
    }
    line[len] = '\n';
    // Nowhere to report that the log itself can't be written.
    int rc = fd_write_all(state.fd, str_n(line, len + 1));
    (void)rc;
}

const char *log_quote(struct str s, char *room, size_t size)
{
    static const char DIGITS[] = "0123456789abcdef";
    ASSERT(size >= sizeof "\"...\"");
    size_t whole = 3; // quotes and NUL
    for (size_t i = 0; i < s.len; i++)
        whole += is_plain(s.ptr[i]) ? 1 : 4;
    bool cut = whole > size;
    size_t end = cut ? size - sizeof "...\"" : size - sizeof "\"";
    size_t at = 0;
    room[at++] = '"';
    for (size_t i = 0; i < s.len && at + (is_plain(s.ptr[i]) ? 1 : 4) <= end; i++) {
        unsigned char byte = (unsigned char)s.ptr[i];
        if (is_plain(s.ptr[i])) {
            room[at++] = s.ptr[i];
            continue;
        }
        room[at++] = '\\';
        room[at++] = 'x';
        room[at++] = DIGITS[byte >> 4];
        room[at++] = DIGITS[byte & 15];
    }
    const char *tail = cut ? "...\"" : "\"";
    memcpy(room + at, tail, strlen(tail) + 1);
    return room;
}
