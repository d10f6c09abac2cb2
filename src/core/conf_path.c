// SPDX-License-Identifier: Apache-2.0
// conf_path -- see conf_path.h.
#include "core/conf_path.h"

#include <ctype.h>

#include "base/buf.h"
#include "http/url.h"

// What stands escaped in a text: slashes may be kept so ("%2F"), the rest is no part of a decoded
// path.
struct escapes {
    bool slash, small_slash, other;
};

static struct escapes escapes_in(struct str s)
{
    struct escapes found = {0};
    for (size_t at = str_find(s, '%'); at < s.len; at = str_find(s, '%')) {
        s = str_skip(s, at + 1);
        if (str_starts(s, STR("2F")))
            found.slash = true;
        else if (str_starts(s, STR("2f")))
            found.small_slash = true;
        else if (s.len >= 2 && isxdigit((unsigned char)s.ptr[0])
                 && isxdigit((unsigned char)s.ptr[1]))
            found.other = true;
    }
    return found;
}

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || (unsigned char)s.ptr[i] >= 0x7f)
            return false;
    return true;
}

static bool report_escapes(const char *directive, struct str path, struct tree_pos pos,
                           struct arena *a, struct err *err)
{
    struct str decoded;
    struct buf shown = {0};
    struct escapes found = escapes_in(path);
    if (!found.slash && !found.small_slash && url_decode(path, a, &decoded) && is_printable(decoded)
        && !escapes_in(decoded).other)
        tree_quote(decoded, &shown);
    tree_error(err, pos,
               "\"%s\" has \"%.*s\", but paths are compared without their escapes, %s%.*s was "
               "expected",
               directive, STR_ARG(path), buf_len(&shown) ? "" : "a path of plain characters",
               STR_ARG(buf_view(&shown)));
    buf_done(&shown);
    return false;
}

bool conf_path_has_slash(struct str path)
{
    return escapes_in(path).slash;
}

bool conf_path_check(const char *directive, struct str path, struct tree_pos pos, struct arena *a,
                     struct err *err)
{
    struct escapes found = escapes_in(path);
    if (found.other)
        return report_escapes(directive, path, pos, a, err);
    if (found.small_slash) {
        return tree_error(err, pos,
                          "\"%s\" has \"%.*s\", but a slash that is kept is compared as \"%%2F\", "
                          "which was expected",
                          directive, STR_ARG(path));
    }
    struct str rest = str_skip(path, str_starts(path, STR("/")));
    while (rest.len) {
        size_t end = str_find(rest, '/');
        struct str segment = str_slice(rest, 0, end);
        if (!segment.len || str_eq(segment, STR(".")) || str_eq(segment, STR(".."))) {
            return tree_error(err, pos,
                              "\"%s\" has \"%.*s\", but paths are compared without double slashes, "
                              "\".\" and \"..\", a path without them was expected",
                              directive, STR_ARG(path));
        }
        rest = str_skip(rest, end + 1);
    }
    return true;
}
