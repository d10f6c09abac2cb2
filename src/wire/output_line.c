// SPDX-License-Identifier: Apache-2.0
// output_line -- see output_line.h. A mark is a byte that text does not have, the id, and the byte
// again.
#include "wire/output_line.h"

#define MARK     '\x01'
#define ID_BYTES 16

void output_line_mark(struct buf *out, struct str id, struct str text)
{
    static const char MARK_TEXT[] = {MARK};
    struct str mark = str_n(MARK_TEXT, sizeof MARK_TEXT);
    while (text.len) {
        struct str line = str_slice(text, 0, str_find(text, '\n') + 1);
        // The buffer has no ceiling.
        (void)!buf_put(out, mark);
        (void)!buf_put(out, id);
        (void)!buf_put(out, mark);
        (void)!buf_put(out, line);
        text = str_skip(text, line.len);
    }
}

struct str output_line_take(struct str *line)
{
    struct str id = str_slice(*line, 1, 1 + ID_BYTES);
    if (line->len < ID_BYTES + 2 || line->ptr[0] != MARK || line->ptr[ID_BYTES + 1] != MARK)
        return STR("");
    for (size_t i = 0; i < id.len; i++)
        if ((id.ptr[i] < '0' || id.ptr[i] > '9') && (id.ptr[i] < 'a' || id.ptr[i] > 'f'))
            return STR("");
    *line = str_skip(*line, ID_BYTES + 2);
    return id;
}
