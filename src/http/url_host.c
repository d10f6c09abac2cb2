// SPDX-License-Identifier: Apache-2.0
// url_host -- validates and splits host and port; see url.h (RFC 9110 §7.2, RFC 3986 §3.2.2).
#include <stdint.h>

#include "http/url.h"

enum { PORT_MAX = 65535, NAME_BYTES_MAX = 255, IPV6_GROUPS = 8 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Four decimal numbers up to 255 without leading zeros (RFC 3986 §3.2.2).
static bool is_ipv4(struct str s)
{
    int count = 0;
    while (s.ptr) {
        struct str part = str_cut(&s, '.');
        uint64_t value;
        if (part.len > 3 || !str_to_u64(part, &value) || value > 255)
            return false;
        if (part.len > 1 && part.ptr[0] == '0')
            return false;
        count++;
    }
    return count == 4;
}

static bool is_hex_group(struct str s)
{
    if (!s.len || s.len > 4)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_hex(s.ptr[i]))
            return false;
    return true;
}

// Counts the groups of one side of "::"; -1 if malformed. An IPv4 tail counts as two.
static int count_groups(struct str s, bool may_end_ipv4)
{
    int count = 0;
    if (!s.len)
        return 0;
    while (s.ptr) {
        struct str group = str_cut(&s, ':');
        if (!s.ptr && may_end_ipv4 && is_ipv4(group))
            return count + 2;
        if (!is_hex_group(group))
            return -1;
        count++;
    }
    return count;
}

static bool is_ipv6(struct str s)
{
    size_t gap = s.len;
    for (size_t i = 0; i + 1 < s.len && gap == s.len; i++)
        if (s.ptr[i] == ':' && s.ptr[i + 1] == ':')
            gap = i;
    if (gap == s.len)
        return count_groups(s, true) == IPV6_GROUPS;
    int left = count_groups(str_slice(s, 0, gap), false);
    int right = count_groups(str_skip(s, gap + 2), true);
    return left >= 0 && right >= 0 && left + right < IPV6_GROUPS;
}

// Labels of letters, digits, '-' and '_'; none may be empty, but a dot at the end is fine.
static bool is_reg_name(struct str s)
{
    if (s.len > NAME_BYTES_MAX)
        return false;
    char before = '.';
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_label =
            is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
        if (!is_label && (c != '.' || before == '.'))
            return false;
        before = c;
    }
    return s.len && !(s.len == 1 && before == '.');
}

static bool read_port(struct str digits, int *out_port)
{
    uint64_t port;
    if (!digits.len) { // RFC 3986 §3.2.3: "host:" means the default port
        *out_port = -1;
        return true;
    }
    if (digits.len > 5 || !str_to_u64(digits, &port) || port > PORT_MAX)
        return false;
    *out_port = (int)port;
    return true;
}

static bool split(struct str value, struct url_host *out)
{
    struct str rest;
    if (value.len && value.ptr[0] == '[') {
        size_t end = str_find(value, ']');
        if (end == value.len || !is_ipv6(str_slice(value, 1, end)))
            return false;
        out->name = str_slice(value, 0, end + 1);
        rest = str_skip(value, end + 1);
    } else {
        size_t colon = str_find(value, ':');
        out->name = str_slice(value, 0, colon);
        rest = str_skip(value, colon);
        if (!is_reg_name(out->name))
            return false;
        if (out->name.ptr[out->name.len - 1] == '.')
            out->name.len--;
    }
    out->port = -1;
    if (!rest.len)
        return true;
    return rest.ptr[0] == ':' && read_port(str_skip(rest, 1), &out->port);
}

bool url_host_ok(struct str value)
{
    struct url_host host;
    return split(value, &host);
}

bool url_host_parse(struct str value, struct arena *a, struct url_host *out)
{
    struct url_host host;
    if (!split(value, &host))
        return false;
    size_t upper = 0;
    while (upper < host.name.len && !is_upper(host.name.ptr[upper]))
        upper++;
    if (upper < host.name.len) {
        char *text = arena_alloc(a, host.name.len);
        for (size_t i = 0; i < host.name.len; i++)
            text[i] = (char)(is_upper(host.name.ptr[i]) ? host.name.ptr[i] + 32 : host.name.ptr[i]);
        host.name.ptr = text;
    }
    *out = host;
    return true;
}
