// SPDX-License-Identifier: Apache-2.0
// error_sort -- see error_sort.h. Reads what tree_error writes: "FILE:LINE:COLUMN: sentence".
#include "conf/error_sort.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

struct message {
    struct str text, file; // file: empty without a position
    uint64_t line, column;
    size_t index;
};

// Takes a number and the colon behind it off *rest.
static bool take_number(struct str *rest, uint64_t *out)
{
    size_t end = str_find(*rest, ':');
    if (end == rest->len || !str_to_u64(str_slice(*rest, 0, end), out))
        return false;
    *rest = str_skip(*rest, end + 1);
    return true;
}

static struct message message_of(struct str text, size_t index)
{
    struct message m = {.text = text, .index = index};
    // File names may hold colons, too.
    for (size_t at = 0; at < text.len; at++) {
        struct str rest = str_skip(text, at + 1);
        if (text.ptr[at] != ':' || !take_number(&rest, &m.line) || !take_number(&rest, &m.column))
            continue;
        m.file = str_slice(text, 0, at);
        return m;
    }
    return m;
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
    const struct message *a = left;
    const struct message *b = right;
    int by = order(a->file.len == 0, b->file.len == 0);
    if (by == 0)
        by = str_cmp(a->file, b->file);
    if (by == 0 && a->file.len)
        by = order(a->line, b->line);
    if (by == 0 && a->file.len)
        by = order(a->column, b->column);
    return by ? by : order(a->index, b->index);
}

void error_sort(struct err *err)
{
    struct str rest = buf_view(&err->text);
    size_t count = (size_t)err->count;
    if (count < 2)
        return;
    struct message *messages = mem_array(count, sizeof *messages);
    // A message is a line; what holds newlines of its own is left as it is.
    for (size_t i = 0; i < count; i++)
        messages[i] = message_of(str_cut(&rest, '\n'), i);
    if (!rest.ptr) {
        struct buf sorted = {0};
        qsort(messages, count, sizeof *messages, compare);
        for (size_t i = 0; i < count; i++)
            buf_fmt(&sorted, "%s%.*s", i ? "\n" : "", STR_ARG(messages[i].text));
        buf_done(&err->text);
        err->text = sorted;
    }
    mem_free(messages);
}
