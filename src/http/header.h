// SPDX-License-Identifier: Apache-2.0
// header -- header fields: one name and value each, classified once, and lists of them (RFC 9110
// §5). It knows no framing of a version; the bytes are owned by whoever made the slices.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

// The names that the program asks for. HEADER_ACCEPT to HEADER_TRANSFER_ENCODING stand in the order
// of the header index of LSAPI (slot = id - 1), so that the codec needs no second table.
enum header_id {
    HEADER_OTHER,
    HEADER_ACCEPT,
    HEADER_ACCEPT_CHARSET,
    HEADER_ACCEPT_ENCODING,
    HEADER_ACCEPT_LANGUAGE,
    HEADER_AUTHORIZATION,
    HEADER_CONNECTION,
    HEADER_CONTENT_TYPE,
    HEADER_CONTENT_LENGTH,
    HEADER_COOKIE,
    HEADER_COOKIE2,
    HEADER_HOST,
    HEADER_PRAGMA,
    HEADER_REFERER,
    HEADER_USER_AGENT,
    HEADER_CACHE_CONTROL,
    HEADER_IF_MODIFIED_SINCE,
    HEADER_IF_MATCH,
    HEADER_IF_NONE_MATCH,
    HEADER_IF_RANGE,
    HEADER_IF_UNMODIFIED_SINCE,
    HEADER_KEEP_ALIVE,
    HEADER_RANGE,
    HEADER_X_FORWARDED_FOR,
    HEADER_VIA,
    HEADER_TRANSFER_ENCODING, // last of LSAPI's index
    HEADER_ACCEPT_RANGES,
    HEADER_AGE,
    HEADER_ALLOW,
    HEADER_ALT_SVC,
    HEADER_CONTENT_DISPOSITION,
    HEADER_CONTENT_ENCODING,
    HEADER_CONTENT_LANGUAGE,
    HEADER_CONTENT_LOCATION,
    HEADER_CONTENT_RANGE,
    HEADER_DATE,
    HEADER_ETAG,
    HEADER_EXPECT,
    HEADER_EXPIRES,
    HEADER_FORWARDED,
    HEADER_LAST_MODIFIED,
    HEADER_LINK,
    HEADER_LOCATION,
    HEADER_ORIGIN,
    HEADER_PRIORITY,
    HEADER_PROXY, // never passed to an application: it would become HTTP_PROXY
    HEADER_PROXY_AUTHENTICATE,
    HEADER_PROXY_AUTHORIZATION,
    HEADER_PROXY_CONNECTION,
    HEADER_RETRY_AFTER,
    HEADER_SERVER,
    HEADER_SET_COOKIE,
    HEADER_STATUS, // CGI's way to say the status
    HEADER_STRICT_TRANSPORT_SECURITY,
    HEADER_TE,
    HEADER_TRAILER,
    HEADER_UPGRADE,
    HEADER_VARY,
    HEADER_WWW_AUTHENTICATE,
    HEADER_X_ACCEL_REDIRECT,
    HEADER_X_FORWARDED_HOST,
    HEADER_X_FORWARDED_PROTO,
    HEADER_X_LITESPEED_LOCATION,
    HEADER_X_POWERED_BY,
    HEADER_X_REAL_IP,
    HEADER_X_SENDFILE,
    HEADER_ID_COUNT
};

struct header {
    struct str name;  // as it was written
    struct str value; // without white space at the ends
    uint8_t id;       // enum header_id of the name
    // It stands in memory as it is written, "Name: value" CRLF, and was checked (header_line).
    bool is_line;
};

// What header_line needs besides name and value.
#define HEADER_LINE_EXTRA_BYTES ((size_t)4)

// A list that grows in its arena. {.arena = a} is an empty list; the items lie one after another
// and keep the order of their adding.
struct header_list {
    struct arena *arena;
    struct header *items;
    size_t count;
    // private
    size_t size;
    uint64_t seen; // a bit for what was ever added, by id modulo 64
};

