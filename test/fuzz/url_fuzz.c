// SPDX-License-Identifier: Apache-2.0
// url_fuzz -- an accepted path is absolute, free of NUL and dot segments, and stays itself when it
// is escaped and read again; hosts keep their alphabet.
#include "http/url.h"

#include <stdint.h>

#include "base/assert.h"
#include "http/escape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_segments(struct str path)
{
    struct str rest = str_skip(path, 1);
    ASSERT(path.len && path.ptr[0] == '/' && str_find(path, '\0') == path.len);
    while (rest.ptr) {
        struct str segment = str_cut(&rest, '/');
        ASSERT(!str_eq(segment, STR(".")) && !str_eq(segment, STR("..")));
    }
}

static void check_again(struct str path, struct arena *a)
{
    struct buf escaped = {0};
    struct url url;
    bool ok = escape_path(&escaped, path);
    ASSERT(ok && url_parse(buf_view(&escaped), HTTP_GET, URL_SLASH_REJECT, a, &url) == URL_OK);
    ASSERT(str_eq(url.path, path));
    buf_done(&escaped);
}

static void check_host(const struct url_host *host)
{
    struct url_host parts;
    ASSERT(host->name.len && host->port >= -1 && host->port <= 65535);
    for (size_t i = 0; i < host->name.len; i++) {
        char c = host->name.ptr[i];
        ASSERT((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || str_find(STR("-_.[]:"), c) < 6);
    }
    ASSERT(url_host_split(host->name, &parts));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct url url;
    struct url_host host;
    struct url_host parts;
    struct str decoded;
    if (!size)
        return 0;
    struct str target = str_n((const char *)data + 1, size - 1);
    enum http_method method = (enum http_method)(data[0] % HTTP_METHOD_COUNT);
    bool is_host = url_host_parse(target, &a, &host);
    ASSERT(is_host == url_host_split(target, &parts));
    if (is_host)
        check_host(&host);
    if (url_decode(target, &a, &decoded))
        ASSERT(decoded.len <= target.len);
    enum url_slash slash = (enum url_slash)(data[0] / HTTP_METHOD_COUNT % 3);
    if (url_parse(target, method, slash, &a, &url) == URL_OK) {
        ASSERT(!url.has_encoded_slash || slash != URL_SLASH_REJECT);
        if (url.form == URL_ABSOLUTE || url.form == URL_AUTHORITY)
            check_host(&url.host);
        if (url.form == URL_ORIGIN || url.form == URL_ABSOLUTE) {
            check_segments(url.path);
            check_again(url.path, &a);
        }
    }
    arena_done(&a);
    return 0;
}
