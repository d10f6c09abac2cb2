// SPDX-License-Identifier: Apache-2.0
// url_host -- validates and splits host and port; see url.h (RFC 9110 §7.2, RFC 3986 §3.2.2).
#include <stdint.h>

#include "http/url.h"

enum { PORT_MAX = 65535, NAME_BYTES_MAX = 255, IPV6_GROUPS = 8 };

// 1: may stand in a label; 2: and is an upper-case letter.
static const uint8_t LABEL[256] = {
    ['-'] = 1, ['_'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1,
    ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1, ['A'] = 2, ['B'] = 2, ['C'] = 2, ['D'] = 2,
    ['E'] = 2, ['F'] = 2, ['G'] = 2, ['H'] = 2, ['I'] = 2, ['J'] = 2, ['K'] = 2, ['L'] = 2,
    ['M'] = 2, ['N'] = 2, ['O'] = 2, ['P'] = 2, ['Q'] = 2, ['R'] = 2, ['S'] = 2, ['T'] = 2,
    ['U'] = 2, ['V'] = 2, ['W'] = 2, ['X'] = 2, ['Y'] = 2, ['Z'] = 2, ['a'] = 1, ['b'] = 1,
    ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1,
    ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1,
    ['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return LABEL[(unsigned char)c] == 2;
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

// Takes labels of letters, digits, '-' and '_' off the front of *rest; none may be empty, but a dot
// at the end is fine and not part of the name.
static bool take_reg_name(struct str *rest, struct str *out)
{
    const char *text = rest->ptr;
    size_t at = 0;
    size_t label_at = 0;
    while (at < rest->len && text[at] != ':') {
        if (LABEL[(unsigned char)text[at]] == 0) {
            if (text[at] != '.' || at == label_at)
                return false;
            label_at = at + 1;
        }
        at++;
    }
    if (at == 0 || at > NAME_BYTES_MAX)
        return false;
    *out = str_n(text, at == label_at ? at - 1 : at);
    *rest = str_n(text + at, rest->len - at);
    return true;
}

static bool read_port(struct str digits, int *out_port)
{
    int port = 0;
    if (!digits.len) { // RFC 3986 §3.2.3: "host:" means the default port
        *out_port = -1;
        return true;
    }
    if (digits.len > 5)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (!is_digit(digits.ptr[i]))
            return false;
        port = port * 10 + (digits.ptr[i] - '0');
    }
    *out_port = port;
    return port <= PORT_MAX;
}

bool url_host_split(struct str value, struct url_host *out)
{
    struct str rest = value;
    if (value.len && value.ptr[0] == '[') {
        size_t end = str_find(value, ']');
        if (end == value.len || !is_ipv6(str_slice(value, 1, end)))
            return false;
        out->name = str_slice(value, 0, end + 1);
        rest = str_skip(value, end + 1);
    } else if (!take_reg_name(&rest, &out->name)) {
        return false;
    }
    out->port = -1;
    if (!rest.len)
        return true;
    return rest.ptr[0] == ':' && read_port(str_skip(rest, 1), &out->port);
}

struct str url_host_fold(struct str name, struct arena *a)
{
    size_t upper = 0;
    while (upper < name.len && !is_upper(name.ptr[upper]))
        upper++;
    if (upper == name.len)
        return name;
    char *text = arena_alloc(a, name.len);
    for (size_t i = 0; i < name.len; i++)
        text[i] = (char)(is_upper(name.ptr[i]) ? name.ptr[i] + 32 : name.ptr[i]);
    return str_n(text, name.len);
}

bool url_host_parse(struct str value, struct arena *a, struct url_host *out)
{
    struct url_host host;
    if (!url_host_split(value, &host))
        return false;
    host.name = url_host_fold(host.name, a);
    *out = host;
    return true;
}
