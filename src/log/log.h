// SPDX-License-Identifier: Apache-2.0
// log -- messages for operators: one line each, a stable event name and a sentence. Request facts
// go to the access log (log/sink.h), rates to metrics.
//
// error: an operator must act. warn: degraded. info: lifecycle. debug: off in production.
// A line: 2026-11-30T18:20:01.123Z error backend.died [req 6f3a...] worker 12 of app "blog" ...
#pragma once

#include "base/compiler.h"
#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

enum log_format { LOG_PLAIN, LOG_JOURNALD }; // journald: "<3>" priority instead of time stamp

// log_init sets level, format and where lines go until log_to_sink: `fd` (borrowed, usually 2).
void log_init(enum log_level most, enum log_format format, int fd);

// log_set_level changes the most detailed level that is written. Any thread.
void log_set_level(enum log_level most);

// log_level_find reads "error", "warn", "info", "debug"; -1 otherwise.
int log_level_find(struct str name);

// A row of log/events.h.
struct log_event {
    const char *name, *meaning;
};

// log_event_at walks the table of events: NULL past its end.
const struct log_event *log_event_at(size_t at);

struct sink;
// log_to_sink sends lines to a sink (see log/sink.h) from now on; NULL: to the descriptor again.
void log_to_sink(struct sink *sink);

// log_write writes one line. `event` is a name of the table in log/events.h; `scope` names what it
// is about ("req 6f3a", "app blog", "" for none). Values from outside go through log_quote; control
// bytes become spaces, and a line is cut at some 8000 bytes. Any thread.
PRINTF_LIKE(4, 5)
void log_write(enum log_level level, const char *scope, const char *event, const char *fmt, ...);

#define log_error(scope, event, ...) log_write(LOG_ERROR, scope, event, __VA_ARGS__)
#define log_warn(scope, event, ...)  log_write(LOG_WARN, scope, event, __VA_ARGS__)
#define log_info(scope, event, ...)  log_write(LOG_INFO, scope, event, __VA_ARGS__)
#define log_debug(scope, event, ...) log_write(LOG_DEBUG, scope, event, __VA_ARGS__)

// log_quote writes `s` quoted, with control bytes, quotes, backslashes and bytes over 0x7e as \xNN,
// cut at the room's size (at least 6) with "..." before the quote. Returns `room`.
const char *log_quote(struct str s, char *room, size_t size);
