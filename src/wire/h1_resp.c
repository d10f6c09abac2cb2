// SPDX-License-Identifier: Apache-2.0
// h1_resp -- see h1_resp.h; reading heads is h1_resp_parse.c.
#include "wire/h1_resp.h"

#include "http/status.h"

// "HTTP/1.1 200 " CRLF, Content-Length or Transfer-Encoding, Connection, empty line.
enum { FIXED_BYTES_MAX = 160 };

// Whether the list's field is written; framing and connection come from the struct alone.
static bool is_written(const struct h1_resp_head *head, const struct header *h)
{
    switch (h->id) {
    case HEADER_CONNECTION:
    case HEADER_KEEP_ALIVE:
    case HEADER_PROXY_CONNECTION:
    case HEADER_TRANSFER_ENCODING:
    case HEADER_CONTENT_LENGTH:
    case HEADER_TRAILER:
        return false;
    case HEADER_UPGRADE:
        return head->connection == H1_RESP_CONNECTION_UPGRADE;
    default:
        return true;
    }
}

size_t h1_resp_size(const struct h1_resp_head *head)
{
    struct str reason = head->reason.len ? head->reason : status_reason(head->status);
    size_t size = FIXED_BYTES_MAX + reason.len + head->date.len + head->server.len
                  + sizeof "Date: \r\nServer: \r\n";
    for (size_t i = 0; i < head->header_count; i++)
        size += head->headers[i].name.len + head->headers[i].value.len + 4;
    return size;
}

static void put_field(struct wr *w, struct str name, struct str value)
{
    wr_bytes(w, name);
    wr_bytes(w, STR(": "));
    wr_bytes(w, value);
    wr_bytes(w, STR("\r\n"));
}

static void put_status_line(struct wr *w, const struct h1_resp_head *head)
{
    if (head->status == 200 && !head->reason.len) {
        wr_bytes(w, STR("HTTP/1.1 200 OK\r\n"));
        return;
    }
    wr_bytes(w, STR("HTTP/1.1 "));
    wr_dec(w, (uint64_t)head->status);
    wr_bytes(w, STR(" "));
    wr_bytes(w, head->reason.len ? head->reason : status_reason(head->status));
    wr_bytes(w, STR("\r\n"));
}

static void put_framing(struct wr *w, const struct h1_resp_head *head)
{
    if (head->is_chunked) {
        wr_bytes(w, STR("Transfer-Encoding: chunked\r\n"));
    } else if (head->content_length >= 0) {
        wr_bytes(w, STR("Content-Length: "));
        wr_dec(w, (uint64_t)head->content_length);
        wr_bytes(w, STR("\r\n"));
    }
    switch (head->connection) {
    case H1_RESP_CONNECTION_NONE:
        break;
    case H1_RESP_CONNECTION_CLOSE:
        wr_bytes(w, STR("Connection: close\r\n"));
        break;
    case H1_RESP_CONNECTION_KEEP_ALIVE:
        wr_bytes(w, STR("Connection: keep-alive\r\n"));
        break;
    case H1_RESP_CONNECTION_UPGRADE:
        wr_bytes(w, STR("Connection: upgrade\r\n"));
        break;
    }
}

static enum h1_resp_put_result put_list(struct wr *w, const struct h1_resp_head *head,
                                        size_t *out_bad)
{
    for (size_t i = 0; i < head->header_count; i++) {
        const struct header *h = &head->headers[i];
        if (h->is_line && is_written(head, h)) {
            wr_bytes(w, str_n(h->name.ptr, h->name.len + h->value.len + HEADER_LINE_EXTRA_BYTES));
            continue;
        }
        // A known name is a token.
        bool is_name_ok = h->id != HEADER_OTHER || header_is_token(h->name);
        bool is_value_ok = header_value_ok(h->value);
        if (out_bad && !(is_name_ok && is_value_ok))
            *out_bad = i;
        if (!is_name_ok)
            return H1_RESP_PUT_BAD_NAME;
        if (!is_value_ok)
            return H1_RESP_PUT_BAD_VALUE;
        if (is_written(head, h))
            put_field(w, h->name, h->value);
    }
    return H1_RESP_PUT_OK;
}

static bool list_has(const struct h1_resp_head *head, enum header_id id)
{
    for (size_t i = 0; i < head->header_count; i++)
        if (head->headers[i].id == id)
            return true;
    return false;
}

static enum h1_resp_put_result put_head(struct wr *w, const struct h1_resp_head *head,
                                        size_t *out_bad)
{
    if (!status_is_valid(head->status))
        return H1_RESP_PUT_BAD_STATUS;
    if (head->reason.len && !header_value_ok(head->reason))
        return H1_RESP_PUT_BAD_REASON;
    put_status_line(w, head);
    if (head->date.len && !list_has(head, HEADER_DATE))
        put_field(w, STR("Date"), head->date);
    if (head->server.len && !list_has(head, HEADER_SERVER))
        put_field(w, STR("Server"), head->server);
    put_framing(w, head);
    enum h1_resp_put_result result = put_list(w, head, out_bad);
    wr_bytes(w, STR("\r\n"));
    if (result == H1_RESP_PUT_OK && !wr_ok(w))
        return H1_RESP_PUT_FULL;
    return result;
}

enum h1_resp_put_result h1_resp_put(struct wr *w, const struct h1_resp_head *head, size_t *out_bad)
{
    struct wr before = *w;
    enum h1_resp_put_result result = put_head(w, head, out_bad);
    if (result != H1_RESP_PUT_OK)
        *w = before;
    return result;
}

void h1_resp_put_continue(struct wr *w)
{
    wr_bytes(w, STR("HTTP/1.1 100 Continue\r\n\r\n"));
}
