// SPDX-License-Identifier: Apache-2.0
// h1_req -- see h1_req.h. A head is read in one pass from its begin, once h1_fields_is_due says
// that there is something to decide; running out of bytes means AGAIN, so the same code serves
// whole and partial heads.
#include "wire/h1_req.h"

#include <string.h>

#include "base/assert.h"
#include "http/url.h"

static const struct str VERSION_11 = STR_INIT("HTTP/1.1\r\n");

// CRLF, method and the two spaces: all of a request line before its version but the target.
enum { LINE_EXTRA_BYTES = 2 + H1_REQ_METHOD_BYTES_MAX + 2 };

// One empty line before the request line is skipped (RFC 9112 §2.2).
static enum h1_req_result skip_empty_line(struct str bytes, size_t *at)
{
    if (bytes.len == 0)
        return H1_REQ_AGAIN;
    if (bytes.ptr[0] != '\r')
        return bytes.ptr[0] == '\n' ? H1_REQ_BARE_LF : H1_REQ_OK;
    if (bytes.len == 1)
        return H1_REQ_AGAIN;
    *at = 2;
    return bytes.ptr[1] == '\n' ? H1_REQ_OK : H1_REQ_BARE_LF;
}

static enum h1_req_result parse_method(struct str bytes, size_t *at, struct h1_req *out)
{
    size_t end = header_token_end(bytes, *at);
    if (end - *at > H1_REQ_METHOD_BYTES_MAX)
        return H1_REQ_BAD_METHOD;
    if (end == bytes.len)
        return H1_REQ_AGAIN;
    if (bytes.ptr[end] == '\n')
        return H1_REQ_BARE_LF;
    if (end == *at || (bytes.ptr[end] != ' ' && bytes.ptr[end] != '\r'))
        return H1_REQ_BAD_METHOD;
    if (bytes.ptr[end] == '\r')
        return H1_REQ_BAD_LINE;
    out->method_token = str_slice(bytes, *at, end);
    out->method = method_find(out->method_token);
    *at = end + 1;
    return H1_REQ_OK;
}

static enum h1_req_result parse_target(struct str bytes, size_t *at, size_t bytes_max,
                                       struct h1_req *out)
{
    size_t end = header_text_end(bytes, *at, 0x21);
    if (end - *at > bytes_max)
        return H1_REQ_TARGET_TOO_LONG;
    if (end == bytes.len)
        return H1_REQ_AGAIN;
    char c = bytes.ptr[end];
    if (c == '\n')
        return H1_REQ_BARE_LF;
    if (c == '\r' || c == '\t')
        return H1_REQ_BAD_LINE;
    if (c != ' ' || end == *at)
        return H1_REQ_BAD_TARGET;
    out->target = str_slice(bytes, *at, end);
    *at = end + 1;
    return H1_REQ_OK;
}

// Reads "HTTP/d.d" CRLF byte by byte, so that a line which can no longer become one is refused at
// once. A minor version above 1 is served as 1.1 (RFC 9110 §2.5).
static enum h1_req_result parse_version(struct str bytes, size_t *at, struct h1_req *out)
{
    static const char FORM[] = "HTTP/d.d\r\n";
    const char *p = bytes.ptr + *at;
    size_t have = bytes.len - *at;
    for (size_t i = 0; i < VERSION_11.len; i++) {
        if (i == have)
            return H1_REQ_AGAIN;
        bool is_digit = p[i] >= '0' && p[i] <= '9';
        if (FORM[i] == 'd' ? is_digit : p[i] == FORM[i])
            continue;
        bool is_line_end = i > 0 && (p[i] == '\n' || p[i - 1] == '\r');
        return is_line_end ? H1_REQ_BARE_LF : H1_REQ_BAD_LINE;
    }
    if (p[5] != '1')
        return H1_REQ_BAD_VERSION;
    out->version = p[7] == '0' ? 10 : 11;
    *at += VERSION_11.len;
    return H1_REQ_OK;
}