// header_id_find classifies a name, letter case folded; HEADER_OTHER when it is none of the enum.
enum header_id header_id_find(struct str name);

// header_id_name is the usual spelling of a known name ("Content-Type"), "" for HEADER_OTHER.
struct str header_id_name(enum header_id id);

// header_id_is_hop_by_hop tells whether the field concerns one connection only and is not passed on
// (RFC 9110 §7.6.1): Connection, Keep-Alive, Proxy-Connection, TE, Trailer, Transfer-Encoding,
// Upgrade.
bool header_id_is_hop_by_hop(enum header_id id);

// header_make classifies a name and pairs it with a value; the slices stay borrowed.
struct header header_make(struct str name, struct str value);

// header_line makes a field of a known name that lies in `room` as HTTP/1 writes it, which takes
// name, value and HEADER_LINE_EXTRA_BYTES: for fields that are sent again and again. The value must
// be fit to be sent (header_value_ok).
struct header header_line(enum header_id id, struct str value, char *room);

// header_list_add appends a field; name and value stay borrowed (arena_dup what does not live as
// long as the list).
void header_list_add(struct header_list *l, struct str name, struct str value);

// header_list_add_id is header_list_add with the usual spelling of a known name.
void header_list_add_id(struct header_list *l, enum header_id id, struct str value);

// header_list_copy appends `count` fields (slices stay borrowed).
void header_list_copy(struct header_list *l, const struct header *items, size_t count);

// header_list_find returns the first field of that name (case folded), NULL when there is none. The
// pointer holds until the list changes.
struct header *header_list_find(const struct header_list *l, struct str name);

// header_list_find_id is header_list_find for a known name, without comparing text.
struct header *header_list_find_id(const struct header_list *l, enum header_id id);

// header_list_value is the value of the first field of that id; {NULL, 0} when there is none, while
// an empty value has a pointer.
struct str header_list_value(const struct header_list *l, enum header_id id);

// header_list_joined is the values of all fields of that id with ", " between them (RFC 9110 §5.3);
// {NULL, 0} when there is none. Allocates in the list's arena only when there are several.
struct str header_list_joined(const struct header_list *l, enum header_id id);

// header_list_remove removes all fields of that name and returns how many.
size_t header_list_remove(struct header_list *l, struct str name);

// header_list_remove_id is header_list_remove for a known name.
size_t header_list_remove_id(struct header_list *l, enum header_id id);

// header_list_set leaves exactly one field of that name, at the place of the first one.
void header_list_set(struct header_list *l, struct str name, struct str value);

// header_list_set_id is header_list_set with the usual spelling of a known name.
void header_list_set_id(struct header_list *l, enum header_id id, struct str value);

// header_is_token tells whether `s` is a token: a valid name (RFC 9110 §5.6.2).
bool header_is_token(struct str s);

// header_token_end is the index of the first byte at or after `at` that no token may hold, or
// bytes.len.
size_t header_token_end(struct str bytes, size_t at);

// header_text_end is the index of the first byte at or after `at` that is below `least` (0x20 or
// 0x21) or 0x7f, or bytes.len. HTAB counts as such a byte.
size_t header_text_end(struct str bytes, size_t at, unsigned char least);

// header_value_ok tells whether `s` may stand as a value: no control byte but HTAB (RFC 9110 §5.5).
bool header_value_ok(struct str s);

// header_has_token tells whether a comma-separated value has `token` as a member, letter case
// folded: Connection, TE, Upgrade. Parameters count as part of the member.
bool header_has_token(struct str value, struct str token);

// header_next_member takes the next member of a comma-separated value off *rest, trimmed; false at
// the end. Empty members are left out (RFC 9110 §5.6.1). Knows no quoted strings.
MUST_USE bool header_next_member(struct str *rest, struct str *out_member);
