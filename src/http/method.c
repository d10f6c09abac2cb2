// SPDX-License-Identifier: Apache-2.0
// method -- see method.h.
#include "http/method.h"

#include "base/assert.h"

enum { SAFE = 1, IDEMPOTENT = 2, BOTH = SAFE | IDEMPOTENT };

static const struct method_row {
    struct str name;
    unsigned promises;
} METHODS[HTTP_METHOD_COUNT] = {
    [HTTP_METHOD_OTHER] = {STR_INIT(""), 0},
    [HTTP_GET] = {STR_INIT("GET"), BOTH},
    [HTTP_HEAD] = {STR_INIT("HEAD"), BOTH},
    [HTTP_POST] = {STR_INIT("POST"), 0},
    [HTTP_PUT] = {STR_INIT("PUT"), IDEMPOTENT},
    [HTTP_DELETE] = {STR_INIT("DELETE"), IDEMPOTENT},
    [HTTP_CONNECT] = {STR_INIT("CONNECT"), 0},
    [HTTP_OPTIONS] = {STR_INIT("OPTIONS"), BOTH},
    [HTTP_TRACE] = {STR_INIT("TRACE"), BOTH},
    [HTTP_PATCH] = {STR_INIT("PATCH"), 0},
    [HTTP_PROPFIND] = {STR_INIT("PROPFIND"), BOTH},
    [HTTP_PROPPATCH] = {STR_INIT("PROPPATCH"), IDEMPOTENT},
    [HTTP_MKCOL] = {STR_INIT("MKCOL"), IDEMPOTENT},
    [HTTP_COPY] = {STR_INIT("COPY"), IDEMPOTENT},
    [HTTP_MOVE] = {STR_INIT("MOVE"), IDEMPOTENT},
    [HTTP_LOCK] = {STR_INIT("LOCK"), 0},
    [HTTP_UNLOCK] = {STR_INIT("UNLOCK"), IDEMPOTENT},
    [HTTP_REPORT] = {STR_INIT("REPORT"), BOTH},
    [HTTP_SEARCH] = {STR_INIT("SEARCH"), BOTH},
};

enum http_method method_find(struct str token)
{
    if (!token.len)
        return HTTP_METHOD_OTHER;
    // The order of the table is that of use: most requests end at its first rows.
    for (unsigned i = HTTP_GET; i < HTTP_METHOD_COUNT; i++)
        if (METHODS[i].name.ptr[0] == token.ptr[0] && str_eq(METHODS[i].name, token))
            return (enum http_method)i;
    return HTTP_METHOD_OTHER;
}

struct str method_name(enum http_method method)
{
    ASSERT((unsigned)method < HTTP_METHOD_COUNT);
    return METHODS[method].name;
}

bool method_is_safe(enum http_method method)
{
    ASSERT((unsigned)method < HTTP_METHOD_COUNT);
    return METHODS[method].promises & SAFE;
}

bool method_is_idempotent(enum http_method method)
{
    ASSERT((unsigned)method < HTTP_METHOD_COUNT);
    return METHODS[method].promises & IDEMPOTENT;
}
