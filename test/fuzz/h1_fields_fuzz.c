// SPDX-License-Identifier: Apache-2.0
// h1_fields_fuzz -- fields that are read can be written by the writer of heads and read again.
#include "wire/h1_fields.h"

#include "base/assert.h"
#include "wire/h1_resp.h"

enum { HEADERS_MAX = 32, ROOM_BYTES = 128 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char room[ROOM_BYTES];
    struct header headers[HEADERS_MAX], again[HEADERS_MAX];
    struct str bytes = str_n((const char *)data, size);
    struct h1_framing framing;
    struct h1_resp resp = {.headers = again};
    struct wr w = {.ptr = room, .size = sizeof room};
    size_t at = 0, count = 0;
    if (h1_fields_parse(bytes, &at, headers, HEADERS_MAX, &count) != H1_FIELDS_OK)
        return 0;
    ASSERT(at <= size && count <= HEADERS_MAX);
    if (h1_fields_framing(headers, count, &framing) == H1_FRAMING_OK)
        ASSERT(framing.content_length < 0 || !framing.is_chunked);
    struct h1_resp_head head = {
        .status = 200, .headers = headers, .header_count = count, .content_length = 5};
    struct h1_limits limits = {.head_bytes_max = sizeof room, .headers_max = HEADERS_MAX};
    ASSERT(h1_resp_put(&w, &head, NULL) == H1_RESP_PUT_OK && w.len <= h1_resp_size(&head));
    enum h1_resp_result result = h1_resp_parse(wr_view(&w), 0, &limits, false, &resp);
    if (result == H1_RESP_TOO_LARGE) // Content-Length came on top
        return 0;
    ASSERT(result == H1_RESP_OK && resp.head_len == w.len);
    ASSERT(resp.body == H1_RESP_BODY_LENGTH && resp.content_length == 5);
    return 0;
}