static enum h1_req_result parse_line(struct str bytes, size_t *at, size_t target_bytes_max,
                                     struct h1_req *out)
{
    enum h1_req_result result = skip_empty_line(bytes, at);
    if (result == H1_REQ_OK)
        result = parse_method(bytes, at, out);
    if (result == H1_REQ_OK)
        result = parse_target(bytes, at, target_bytes_max, out);
    if (result == H1_REQ_OK)
        result = parse_version(bytes, at, out);
    return result;
}

static enum h1_req_result from_fields(enum h1_fields_result result)
{
    switch (result) {
    case H1_FIELDS_OK:
        return H1_REQ_OK;
    case H1_FIELDS_AGAIN:
        return H1_REQ_AGAIN;
    case H1_FIELDS_BARE_LF:
        return H1_REQ_BARE_LF;
    case H1_FIELDS_FOLDED:
        return H1_REQ_FOLDED;
    case H1_FIELDS_SPACE_COLON:
        return H1_REQ_SPACE_COLON;
    case H1_FIELDS_BAD_NAME:
        return H1_REQ_BAD_NAME;
    case H1_FIELDS_CONTROL:
        return H1_REQ_CONTROL;
    case H1_FIELDS_TOO_MANY:
        return H1_REQ_TOO_MANY_HEADERS;
    }
    ASSERT(false); // not a result of h1_fields_parse
}

static enum h1_req_result from_framing(enum h1_framing_result result)
{
    switch (result) {
    case H1_FRAMING_OK:
        return H1_REQ_OK;
    case H1_FRAMING_BAD_LENGTH:
        return H1_REQ_BAD_LENGTH;
    case H1_FRAMING_BAD_TRANSFER:
        return H1_REQ_BAD_TRANSFER;
    case H1_FRAMING_UNKNOWN:
        return H1_REQ_UNKNOWN_TRANSFER;
    case H1_FRAMING_BOTH:
        return H1_REQ_LENGTH_AND_TRANSFER;
    }
    ASSERT(false); // not a result of h1_fields_framing
}

// Host: exactly one and valid; HTTP/1.0 may go without (RFC 9112 §3.2).
static enum h1_req_result take_host(struct str value, struct h1_req *out)
{
    if (out->host.ptr)
        return H1_REQ_TWO_HOSTS;
    if (!url_host_split(value, &out->host_parts))
        return H1_REQ_BAD_HOST;
    out->host = value;
    return H1_REQ_OK;
}

// RFC 9110 §10.1.1: 100-continue is all there is; in HTTP/1.0 the field says nothing.
static enum h1_req_result take_expect(struct str value, struct h1_req *out)
{
    struct str member;
    while (out->version >= 11 && header_next_member(&value, &member)) {
        if (!str_eq_nocase(member, STR("100-continue")))
            return H1_REQ_BAD_EXPECT;
        out->expects_continue = true;
    }
    return H1_REQ_OK;
}

static enum h1_req_result read_meaning(struct h1_req *out)
{
    struct h1_framing framing = {.content_length = -1};
    bool has_upgrade = false;
    enum h1_req_result result =
        from_framing(h1_fields_framing(out->headers, out->header_count, &framing));
    for (size_t i = 0; i < out->header_count && result == H1_REQ_OK; i++) {
        const struct header *h = &out->headers[i];
        if (h->id == HEADER_HOST)
            result = take_host(h->value, out);
        else if (h->id == HEADER_EXPECT)
            result = take_expect(h->value, out);
        else if (h->id == HEADER_UPGRADE)
            has_upgrade = true;
    }
    if (result != H1_REQ_OK)
        return result;
    bool is_11 = out->version >= 11;
    if (is_11 && !out->host.ptr)
        return H1_REQ_NO_HOST;
    if (!is_11 && framing.is_chunked)
        return H1_REQ_TRANSFER_IN_10;
    out->content_length = framing.content_length;
    out->is_chunked = framing.is_chunked;
    out->keep_alive = !framing.says_close && (is_11 || framing.says_keep_alive);
    out->wants_upgrade = is_11 && has_upgrade && framing.says_upgrade;
    return H1_REQ_OK;
}

