// SPDX-License-Identifier: Apache-2.0
// h1_resp_parse -- reads response heads; see h1_resp.h.
#include "base/assert.h"
#include "http/status.h"
#include "wire/h1_resp.h"

// "HTTP/1.1 200", then a space and the reason phrase, or the end of the line: some servers leave
// out the space that belongs before an empty phrase (RFC 9112 §4).
static enum h1_resp_result parse_line(struct str bytes, size_t *at, struct h1_resp *out)
{
    static const char FORM[] = "HTTP/1.d ddd";
    for (size_t i = 0; i < sizeof FORM - 1; i++) {
        if (i == bytes.len)
            return H1_RESP_AGAIN;
        bool is_digit = bytes.ptr[i] >= '0' && bytes.ptr[i] <= '9';
        if (FORM[i] == 'd' ? !is_digit : bytes.ptr[i] != FORM[i])
            return H1_RESP_BAD_LINE;
    }
    size_t from = sizeof FORM - 1;
    size_t end = header_text_end(bytes, from, 0x20);
    while (end < bytes.len && bytes.ptr[end] == '\t')
        end = header_text_end(bytes, end + 1, 0x20);
    if (end > from && bytes.ptr[from] != ' ')
        return H1_RESP_BAD_LINE;
    if (end < bytes.len && bytes.ptr[end] != '\r')
        return H1_RESP_BAD_LINE;
    if (bytes.len - end < 2)
        return H1_RESP_AGAIN;
    if (bytes.ptr[end + 1] != '\n')
        return H1_RESP_BAD_LINE;
    out->version = bytes.ptr[7] == '0' ? 10 : 11;
    out->status = (bytes.ptr[9] - '0') * 100 + (bytes.ptr[10] - '0') * 10 + (bytes.ptr[11] - '0');
    out->reason = str_trim(str_slice(bytes, from, end));
    *at = end + 2;
    return status_is_valid(out->status) ? H1_RESP_OK : H1_RESP_BAD_LINE;
}

static enum h1_resp_result from_fields(enum h1_fields_result result)
{
    switch (result) {
    case H1_FIELDS_OK:
        return H1_RESP_OK;
    case H1_FIELDS_AGAIN:
        return H1_RESP_AGAIN;
    case H1_FIELDS_TOO_MANY:
        return H1_RESP_TOO_LARGE;
    case H1_FIELDS_BARE_LF:
    case H1_FIELDS_FOLDED:
    case H1_FIELDS_SPACE_COLON:
    case H1_FIELDS_BAD_NAME:
    case H1_FIELDS_CONTROL:
        return H1_RESP_BAD_FIELDS;
    }
    ASSERT(false); // not a result of h1_fields_parse
}

static enum h1_resp_result read_framing(struct h1_resp *out, bool is_head)
{
    struct h1_framing f;
    if (h1_fields_framing(out->headers, out->header_count, &f) != H1_FRAMING_OK)
        return H1_RESP_BAD_FRAMING;
    if (f.is_chunked && out->version < 11)
        return H1_RESP_BAD_FRAMING;
    out->content_length = f.content_length;
    if (is_head || !status_has_body(out->status))
        out->body = H1_RESP_BODY_NONE;
    else if (f.is_chunked)
        out->body = H1_RESP_BODY_CHUNKED;
    else
        out->body = f.content_length >= 0 ? H1_RESP_BODY_LENGTH : H1_RESP_BODY_CLOSE;
    bool wants_keep = out->version >= 11 || f.says_keep_alive;
    out->keep_alive = wants_keep && !f.says_close && out->body != H1_RESP_BODY_CLOSE;
    return H1_RESP_OK;
}

enum h1_resp_result h1_resp_parse(struct str bytes, size_t seen, const struct h1_limits *limits,
                                  bool is_head, struct h1_resp *out)
{
    ASSERT(seen <= bytes.len && (out->headers || !limits->headers_max));
    size_t at = 0;
    bool is_full = bytes.len >= limits->head_bytes_max;
    *out = (struct h1_resp){.headers = out->headers, .content_length = -1};
    if (!is_full && !h1_fields_is_due(bytes, seen, limits->head_bytes_max))
        return H1_RESP_AGAIN;
    bytes = str_slice(bytes, 0, limits->head_bytes_max);
    enum h1_resp_result result = parse_line(bytes, &at, out);
    if (result == H1_RESP_OK) {
        result = from_fields(
            h1_fields_parse(bytes, &at, out->headers, limits->headers_max, &out->header_count));
    }
    if (result == H1_RESP_AGAIN && is_full)
        return H1_RESP_TOO_LARGE;
    if (result != H1_RESP_OK)
        return result;
    out->head_len = at;
    return read_framing(out, is_head);
}
