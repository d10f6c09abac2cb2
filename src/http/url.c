// SPDX-License-Identifier: Apache-2.0
// url -- see url.h; hosts are url_host.c.
#include "http/url.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The byte that an escape at `at` stands for, -1 when it is malformed.
static int escaped_byte(struct str s, size_t at)
{
    if (s.len - at < 3)
        return -1;
    int high = hex_digit(s.ptr[at + 1]);
    int low = hex_digit(s.ptr[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

struct str url_merge_slashes(struct arena *a, struct str path)
{
    size_t at = 1;
    while (at < path.len && !(path.ptr[at] == '/' && path.ptr[at - 1] == '/'))
        at++;
    if (at >= path.len)
        return path;
    char *merged = arena_alloc(a, path.len);
    memcpy(merged, path.ptr, at);
    size_t len = at;
    for (; at < path.len; at++)
        if (path.ptr[at] != '/' || path.ptr[at - 1] != '/')
            merged[len++] = path.ptr[at];
    return str_n(merged, len);
}

bool url_decode(struct str s, struct arena *a, struct str *out)
{
    if (str_find(s, '%') == s.len) {
        *out = s;
        return true;
    }
    char *text = arena_alloc(a, s.len);
    size_t len = 0;
    for (size_t i = 0; i < s.len; i++) {
        int byte = (unsigned char)s.ptr[i];
        if (byte == '%') {
            byte = escaped_byte(s, i);
            if (byte < 0)
                return false;
            i += 2;
        }
        text[len++] = (char)byte;
    }
    *out = str_n(text, len);
    return true;
}

// Bytes that no target may hold in any place. Bytes from 0x80 on are let through: clients send raw
// UTF-8, and no reader of the request line takes them for something else.
static bool has_forbidden_byte(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == 0x7f || s.ptr[i] == '#')
            return true;
    return false;
}

static enum url_result check_escapes(struct str path, bool *out_has_slash)
{
    *out_has_slash = false;
    for (size_t i = str_find(path, '%'); i < path.len; i++) {
        if (path.ptr[i] != '%')
            continue;
        int byte = escaped_byte(path, i);
        if (byte < 0)
            return URL_BAD_ESCAPE;
        if (byte == 0)
            return URL_NUL;
        if (byte == '/')
            *out_has_slash = true;
        i += 2;
    }
    return URL_OK;
}

// Tells whether a segment could begin with a dot once decoded; a false alarm costs a copy only.
static bool may_have_dots(struct str path)
{
    for (size_t i = str_find(path, '.'); i < path.len;
         i += 1 + str_find(str_skip(path, i + 1), '.'))
        if (i > 0 && path.ptr[i - 1] == '/')
            return true;
    return false;
}

// Removes "." and ".." segments of a decoded path that begins with '/', in place (RFC 3986
// §5.2.4, but climbing over the root is an error instead of being swallowed).
static bool remove_dots(char *text, size_t *len)
{
    size_t end = *len;
    size_t kept = 0;
    size_t from = 0;
    while (from < end) { // text[from] is the '/' before a segment
        size_t to = from + 1;
        while (to < end && text[to] != '/')
            to++;
        struct str segment = str_n(text + from + 1, to - from - 1);
        bool is_up = str_eq(segment, STR(".."));
        if (!is_up && !str_eq(segment, STR("."))) {
            memmove(text + kept, text + from, to - from);
            kept += to - from;
        } else {
            if (is_up && kept == 0)
                return false;
            while (is_up && text[--kept] != '/')
                continue;
            if (to == end) // the directory itself: its path ends with '/'
                text[kept++] = '/';
        }
        from = to;
    }
    *len = kept;
    return true;
}

// Decodes into `text`, which has room for all of `raw`. Returns the length.
static size_t decode_path(struct str raw, enum url_slash slash, char *text)
{
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        int byte = raw.ptr[i] == '%' ? escaped_byte(raw, i) : -1;
        if (byte < 0) {
            text[len++] = raw.ptr[i];
            continue;
        }
        if (byte == '/' && slash == URL_SLASH_KEEP) {
            memcpy(text + len, "%2F", 3);
            len += 3;
        } else {
            text[len++] = (char)byte;
        }
        i += 2;
    }
    return len;
}

static enum url_result normalise(struct str raw, enum url_slash slash, struct arena *a,
                                 struct url *out)
{
    enum url_result result = check_escapes(raw, &out->has_encoded_slash);
    if (result == URL_OK && out->has_encoded_slash && slash == URL_SLASH_REJECT)
        result = URL_ENCODED_SLASH;
    if (result != URL_OK)
        return result;
    bool has_escape = str_find(raw, '%') < raw.len;
    if (!has_escape && !may_have_dots(raw)) {
        out->path = raw;
        return URL_OK;
    }
    char *text = arena_alloc(a, raw.len);
    size_t len = decode_path(raw, slash, text);
    if (!remove_dots(text, &len))
        return URL_ABOVE_ROOT;
    out->path = str_n(text, len);
    return URL_OK;
}

// Splits "/path?query".
static enum url_result parse_path(struct str s, enum url_slash slash, struct arena *a,
                                  struct url *out)
{
    size_t mark = str_find(s, '?');
    out->raw_path = mark == 0 ? STR("/") : str_slice(s, 0, mark);
    out->has_query = mark < s.len;
    out->query = out->has_query ? str_skip(s, mark + 1) : STR("");
    return normalise(out->raw_path, slash, a, out);
}

static enum url_result parse_absolute(struct str s, enum url_slash slash, struct arena *a,
                                      struct url *out)
{
    out->form = URL_ABSOLUTE;
    if (str_starts_nocase(s, STR("http://")))
        out->scheme = STR("http");
    else if (str_starts_nocase(s, STR("https://")))
        out->scheme = STR("https");
    else
        return URL_BAD_FORM;
    struct str rest = str_skip(s, out->scheme.len + 3);
    size_t end = 0;
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
        end++;
    if (!url_host_parse(str_slice(rest, 0, end), a, &out->host))
        return URL_BAD_AUTHORITY;
    rest = str_skip(rest, end);
    return parse_path(rest.len ? rest : STR("/"), slash, a, out);
}

static enum url_result parse_authority(struct str s, struct arena *a, struct url *out)
{
    out->form = URL_AUTHORITY;
    // RFC 9112 §3.2.3: CONNECT names host and port, both.
    if (!url_host_parse(s, a, &out->host) || out->host.port < 0)
        return URL_BAD_AUTHORITY;
    return URL_OK;
}

enum url_result url_parse(struct str target, enum http_method method, enum url_slash slash,
                          struct arena *a, struct url *out)
{
    struct url url = {.host = {.port = -1}};
    enum url_result result;
    if (!target.len)
        return URL_BAD_FORM;
    if (has_forbidden_byte(target))
        return URL_BAD_BYTE;
    if (method == HTTP_CONNECT) {
        result = parse_authority(target, a, &url);
    } else if (target.ptr[0] == '/') {
        url.form = URL_ORIGIN;
        result = parse_path(target, slash, a, &url);
    } else if (str_eq(target, STR("*"))) {
        url.form = URL_ASTERISK;
        result = method == HTTP_OPTIONS ? URL_OK : URL_BAD_FORM;
    } else {
        result = parse_absolute(target, slash, a, &url);
    }
    if (result == URL_OK)
        *out = url;
    return result;
}

const char *url_result_text(enum url_result result)
{
    switch (result) {
    case URL_OK:
        return "fine";
    case URL_BAD_FORM:
        return "the target has none of the forms that the method allows";
    case URL_BAD_BYTE:
        return "the target holds white space, a control byte or '#'";
    case URL_BAD_ESCAPE:
        return "'%' stands without two hexadecimal digits";
    case URL_NUL:
        return "the path holds %00";
    case URL_ENCODED_SLASH:
        return "the path holds %2f";
    case URL_ABOVE_ROOT:
        return "the path climbs over the root";
    case URL_BAD_AUTHORITY:
        return "host or port of the target are malformed";
    }
    return "?";
}
