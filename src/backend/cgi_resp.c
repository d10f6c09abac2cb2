// SPDX-License-Identifier: Apache-2.0
// cgi_resp -- see cgi_resp.h.
#include "backend/cgi_resp.h"

#include "http/status.h"

static bool is_final(int status)
{
    return status_is_valid(status) && status >= 200;
}

// A second Content-Length with another number makes the length anybody's guess (RFC 9110 §8.6): it
// counts as none, and the body's end tells.
static void take_length(struct cgi_resp *r, struct str value)
{
    uint64_t length;
    if (!str_to_u64(value, &length) || length > INT64_MAX)
        r->wrong_length = "a Content-Length that is not a number";
    else if (r->length >= 0 && (uint64_t)r->length != length)
        r->wrong_length = "two different Content-Length fields";
    else
        r->length = (int64_t)length;
}

// "404 Not Found". What no answer can have counts as a line that is none.
static void take_status(struct cgi_resp *r, struct str value)
{
    struct str rest = value;
    struct str digits = str_trim(str_cut(&rest, ' '));
    uint64_t status;
    if (digits.len != 3 || !str_to_u64(digits, &status) || !is_final((int)status)) {
        r->dropped++;
        return;
    }
    r->reason = str_trim(rest);
    r->status_line = (int)status;
}

static bool is_for_server_only(struct str name)
{
    return str_starts_nocase(name, STR("X-LiteSpeed-")) || str_eq_nocase(name, STR("LSC-Cookie"))
           || str_eq_nocase(name, STR("X-Accel-Buffering"));
}

static bool is_set_by_server(enum header_id id)
{
    return id == HEADER_DATE || id == HEADER_SERVER || header_id_is_hop_by_hop(id);
}

void cgi_resp_line(struct cgi_resp *r, struct response *resp, struct str name, struct str value)
{
    if (!header_is_token(name) || !header_value_ok(value)) {
        r->dropped++;
        return;
    }
    enum header_id id = header_id_find(name);
    if (is_set_by_server(id))
        return;
    if (id == HEADER_CONTENT_LENGTH) {
        take_length(r, value);
        return;
    }
    if (id == HEADER_STATUS) {
        take_status(r, value);
        return;
    }
    if (str_eq_nocase(name, STR("X-Accel-Buffering")) && str_eq_nocase(value, STR("no")))
        r->is_live = true;
    if (is_for_server_only(name))
        return;
    if (id == HEADER_CONTENT_ENCODING && str_eq_nocase(value, STR("none")))
        return;
    if (id == HEADER_CONTENT_TYPE && str_starts_nocase(value, STR("text/event-stream")))
        r->is_live = true;
    header_list_add(&resp->headers, name, value);
}

static int status_of_fields(const struct cgi_resp *r, const struct response *resp)
{
    int status = r->status_line ? r->status_line : 200;
    // RFC 3875 §6.2.3.
    if (status == 200 && header_list_value(&resp->headers, HEADER_LOCATION).len)
        status = 302;
    return status;
}

void cgi_resp_finish(struct cgi_resp *r, struct response *resp, int status)
{
    if (r->wrong_length)
        r->length = -1;
    // What the program has set stands, also 200 beside a Location: PHP sets 302 by itself.
    if (status == 0)
        status = status_of_fields(r, resp);
    if (!is_final(status)) {
        r->wrong_status = status;
        status = 500;
    }
    // There is nothing whose type it could be; PHP names one always.
    if (!status_has_body(status))
        header_list_remove_id(&resp->headers, HEADER_CONTENT_TYPE);
    resp->status = status;
    if (status == r->status_line)
        resp->reason = r->reason;
}
