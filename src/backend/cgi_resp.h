// SPDX-License-Identifier: Apache-2.0
// cgi_resp -- what the head of an application's answer means: which header lines reach the client
// and what the others ask of the server. Shared by every CGI-like backend; knows no packets.
// Source: RFC 3875 §6, RFC 9110, and the LSAPI notes on OpenLiteSpeed's fields.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/exchange.h"

// Start with {.length = -1}; feed all lines, then finish.
struct cgi_resp {
    int64_t length;   // the body bytes that the application promised, -1: it did not say
    bool is_live;     // pieces are to be passed on as they come
    unsigned dropped; // lines left out because they are no valid fields
    // What was wrong with its Content-Length, in words; it is left out. NULL: nothing.
    const char *wrong_length;
    int wrong_status; // a status that no answer can have, 500 took its place; 0: none
    // private
    int status_line;   // of a Status field; 0: none
    struct str reason; // of a Status field
};

// cgi_resp_line takes one header line; name and value must live as long as the exchange. Fields
// that concern the connection, that the server sets itself, or that speak to the server only
// (X-LiteSpeed-*) do not reach the client.
void cgi_resp_line(struct cgi_resp *r, struct response *resp, struct str name, struct str value);

// cgi_resp_finish sets resp->status from the packet's `status`, or if that is 0 (not set) from the
// Status field, or else from Location; and resp->reason from the Status field if it names that
// status.
void cgi_resp_finish(struct cgi_resp *r, struct response *resp, int status);
