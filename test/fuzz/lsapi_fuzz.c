// SPDX-License-Identifier: Apache-2.0
// lsapi_fuzz -- a request made of arbitrary pieces is either refused or read back the same.
#include "wire/lsapi.h"

#include <string.h>

#include "base/arena.h"
#include "base/assert.h"

#define PIECES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Takes the next piece: a length byte, its bytes.
static struct str take(struct str *in)
{
    if (!in->len)
        return (struct str){0};
    size_t len = (unsigned char)in->ptr[0];
    struct str piece = str_slice(*in, 1, 1 + len);
    *in = str_skip(*in, 1 + len);
    return piece;
}

static void check_headers(const struct lsapi_view *v, const struct header *headers, size_t count)
{
    uint32_t seen = 0, unknown = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bit =
            headers[i].id && headers[i].id <= LSAPI_KNOWN_HEADERS ? 1u << headers[i].id : 0;
        struct lsapi_pair pair;
        if (bit && !(seen & bit)) {
            ASSERT(lsapi_view_known(v, headers[i].id - 1u, &pair.value));
        } else {
            ASSERT(lsapi_view_unknown(v, unknown++, &pair));
            ASSERT(str_eq(pair.name, headers[i].name));
        }
        ASSERT(str_eq(pair.value, headers[i].value));
        seen |= bit;
    }
    ASSERT(unknown == v->unknown_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char room[LSAPI_REQUEST_BYTES_MAX];
    struct str in = str_n((const char *)data, size);
    struct lsapi_pair env[4 + PIECES_MAX] = {{STR("SCRIPT_FILENAME"), take(&in)},
                                             {STR("SCRIPT_NAME"), take(&in)},
                                             {STR("QUERY_STRING"), take(&in)},
                                             {STR("REQUEST_METHOD"), take(&in)}};
    struct header headers[PIECES_MAX];
    struct lsapi_request req = {.env = env, .env_count = 4, .headers = headers};
    req.request_line = take(&in);
    for (size_t i = 0; in.len && i < PIECES_MAX; i++) {
        struct str name = take(&in);
        if (name.len % 2)
            headers[req.header_count++] = header_make(name, take(&in));
        else
            env[req.env_count++] = (struct lsapi_pair){name, take(&in)};
    }
    struct wr w = {.ptr = room, .size = sizeof room};
    struct lsapi_view v;
    if (!lsapi_put_request(&w, &req))
        return 0;
    ASSERT(lsapi_view_open(wr_view(&w), &v));
    struct lsapi_pair pair;
    size_t at = 0, count = 0;
    for (; lsapi_view_env(&v, &at, &pair); count++)
        ASSERT(str_eq(pair.name, env[count].name) && str_eq(pair.value, env[count].value));
    ASSERT(count == req.env_count);
    check_headers(&v, headers, req.header_count);
    return 0;
}
