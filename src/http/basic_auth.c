// SPDX-License-Identifier: Apache-2.0
// basic_auth -- see basic_auth.h.
#include "http/basic_auth.h"

#define GROUP_BITS 6u

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Strict but for missing padding, which some clients leave out (RFC 4648 §4).
static bool decode(struct str text, struct arena *a, struct str *out)
{
    for (int i = 0; i < 2 && text.len % 4 != 1 && str_ends(text, STR("=")); i++)
        text.len--;
    if (text.len % 4 == 1)
        return false;
    char *room = arena_alloc(a, text.len + 1);
    size_t len = 0;
    unsigned held = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_of(text.ptr[i]);
        if (digit < 0)
            return false;
        held = held << GROUP_BITS | (unsigned)digit;
        bits += GROUP_BITS;
        if (bits >= 8) {
            bits -= 8;
            room[len++] = (char)(held >> bits & 0xff);
        }
    }
    *out = str_n(room, len);
    return (held & ((1u << bits) - 1)) == 0;
}

bool basic_auth_parse(struct str value, struct arena *a, struct basic_auth *out)
{
    struct str rest = str_trim(value);
    struct str decoded;
    if (!str_starts_nocase(rest, STR("Basic ")))
        return false;
    if (!decode(str_trim(str_skip(rest, sizeof "Basic" - 1)), a, &decoded))
        return false;
    size_t colon = str_find(decoded, ':');
    if (colon == 0 || colon == decoded.len || str_has_ctl(decoded))
        return false;
    out->user = arena_dup(a, str_slice(decoded, 0, colon));
    out->password = arena_dup(a, str_skip(decoded, colon + 1));
    return true;
}

enum basic_auth_line basic_auth_line(struct str line, struct str *out_user, struct str *out_hash)
{
    if (str_ends(line, STR("\r")))
        line.len--;
    struct str text = str_trim(line);
    if (!text.len || text.ptr[0] == '#')
        return BASIC_AUTH_NOTHING;
    struct str rest = text;
    struct str user = str_cut(&rest, ':');
    struct str hash = str_trim(str_cut(&rest, ':'));
    if (!user.len || !hash.len || str_has_ctl(user) || str_has_ctl(hash))
        return BASIC_AUTH_BAD;
    *out_user = user;
    *out_hash = hash;
    return BASIC_AUTH_USER;
}
