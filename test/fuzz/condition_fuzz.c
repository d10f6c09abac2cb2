// SPDX-License-Identifier: Apache-2.0
// condition_fuzz -- whatever stands in the headers, the verdict fits the method and the headers
// that are there.
#include "http/condition.h"

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The next part up to '|'; absent (ptr NULL) when there is none or it is empty.
static struct str take(struct str *in)
{
    struct str part = str_cut(in, '|');
    return part.len ? part : (struct str){NULL, 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    struct str in = str_n((const char *)data + 3, size - 3);
    struct condition_state state = {.exists = data[1] & 1,
                                    .has_mtime = data[1] & 2,
                                    .mtime_s = 784111777 + data[2],
                                    .etag = take(&in)};
    struct condition c = {.if_match = take(&in),
                          .if_none_match = take(&in),
                          .if_modified_since = take(&in),
                          .if_unmodified_since = take(&in),
                          .if_range = take(&in)};
    enum http_method method = (enum http_method)(data[0] % HTTP_METHOD_COUNT);
    bool is_read = method == HTTP_GET || method == HTTP_HEAD;
    bool applies = false;
    switch (condition_eval(&c, method, &state, 784111900, &applies)) {
    case CONDITION_PROCEED:
        ASSERT(!c.if_match.ptr || state.exists);
        break;
    case CONDITION_NOT_MODIFIED:
        ASSERT(is_read && state.exists && (c.if_none_match.ptr || c.if_modified_since.ptr));
        break;
    case CONDITION_FAILED:
        ASSERT(c.if_match.ptr || c.if_unmodified_since.ptr || (!is_read && c.if_none_match.ptr));
        break;
    }
    ASSERT(!applies || method == HTTP_GET);
    return 0;
}
