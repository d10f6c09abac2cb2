// SPDX-License-Identifier: Apache-2.0
// link -- see link.h. In a decoded path, "%2F" may be a slash that was kept, or text that was sent
// as "%252F": what was sent tells.
#include "core/link.h"

#include <string.h>

#include "base/arena.h"
#include "core/exchange.h"
#include "http/escape.h"
#include "http/url.h"

#define ESCAPE_LEN 3

static bool is_escaped_slash(struct str s)
{
    return str_starts(s, STR("%2F")) || str_starts(s, STR("%2f"));
}

static bool has_escaped_slash(struct str s)
{
    for (size_t at = str_find(s, '%'); at < s.len; at = str_find(s, '%')) {
        s = str_skip(s, at);
        if (is_escaped_slash(s))
            return true;
        s = str_skip(s, 1);
    }
    return false;
}

// Escapes the '%' of "%25" and "%2F" once more, so that both survive being decoded and are the
// only '%' then.
static struct str guard(struct arena *a, struct str raw)
{
    char *text = arena_alloc(a, raw.len / ESCAPE_LEN * 2 + raw.len);
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        struct str rest = str_skip(raw, i);
        text[len++] = raw.ptr[i];
        if (is_escaped_slash(rest) || str_starts(rest, STR("%25"))) {
            text[len++] = '2';
            text[len++] = '5';
        }
    }
    return str_n(text, len);
}

// The path as it was sent, but for dot segments and all escapes other than "%25" and "%2F".
static bool half_decode(struct exchange *ex, struct str *out)
{
    struct url url;
    struct url half;
    if (url_parse(ex->req.target, ex->req.method, URL_SLASH_KEEP, &ex->arena, &url) != URL_OK
        || url.raw_path.len == 0)
        return false;
    struct str guarded = guard(&ex->arena, url.raw_path);
    if (url_parse(guarded, HTTP_GET, URL_SLASH_REJECT, &ex->arena, &half) != URL_OK)
        return false;
    *out = half.path;
    return true;
}

// Walks both; false when they are not the same path, as after a rewrite.
static bool put_half(struct str half, struct str path, size_t skip, struct buf *out)
{
    size_t at = 0; // in path
    bool ok = true;
    for (size_t i = 0; i < half.len && ok;) {
        struct str rest = str_skip(half, i);
        size_t len = rest.ptr[0] == '%' ? ESCAPE_LEN : 1;
        struct str unit = str_slice(rest, 0, len);
        struct str meant = str_eq(unit, STR("%25")) ? STR("%") : len > 1 ? STR("%2F") : unit;
        bool is_merged = i > 0 && half.ptr[i] == '/' && half.ptr[i - 1] == '/';
        i += len;
        if (is_merged)
            continue;
        if (!str_starts(str_skip(path, at), meant))
            return false;
        if (at >= skip)
            ok = len > 1 ? buf_put(out, unit) : escape_path(out, unit);
        at += meant.len;
    }
    return ok && at == path.len;
}

bool link_put_path(struct exchange *ex, size_t skip, struct buf *out)
{
    struct str path = ex->req.path;
    struct str rest = str_skip(path, skip);
    struct str half;
    if (!has_escaped_slash(rest) || !half_decode(ex, &half))
        return escape_path(out, rest);
    struct buf exact = {0};
    bool ok = put_half(half, path, skip, &exact) ? buf_put(out, buf_view(&exact))
                                                 : escape_path(out, rest);
    buf_done(&exact);
    return ok;
}
