// SPDX-License-Identifier: Apache-2.0
// h1_req_fuzz -- a head cut at an arbitrary place ends as it does whole, and all slices lie inside.
#include "wire/h1_req.h"

#include <string.h>

#include "base/assert.h"

enum { HEADERS_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct h1_limits LIMITS = {.head_bytes_max = 2048,
                                        .target_bytes_max = 256,
                                        .headers_max = HEADERS_MAX};

static void check_inside(struct str whole, struct str part)
{
    if (part.len)
        ASSERT(part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void check_accepted(struct str bytes, const struct h1_req *req)
{
    struct str head = str_slice(bytes, 0, req->head_len);
    bool has_length = false;
    ASSERT(req->head_len <= bytes.len && req->head_len <= LIMITS.head_bytes_max);
    ASSERT(str_ends(head, STR("\r\n\r\n")));
    ASSERT(req->version == 10 || (req->version == 11 && req->host.len));
    ASSERT(header_is_token(req->method_token) && req->target.len);
    check_inside(head, req->method_token);
    check_inside(head, req->target);
    check_inside(head, req->host);
    check_inside(head, req->field_lines);
    for (size_t i = 0; i < req->header_count; i++) {
        const struct header *h = &req->headers[i];
        check_inside(req->field_lines, h->name);
        check_inside(req->field_lines, h->value);
        ASSERT(header_is_token(h->name) && header_value_ok(h->value));
        ASSERT(h->id == header_id_find(h->name));
        has_length |= h->id == HEADER_CONTENT_LENGTH;
    }
    ASSERT(has_length == (req->content_length >= 0) && !(has_length && req->is_chunked));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct header room[HEADERS_MAX], cut_room[HEADERS_MAX];
    struct h1_req whole = {.headers = room}, cut = {.headers = cut_room};
    if (size < 2)
        return 0;
    struct str bytes = str_n((const char *)data + 2, size - 2);
    size_t at = (data[0] | (size_t)data[1] << 8) % (bytes.len + 1);
    enum h1_req_result result = h1_req_parse(bytes, 0, &LIMITS, &whole);
    enum h1_req_result early = h1_req_parse(str_slice(bytes, 0, at), 0, &LIMITS, &cut);
    if (result == H1_REQ_OK)
        check_accepted(bytes, &whole);
    if (early != H1_REQ_AGAIN) {
        ASSERT(early == result);
        return 0;
    }
    // What came in two parts is either still awaited (no line has ended since) or judged the same.
    enum h1_req_result late = h1_req_parse(bytes, at, &LIMITS, &cut);
    ASSERT(late == result || (late == H1_REQ_AGAIN && result != H1_REQ_OK));
    if (late == H1_REQ_OK)
        ASSERT(cut.head_len == whole.head_len && cut.header_count == whole.header_count);
    return 0;
}
