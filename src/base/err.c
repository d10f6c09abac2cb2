// SPDX-License-Identifier: Apache-2.0
// err -- see err.h.
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_BYTES 2048 // a longer message is cut

bool err_set(struct err *e, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    (void)buf_fmt(&e->text, "%s%s", e->count ? "\n" : "", line);
    e->count++;
    return false;
}

bool err_prefix(struct err *e, const char *fmt, ...)
{
    char prefix[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(prefix, sizeof prefix, fmt, args);
    va_end(args);
    struct buf prefixed = {0};
    struct str rest = buf_view(&e->text);
    while (rest.ptr) {
        bool first = !buf_len(&prefixed);
        struct str line = str_cut(&rest, '\n');
        (void)buf_fmt(&prefixed, "%s%s: %.*s", first ? "" : "\n", prefix, STR_ARG(line));
    }
    buf_done(&e->text);
    e->text = prefixed;
    return false;
}

const char *err_text(struct err *e)
{
    if (!e->count)
        return "";
    size_t room;
    char *end = buf_room(&e->text, 1, &room);
    *end = '\0';
    return buf_view(&e->text).ptr;
}

void err_done(struct err *e)
{
    buf_done(&e->text);
    e->count = 0;
}
