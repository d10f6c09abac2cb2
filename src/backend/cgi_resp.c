// SPDX-License-Identifier: Apache-2.0
// cgi_resp -- see cgi_resp.h.
#include "backend/cgi_resp.h"

#include "http/status.h"

// A second Content-Length with another number makes the length anybody's guess: refused, as a front
// must refuse it in a request (RFC 9110 §8.6).
static void take_length(struct cgi_resp *r, struct str value)
{
    uint64_t length;
    if (!str_to_u64(value, &length) || length > INT64_MAX)
        r->fault = "its Content-Length is not a number";
    else if (r->length >= 0 && (uint64_t)r->length != length)
        r->fault = "it has two different Content-Length fields";
    else
        r->length = (int64_t)length;
}

// "404 Not Found".
static void take_status(struct cgi_resp *r, struct str value)
{
    struct str rest = value;
    struct str digits = str_trim(str_cut(&rest, ' '));
    uint64_t status;
    r->reason = str_trim(rest);
    if (digits.len == 3 && str_to_u64(digits, &status))
        r->status_line = (int)status;
    else
        r->fault = "its Status field does not begin with three digits";
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

const char *cgi_resp_finish(struct cgi_resp *r, struct response *resp, int status)
{
    if (r->fault)
        return r->fault;
    if (status == 0)
        status = r->status_line ? r->status_line : 200;
    if (status == 200 && header_list_value(&resp->headers, HEADER_LOCATION).len)
        status = 302;
    if (!status_is_valid(status) || status < 200)
        return "its status is not one of a final answer (200 to 599)";
    // There is nothing whose type it could be; PHP names one always.
    if (!status_has_body(status))
        header_list_remove_id(&resp->headers, HEADER_CONTENT_TYPE);
    resp->status = status;
    if (status == r->status_line)
        resp->reason = r->reason;
    return NULL;
}
