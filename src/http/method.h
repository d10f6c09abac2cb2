// SPDX-License-Identifier: Apache-2.0
// method -- request methods and what they promise (RFC 9110 §9, RFC 5789, RFC 4918). It does not
// decide which methods a site allows.
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum http_method {
    HTTP_METHOD_OTHER, // any other token: goes to applications as it was written
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_CONNECT,
    HTTP_OPTIONS,
    HTTP_TRACE,
    HTTP_PATCH,
    HTTP_PROPFIND,
    HTTP_PROPPATCH,
    HTTP_MKCOL,
    HTTP_COPY,
    HTTP_MOVE,
    HTTP_LOCK,
    HTTP_UNLOCK,
    HTTP_REPORT,
    HTTP_SEARCH,
    HTTP_METHOD_COUNT
};

// method_find classifies a method token; case matters (RFC 9110 §9.1). HTTP_METHOD_OTHER when it is
// none of the known ones; it does not check that `token` is a token.
enum http_method method_find(struct str token);

// method_name is the token of a known method, "" for HTTP_METHOD_OTHER.
struct str method_name(enum http_method method);

// method_is_safe tells whether the method asks for no change (RFC 9110 §9.2.1).
bool method_is_safe(enum http_method method);

// method_is_idempotent tells whether asking twice means the same as asking once (RFC 9110 §9.2.2).
bool method_is_idempotent(enum http_method method);
