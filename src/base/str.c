// SPDX-License-Identifier: Apache-2.0
// str -- see str.h.
#include "base/str.h"

#include <string.h>

static unsigned char fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static bool eq_folded(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (fold(a[i]) != fold(b[i]))
            return false;
    return true;
}

struct str str_c(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

bool str_eq_nocase(struct str a, struct str b)
{
    return a.len == b.len && eq_folded(a.ptr, b.ptr, a.len);
}

int str_cmp(struct str a, struct str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;
    if (order)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

bool str_starts_nocase(struct str s, struct str prefix)
{
    return s.len >= prefix.len && eq_folded(s.ptr, prefix.ptr, prefix.len);
}

struct str str_trim(struct str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = str_skip(s, 1);
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

struct str str_cut(struct str *rest, char byte)
{
    struct str all = *rest;
    size_t at = str_find(all, byte);
    *rest = at < all.len ? str_skip(all, at + 1) : (struct str){NULL, 0};
    return str_slice(all, 0, at);
}

bool str_to_u64(struct str s, uint64_t *out)
{
    uint64_t value = 0;
    if (!s.len)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.ptr[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)fold(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool str_hex_to_u64(struct str s, uint64_t *out)
{
    uint64_t value = 0;
    if (!s.len)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        int digit = hex_digit(s.ptr[i]);
        if (digit < 0 || value >> 60)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *out = value;
    return true;
}

bool str_has_ctl(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
            return true;
    return false;
}