static enum h1_req_result parse(struct str bytes, const struct h1_limits *limits,
                                struct h1_req *out)
{
    size_t at = 0;
    bool is_full = bytes.len >= limits->head_bytes_max;
    bytes = str_slice(bytes, 0, limits->head_bytes_max);
    enum h1_req_result result = parse_line(bytes, &at, limits->target_bytes_max, out);
    if (result == H1_REQ_AGAIN && is_full)
        return H1_REQ_TARGET_TOO_LONG;
    if (result != H1_REQ_OK)
        return result;
    size_t fields_at = at;
    result = from_fields(
        h1_fields_parse(bytes, &at, out->headers, limits->headers_max, &out->header_count));
    if (result == H1_REQ_AGAIN && is_full)
        return H1_REQ_HEAD_TOO_LARGE;
    if (result != H1_REQ_OK)
        return result;
    out->head_len = at;
    out->field_lines = str_slice(bytes, fields_at, at - 2);
    return read_meaning(out);
}

enum h1_req_result h1_req_parse(struct str bytes, size_t seen, const struct h1_limits *limits,
                                struct h1_req *out)
{
    ASSERT(seen <= bytes.len && (out->headers || !limits->headers_max));
    *out = (struct h1_req){.headers = out->headers, .content_length = -1};
    bool is_full = bytes.len >= limits->head_bytes_max;
    size_t mark = limits->target_bytes_max + LINE_EXTRA_BYTES;
    if (!is_full && !h1_fields_is_due(bytes, seen, mark))
        return H1_REQ_AGAIN;
    return parse(bytes, limits, out);
}

const char *h1_req_refusal(enum h1_req_result result, int *out_status)
{
    static const struct refusal {
        int status;
        const char *reason;
    } REFUSALS[] = {
        [H1_REQ_OK] = {0, ""},
        [H1_REQ_AGAIN] = {0, ""},
        [H1_REQ_BARE_LF] = {400, "a line does not end with CR LF"},
        [H1_REQ_BAD_METHOD] = {400, "the method is no token or too long"},
        [H1_REQ_BAD_TARGET] = {400, "the request target is empty or holds a control byte"},
        [H1_REQ_BAD_LINE] = {400, "the request line is not method, target and version"},
        [H1_REQ_FOLDED] = {400, "a header line begins with white space"},
        [H1_REQ_SPACE_COLON] = {400, "white space stands within or behind a header name"},
        [H1_REQ_BAD_NAME] = {400, "a header name is no token"},
        [H1_REQ_CONTROL] = {400, "a header value holds a control byte"},
        [H1_REQ_BAD_LENGTH] = {400, "Content-Length is malformed or given twice"},
        [H1_REQ_BAD_TRANSFER] = {400, "Transfer-Encoding is malformed or given twice"},
        [H1_REQ_LENGTH_AND_TRANSFER] = {400, "Content-Length and Transfer-Encoding are both there"},
        [H1_REQ_TRANSFER_IN_10] = {400, "Transfer-Encoding in HTTP/1.0"},
        [H1_REQ_NO_HOST] = {400, "Host is missing"},
        [H1_REQ_TWO_HOSTS] = {400, "Host is given twice"},
        [H1_REQ_BAD_HOST] = {400, "Host is malformed"},
        [H1_REQ_TARGET_TOO_LONG] = {414, "the request target is too long"},
        [H1_REQ_BAD_EXPECT] = {417, "Expect asks for something unknown"},
        [H1_REQ_HEAD_TOO_LARGE] = {431, "the request head is too large"},
        [H1_REQ_TOO_MANY_HEADERS] = {431, "there are too many headers"},
        [H1_REQ_UNKNOWN_TRANSFER] = {501, "a transfer coding other than chunked"},
        [H1_REQ_BAD_VERSION] = {505, "the version is not HTTP/1"},
    };

    ASSERT((unsigned)result < ARRAY_LEN(REFUSALS) && REFUSALS[result].status);
    *out_status = REFUSALS[result].status;
    return REFUSALS[result].reason;
}
