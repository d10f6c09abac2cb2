// SPDX-License-Identifier: Apache-2.0
// url -- request targets and hosts: split, decoded once, dot segments removed (RFC 9112 §3.2, RFC
// 3986). What it lets through as a path begins with '/', holds no NUL and no "." or ".." segment.
// It does not look at the file system.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "http/method.h"

#define URL_HTTP_PORT  80 // what a host without a port means
#define URL_HTTPS_PORT 443

// What becomes of %2f in a path, which could change how segments are counted.
enum url_slash {
    URL_SLASH_REJECT,
    URL_SLASH_KEEP,   // it stays: "%2F"
    URL_SLASH_DECODE, // it is a slash like any other
};

enum url_form { URL_ORIGIN, URL_ABSOLUTE, URL_AUTHORITY, URL_ASTERISK };

enum url_result {
    URL_OK,
    URL_BAD_FORM,      // none of the four forms, or not one that the method may use
    URL_BAD_BYTE,      // white space, a control byte or '#'
    URL_BAD_ESCAPE,    // '%' without two hexadecimal digits
    URL_NUL,           // %00
    URL_ENCODED_SLASH, // %2f, with URL_SLASH_REJECT
    URL_ABOVE_ROOT,    // ".." that climbs over the root
    URL_BAD_AUTHORITY, // host or port do not parse
};

// A host and its port. IPv6 addresses keep their brackets.
struct url_host {
    struct str name; // lower case, without the dot at the end
    int port;        // -1: none was given
};

struct url {
    enum url_form form;
    struct str scheme;    // lower case; absolute form only
    struct url_host host; // absolute and authority form; it then stands above the Host header
    struct str raw_path;  // as it was sent: "/a%20b"; "/" when the absolute form has none
    struct str path;      // decoded, dot segments removed: "/a b"
    struct str query;     // as it was sent, without '?'
    bool has_query;       // a '?' was there, perhaps with nothing behind it
    bool has_encoded_slash;
};

// url_parse reads a request target (never empty for URL_OK). Slices borrow from `target` or lie in
// the arena, which gets at most as many bytes as the target has. Slashes are not merged. For
// URL_AUTHORITY and URL_ASTERISK path, raw_path and query stay empty.
MUST_USE enum url_result url_parse(struct str target, enum http_method method, enum url_slash slash,
                                   struct arena *a, struct url *out);

// url_result_text says in a few words what a result means, for logs and answers.
const char *url_result_text(enum url_result result);

// url_merge_slashes makes one slash of several: paths of configuration and files of "//a" are those
// of "/a", and rules for one must hold for the other. The arena is used only when there are such.
struct str url_merge_slashes(struct arena *a, struct str path);

// url_decode decodes %XX of any text into the arena; false on a bad escape (NUL is let through).
MUST_USE bool url_decode(struct str s, struct arena *a, struct str *out);

// url_host_split validates a Host header or an authority and hands out its parts, letters as they
// were sent: name of letters, digits, '-', '_', '.', an IPv4 address or [IPv6 address], then an
// optional port (RFC 9110 §7.2). Stricter than RFC 3986's reg-name, since hosts end up in paths and
// logs: no empty label, no escapes, no user information.
MUST_USE bool url_host_split(struct str value, struct url_host *out);

// url_host_fold is a name of url_host_split in lower case. The arena is used only when there are
// upper-case letters.
struct str url_host_fold(struct str name, struct arena *a);

// url_host_parse is url_host_split, then url_host_fold.
MUST_USE bool url_host_parse(struct str value, struct arena *a, struct url_host *out);
