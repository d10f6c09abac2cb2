// SPDX-License-Identifier: Apache-2.0
// output_line_fuzz -- what was taken off a line, put back, makes the same line.
#include "wire/output_line.h"

#include <stdint.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str whole = str_n((const char *)data, size);
    struct str line = str_cut(&whole, '\n');
    struct str rest = line;
    struct buf again = {0};
    struct str id = output_line_take(&rest);
    if (!id.len) {
        ASSERT(rest.ptr == line.ptr && rest.len == line.len);
        return 0;
    }
    output_line_mark(&again, id, rest);
    ASSERT(!rest.len || str_eq(buf_view(&again), line));
    buf_done(&again);
    return 0;
}
