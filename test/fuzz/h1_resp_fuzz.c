// SPDX-License-Identifier: Apache-2.0
// h1_resp_fuzz -- a response head cut at an arbitrary place ends as it does whole.
#include "wire/h1_resp.h"

#include "base/assert.h"

enum { HEADERS_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct h1_limits LIMITS = {.head_bytes_max = 2048, .headers_max = HEADERS_MAX};
    struct header room[HEADERS_MAX], cut_room[HEADERS_MAX];
    struct h1_resp whole = {.headers = room}, cut = {.headers = cut_room};
    if (size < 2)
        return 0;
    bool is_head = data[0] & 1;
    struct str bytes = str_n((const char *)data + 2, size - 2);
    size_t at = (data[0] >> 1 | (size_t)data[1] << 7) % (bytes.len + 1);
    enum h1_resp_result result = h1_resp_parse(bytes, 0, &LIMITS, is_head, &whole);
    enum h1_resp_result early = h1_resp_parse(str_slice(bytes, 0, at), 0, &LIMITS, is_head, &cut);
    if (early != H1_RESP_AGAIN) {
        ASSERT(early == result);
        return 0;
    }
    enum h1_resp_result late = h1_resp_parse(bytes, at, &LIMITS, is_head, &cut);
    ASSERT(late == result || (late == H1_RESP_AGAIN && result != H1_RESP_OK));
    if (late == H1_RESP_OK) {
        ASSERT(cut.head_len == whole.head_len && cut.body == whole.body);
        ASSERT(cut.status >= 100 && cut.status <= 599 && header_value_ok(cut.reason));
    }
    return 0;
}
