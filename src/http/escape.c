// SPDX-License-Identifier: Apache-2.0
// escape -- see escape.h. Runs of harmless bytes are copied as they are.
#include "http/escape.h"

#include <stdint.h>

static const char HEX[16] = "0123456789abcdef";

// Appends the bytes of `s` from *run up to `at`, and moves *run behind the `skip` bytes there.
static bool flush(struct buf *b, struct str s, size_t *run, size_t at, size_t skip)
{
    bool ok = at == *run || buf_put(b, str_slice(s, *run, at));
    *run = at + skip;
    return ok;
}

static struct str html_entity(char c)
{
    switch (c) {
    case '&':
        return STR("&amp;");
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '"':
        return STR("&quot;");
    case '\'':
        return STR("&#39;");
    default:
        return STR("");
    }
}

bool escape_html(struct buf *b, struct str s)
{
    size_t run = 0;
    for (size_t i = 0; i < s.len; i++) {
        struct str entity = html_entity(s.ptr[i]);
        if (entity.len && (!flush(b, s, &run, i, 1) || !buf_put(b, entity)))
            return false;
    }
    return flush(b, s, &run, s.len, 0);
}

// The length of the valid UTF-8 sequence at `at`, 0 if there is none (RFC 3629 §4).
static size_t utf8_len(struct str s, size_t at)
{
    static const uint32_t LEAST[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)s.ptr[at];
    if (lead < 0x80)
        return 1;
    size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || s.len - at < len)
        return 0;
    uint32_t code = lead & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        unsigned char byte = (unsigned char)s.ptr[at + i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (byte & 0x3f);
    }
    bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < LEAST[len] || code > 0x10ffff || is_surrogate ? 0 : len;
}

static bool put_json_byte(struct buf *b, unsigned char byte)
{
    char text[6] = {'\\', 'u', '0', '0', HEX[byte >> 4], HEX[byte & 15]};
    switch (byte) {
    case '"':
        return buf_put(b, STR("\\\""));
    case '\\':
        return buf_put(b, STR("\\\\"));
    case '\n':
        return buf_put(b, STR("\\n"));
    case '\r':
        return buf_put(b, STR("\\r"));
    case '\t':
        return buf_put(b, STR("\\t"));
    default:
        return buf_put(b, str_n(text, sizeof text));
    }
}

bool escape_json(struct buf *b, struct str s)
{
    size_t run = 0;
    for (size_t i = 0; i < s.len;) {
        unsigned char byte = (unsigned char)s.ptr[i];
        size_t len = utf8_len(s, i);
        if (len && byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f) {
            i += len;
            continue;
        }
        if (!flush(b, s, &run, i, 1) || !put_json_byte(b, byte))
            return false;
        i++;
    }
    return flush(b, s, &run, s.len, 0);
}

bool escape_log(struct buf *b, struct str s)
{
    size_t run = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char byte = (unsigned char)s.ptr[i];
        char text[4] = {'\\', 'x', HEX[byte >> 4], HEX[byte & 15]};
        if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\')
            continue;
        if (!flush(b, s, &run, i, 1) || !buf_put(b, str_n(text, sizeof text)))
            return false;
    }
    return flush(b, s, &run, s.len, 0);
}

// Bytes that a path holds as they are (pchar without '%', and '/'; RFC 3986 §3.3).
static bool is_path_byte(unsigned char byte)
{
    static const struct str MARKS = STR_INIT("-._~!$&'()*+,;=:@/");
    bool is_alnum = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z')
                    || (byte >= 'a' && byte <= 'z');
    return is_alnum || str_find(MARKS, (char)byte) < MARKS.len;
}

bool escape_path(struct buf *b, struct str s)
{
    size_t run = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char byte = (unsigned char)s.ptr[i];
        char text[3] = {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]};
        if (is_path_byte(byte))
            continue;
        if (!flush(b, s, &run, i, 1) || !buf_put(b, str_n(text, sizeof text)))
            return false;
    }
    return flush(b, s, &run, s.len, 0);
}
