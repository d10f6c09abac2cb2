// SPDX-License-Identifier: Apache-2.0
// forwarded -- see forwarded.h.
#include "http/forwarded.h"

#include <string.h>

#include "http/header.h"

#define PORT_MAX 65535

// Makes room for one more, the first given up.
static struct forwarded_hop *append(struct forwarded_hop *hops, size_t *count)
{
    if (*count == FORWARDED_HOPS_MAX)
        memmove(hops, hops + 1, --*count * sizeof *hops);
    hops[*count] = (struct forwarded_hop){0};
    return &hops[(*count)++];
}

static bool is_ip_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.'
           || c == ':';
}

// "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80". Whether the address is one is for
// who uses it.
static void read_node(struct str text, struct forwarded_hop *out)
{
    struct str ip = text;
    struct str port = {0};
    if (str_starts(text, STR("["))) {
        size_t end = str_find(text, ']');
        ip = str_slice(text, 1, end);
        port = str_skip(text, end + 1);
    } else if (str_find(text, ':') == str_rfind(text, ':')) { // one colon, or none
        ip = str_slice(text, 0, str_find(text, ':'));
        port = str_skip(text, ip.len);
    }
    for (size_t i = 0; i < ip.len; i++)
        if (!is_ip_byte(ip.ptr[i]))
            return;
    uint64_t number = 0;
    if (str_starts(port, STR(":")) && str_to_u64(str_skip(port, 1), &number) && number <= PORT_MAX)
        out->port = (unsigned)number;
    out->ip = ip;
}

size_t forwarded_list(struct str value, struct forwarded_hop hops[static FORWARDED_HOPS_MAX])
{
    size_t count = 0;
    struct str member;
    while (header_next_member(&value, &member))
        read_node(member, append(hops, &count));
    return count;
}

// Reads a token or a quoted string off *rest.
static bool read_value(struct str *rest, struct arena *a, struct str *out)
{
    if (!str_starts(*rest, STR("\""))) {
        // Addresses with a colon should be quoted, and often are not.
        size_t end = 0;
        while (end < rest->len && !strchr(",; \t\"", rest->ptr[end]))
            end++;
        *out = str_slice(*rest, 0, end);
        *rest = str_skip(*rest, end);
        return end > 0;
    }
    char *room = arena_alloc(a, rest->len);
    size_t len = 0;
    for (size_t i = 1; i < rest->len; i++) {
        char c = rest->ptr[i];
        if (c == '"') {
            *out = str_n(room, len);
            *rest = str_skip(*rest, i + 1);
            return true;
        }
        if (c == '\\' && ++i == rest->len)
            break;
        room[len++] = rest->ptr[i];
    }
    return false;
}

// Reads "name=value" off *rest into the hop. Neither name may stand twice.
static bool read_pair(struct str *rest, struct arena *a, struct forwarded_hop *hop, bool *has_for)
{
    size_t end = header_token_end(*rest, 0);
    struct str name = str_slice(*rest, 0, end);
    struct str value;
    *rest = str_skip(*rest, end);
    if (!name.len || !str_starts(*rest, STR("=")))
        return false;
    *rest = str_skip(*rest, 1);
    if (!read_value(rest, a, &value))
        return false;
    bool is_for = str_eq_nocase(name, STR("for"));
    bool is_proto = str_eq_nocase(name, STR("proto"));
    if ((is_for && *has_for) || (is_proto && hop->proto.ptr))
        return false;
    if (is_for)
        read_node(value, hop);
    if (is_proto)
        hop->proto = value;
    *has_for |= is_for;
    return true;
}

// Reads pairs with semicolons between them, of which any may be missing (RFC 7239 §4).
static bool read_element(struct str text, struct arena *a, struct forwarded_hop *hop)
{
    bool has_for = false;
    for (;;) {
        text = str_trim(text);
        if (text.len && text.ptr[0] != ';' && !read_pair(&text, a, hop, &has_for))
            return false;
        text = str_trim(text);
        if (!text.len)
            return true;
        if (text.ptr[0] != ';')
            return false;
        text = str_skip(text, 1);
    }
}

static bool is_escaped(struct str value, size_t at)
{
    size_t count = 0;
    while (at > 0 && value.ptr[--at] == '\\')
        count++;
    return count % 2 == 1;
}

// Where the last element begins: behind the last comma that is in no quotes. Seen from the end,
// since a quote that a client has left open must not swallow what proxies have put behind it.
static size_t last_element(struct str value)
{
    bool is_quoted = false;
    for (size_t i = value.len; i-- > 0;) {
        if (value.ptr[i] == '"' && !(is_quoted && is_escaped(value, i)))
            is_quoted = !is_quoted;
        else if (value.ptr[i] == ',' && !is_quoted)
            return i + 1;
    }
    return 0;
}

size_t forwarded_elements(struct str value, struct arena *a,
                          struct forwarded_hop hops[static FORWARDED_HOPS_MAX])
{
    size_t first = FORWARDED_HOPS_MAX;
    bool is_good = true;
    while (value.len && is_good && first > 0) {
        size_t at = last_element(value);
        struct str element = str_trim(str_skip(value, at));
        value = str_slice(value, 0, at ? at - 1 : 0);
        if (!element.len)
            continue;
        struct forwarded_hop hop = {0};
        is_good = read_element(element, a, &hop);
        hops[--first] = is_good ? hop : (struct forwarded_hop){0};
    }
    size_t count = FORWARDED_HOPS_MAX - first;
    memmove(hops, hops + first, count * sizeof *hops);
    return count;
}
