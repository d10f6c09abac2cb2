// SPDX-License-Identifier: Apache-2.0
// proxy_header_test -- the PROXY protocol, whole and cut at each byte; sections of HAProxy's
// proxy-protocol.txt.
#include "wire/proxy_header.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "support/guard.h"

#define V2 "\r\n\r\n\0\r\nQUIT\n"
#define V6 "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0"

static const struct header_case {
    const char *name;
    struct str bytes;
    const char *shown; // NULL: refused
} CASES[] = {
    {"2.1: TCP4", STR_INIT("PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n"),
     "192.0.2.1:56324 198.51.100.2:443"},
    {"2.1: TCP6", STR_INIT("PROXY TCP6 2001:db8::1 ::1 1 65535\r\n"), "2001:db8::1:1 ::1:65535"},
    {"2.1: unknown", STR_INIT("PROXY UNKNOWN\r\n"), "none"},
    {"2.1: unknown, with whatever", STR_INIT("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), "none"},
    {"2.1: no CR LF within 107 bytes",
     STR_INIT(
         "PROXY UNKNOWN ........................................................................"
         "......................."),
     NULL},
    {"2.1: a bare LF", STR_INIT("PROXY UNKNOWN\n"), NULL},
    {"2.1: a bare CR", STR_INIT("PROXY UNKNOWN\rx"), NULL},
    {"2.1: another protocol", STR_INIT("PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n"), NULL},
    {"2.1: another family's address", STR_INIT("PROXY TCP4 ::1 ::1 1 1\r\n"), NULL},
    {"2.1: a port too large", STR_INIT("PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n"), NULL},
    {"2.1: a port with a zero before", STR_INIT("PROXY TCP4 1.1.1.1 1.1.1.1 01 1\r\n"), NULL},
    {"2.1: a field is missing", STR_INIT("PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n"), NULL},
    {"2.1: a field too much", STR_INIT("PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n"), NULL},
    {"2.1: two spaces", STR_INIT("PROXY TCP4  1.1.1.1 1.1.1.1 1 1\r\n"), NULL},
    {"2.1: lower case", STR_INIT("proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n"), NULL},
    {"2.2: TCP4", STR_INIT(V2 "\x21\x11\0\x0c\xc0\0\2\1\xc6\x33\x64\2\x12\x34\1\xbb"),
     "192.0.2.1:4660 198.51.100.2:443"},
    {"2.2: TCP6", STR_INIT(V2 "\x21\x21\0\x24" V6 "\1" V6 "\2\0\1\0\2"),
     "2001:db8::1:1 2001:db8::2:2"},
    {"2.2: LOCAL", STR_INIT(V2 "\x20\x11\0\x0c\xc0\0\2\1\xc6\x33\x64\2\x12\x34\1\xbb"), "none"},
    {"2.2: LOCAL without addresses", STR_INIT(V2 "\x20\0\0\0"), "none"},
    {"2.2: UNSPEC", STR_INIT(V2 "\x21\0\0\3abc"), "none"},
    {"2.2: datagrams", STR_INIT(V2 "\x21\x12\0\x0c\xc0\0\2\1\xc6\x33\x64\2\x12\x34\1\xbb"), "none"},
    {"2.2.6: TLS",
     STR_INIT(V2 "\x21\x11\0\x14\xc0\0\2\1\xc6\x33\x64\2\x12\x34\1\xbb"
                 "\x20\0\5\1\0\0\0\0"),
     "192.0.2.1:4660 198.51.100.2:443 tls"},
    {"2.2.6: no TLS, other extras",
     STR_INIT(V2 "\x21\x11\0\x18\xc0\0\2\1\xc6\x33\x64\2\x12\x34\1\xbb"
                 "\x03\0\1x\x20\0\5\0\0\0\0\0"),
     "192.0.2.1:4660 198.51.100.2:443"},
    {"2.2.6: an extra is longer than the header",
     STR_INIT(V2 "\x21\x11\0\x0f\xc0\0\2\1\xc6\x33\x64\2\x12\x34\1\xbb\x20\0\5"), NULL},
    {"2.2: too short for addresses",
     STR_INIT(V2 "\x21\x11\0\x0b\xc0\0\2\1\xc6\x33\x64\2\x12\x34\1"), NULL},
    {"2.2: another version", STR_INIT(V2 "\x31\x11\0\x0c"), NULL},
    {"2.2: another command", STR_INIT(V2 "\x22\x11\0\x0c"), NULL},
    {"2.2: longer than is read", STR_INIT(V2 "\x21\x11\x08\0"), NULL},
    {"no header", STR_INIT("GET / HTTP/1.1\r\n"), NULL},
    {"an empty line", STR_INIT("\r\n\r\n\r\n"), NULL},
};

static void show(const struct proxy_header *h, char *room, size_t size)
{
    if (h->family == PROXY_HEADER_NONE) {
        (void)snprintf(room, size, "none");
        return;
    }
    int family = h->family == PROXY_HEADER_V4 ? AF_INET : AF_INET6;
    char source[64];
    char destination[64];
    assert_non_null(inet_ntop(family, h->source, source, sizeof source));
    assert_non_null(inet_ntop(family, h->destination, destination, sizeof destination));
    (void)snprintf(room, size, "%s:%u %s:%u%s", source, h->source_port, destination,
                   h->destination_port, h->is_tls ? " tls" : "");
}

static void check(const struct header_case *c, struct str bytes, size_t header_len)
{
    struct proxy_header header;
    char shown[256];
    if (proxy_header_parse(guard_copy(bytes), &header) != PROXY_HEADER_OK)
        fail_msg("%s: not taken", c->name);
    show(&header, shown, sizeof shown);
    assert_string_equal(shown, c->shown);
    assert_int_equal(header.len, header_len);
}

static void headers_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct header_case *c = &CASES[i];
        struct proxy_header header;
        if (!c->shown) {
            if (proxy_header_parse(guard_copy(c->bytes), &header) != PROXY_HEADER_BAD)
                fail_msg("%s: not refused", c->name);
            continue;
        }
        check(c, c->bytes, c->bytes.len);
        // What follows is left alone.
        char more[512];
        memcpy(more, c->bytes.ptr, c->bytes.len);
        memcpy(more + c->bytes.len, "GET ", 4);
        check(c, str_n(more, c->bytes.len + 4), c->bytes.len);
    }
}

// A good header is AGAIN at each cut; a bad one, once refused, stays so.
static void cuts_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct header_case *c = &CASES[i];
        bool refused = false;
        for (size_t cut = 0; cut < c->bytes.len; cut++) {
            struct proxy_header header;
            enum proxy_header_result result =
                proxy_header_parse(guard_copy(str_slice(c->bytes, 0, cut)), &header);
            bool fits = result == PROXY_HEADER_AGAIN || (!c->shown && result == PROXY_HEADER_BAD);
            if (!fits || (refused && result != PROXY_HEADER_BAD))
                fail_msg("%s, cut at %zu: %d", c->name, cut, (int)result);
            refused = result == PROXY_HEADER_BAD;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read),
        cmocka_unit_test(cuts_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
