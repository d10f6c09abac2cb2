// SPDX-License-Identifier: Apache-2.0
// header_id -- the table of known field names; see header.h. A name's place follows from its length
// and three of its letters, so a lookup is one comparison. Two names at one place are a compiler
// warning (an initialiser set twice): then change the factors.
#include "base/assert.h"
#include "http/header.h"

enum { PLACES = 256 };

// Letters in lower case: first, the one at len / 2, last.
#define PLACE(len, first, mid, last) (((len)*25u + (first)*34u + (mid) + (last)) % PLACES)

static const struct str NAMES[HEADER_ID_COUNT] = {
    [HEADER_OTHER] = STR_INIT(""),
    [HEADER_ACCEPT] = STR_INIT("Accept"),
    [HEADER_ACCEPT_CHARSET] = STR_INIT("Accept-Charset"),
    [HEADER_ACCEPT_ENCODING] = STR_INIT("Accept-Encoding"),
    [HEADER_ACCEPT_LANGUAGE] = STR_INIT("Accept-Language"),
    [HEADER_AUTHORIZATION] = STR_INIT("Authorization"),
    [HEADER_CONNECTION] = STR_INIT("Connection"),
    [HEADER_CONTENT_TYPE] = STR_INIT("Content-Type"),
    [HEADER_CONTENT_LENGTH] = STR_INIT("Content-Length"),
    [HEADER_COOKIE] = STR_INIT("Cookie"),
    [HEADER_COOKIE2] = STR_INIT("Cookie2"),
    [HEADER_HOST] = STR_INIT("Host"),
    [HEADER_PRAGMA] = STR_INIT("Pragma"),
    [HEADER_REFERER] = STR_INIT("Referer"),
    [HEADER_USER_AGENT] = STR_INIT("User-Agent"),
    [HEADER_CACHE_CONTROL] = STR_INIT("Cache-Control"),
    [HEADER_IF_MODIFIED_SINCE] = STR_INIT("If-Modified-Since"),
    [HEADER_IF_MATCH] = STR_INIT("If-Match"),
    [HEADER_IF_NONE_MATCH] = STR_INIT("If-None-Match"),
    [HEADER_IF_RANGE] = STR_INIT("If-Range"),
    [HEADER_IF_UNMODIFIED_SINCE] = STR_INIT("If-Unmodified-Since"),
    [HEADER_KEEP_ALIVE] = STR_INIT("Keep-Alive"),
    [HEADER_RANGE] = STR_INIT("Range"),
    [HEADER_X_FORWARDED_FOR] = STR_INIT("X-Forwarded-For"),
    [HEADER_VIA] = STR_INIT("Via"),
    [HEADER_TRANSFER_ENCODING] = STR_INIT("Transfer-Encoding"),
    [HEADER_ACCEPT_RANGES] = STR_INIT("Accept-Ranges"),
    [HEADER_AGE] = STR_INIT("Age"),
    [HEADER_ALLOW] = STR_INIT("Allow"),
    [HEADER_ALT_SVC] = STR_INIT("Alt-Svc"),
    [HEADER_CONTENT_DISPOSITION] = STR_INIT("Content-Disposition"),
    [HEADER_CONTENT_ENCODING] = STR_INIT("Content-Encoding"),
    [HEADER_CONTENT_LANGUAGE] = STR_INIT("Content-Language"),
    [HEADER_CONTENT_LOCATION] = STR_INIT("Content-Location"),
    [HEADER_CONTENT_RANGE] = STR_INIT("Content-Range"),
    [HEADER_DATE] = STR_INIT("Date"),
    [HEADER_ETAG] = STR_INIT("ETag"),
    [HEADER_EXPECT] = STR_INIT("Expect"),
    [HEADER_EXPIRES] = STR_INIT("Expires"),
    [HEADER_FORWARDED] = STR_INIT("Forwarded"),
    [HEADER_LAST_MODIFIED] = STR_INIT("Last-Modified"),
    [HEADER_LINK] = STR_INIT("Link"),
    [HEADER_LOCATION] = STR_INIT("Location"),
    [HEADER_ORIGIN] = STR_INIT("Origin"),
    [HEADER_PRIORITY] = STR_INIT("Priority"),
    [HEADER_PROXY] = STR_INIT("Proxy"),
    [HEADER_PROXY_AUTHENTICATE] = STR_INIT("Proxy-Authenticate"),
    [HEADER_PROXY_AUTHORIZATION] = STR_INIT("Proxy-Authorization"),
    [HEADER_PROXY_CONNECTION] = STR_INIT("Proxy-Connection"),
    [HEADER_RETRY_AFTER] = STR_INIT("Retry-After"),
    [HEADER_SERVER] = STR_INIT("Server"),
    [HEADER_SET_COOKIE] = STR_INIT("Set-Cookie"),
    [HEADER_STATUS] = STR_INIT("Status"),
    [HEADER_STRICT_TRANSPORT_SECURITY] = STR_INIT("Strict-Transport-Security"),
    [HEADER_TE] = STR_INIT("TE"),
    [HEADER_TRAILER] = STR_INIT("Trailer"),
    [HEADER_UPGRADE] = STR_INIT("Upgrade"),
    [HEADER_VARY] = STR_INIT("Vary"),
    [HEADER_WWW_AUTHENTICATE] = STR_INIT("WWW-Authenticate"),
    [HEADER_X_ACCEL_REDIRECT] = STR_INIT("X-Accel-Redirect"),
    [HEADER_X_FORWARDED_HOST] = STR_INIT("X-Forwarded-Host"),
    [HEADER_X_FORWARDED_PROTO] = STR_INIT("X-Forwarded-Proto"),
    [HEADER_X_LITESPEED_LOCATION] = STR_INIT("X-LiteSpeed-Location"),
    [HEADER_X_POWERED_BY] = STR_INIT("X-Powered-By"),
    [HEADER_X_REAL_IP] = STR_INIT("X-Real-IP"),
    [HEADER_X_SENDFILE] = STR_INIT("X-Sendfile"),
};

static const uint8_t IDS[PLACES] = {
    [PLACE(6, 'a', 'e', 't')] = HEADER_ACCEPT,
    [PLACE(14, 'a', 'c', 't')] = HEADER_ACCEPT_CHARSET,
    [PLACE(15, 'a', 'e', 'g')] = HEADER_ACCEPT_ENCODING,
    [PLACE(15, 'a', 'l', 'e')] = HEADER_ACCEPT_LANGUAGE,
    [PLACE(13, 'a', 'i', 'n')] = HEADER_AUTHORIZATION,
    [PLACE(10, 'c', 'c', 'n')] = HEADER_CONNECTION,
    [PLACE(12, 'c', 't', 'e')] = HEADER_CONTENT_TYPE,
    [PLACE(14, 'c', '-', 'h')] = HEADER_CONTENT_LENGTH,
    [PLACE(6, 'c', 'k', 'e')] = HEADER_COOKIE,
    [PLACE(7, 'c', 'k', '2')] = HEADER_COOKIE2,
    [PLACE(4, 'h', 's', 't')] = HEADER_HOST,
    [PLACE(6, 'p', 'g', 'a')] = HEADER_PRAGMA,
    [PLACE(7, 'r', 'e', 'r')] = HEADER_REFERER,
    [PLACE(10, 'u', 'a', 't')] = HEADER_USER_AGENT,
    [PLACE(13, 'c', 'c', 'l')] = HEADER_CACHE_CONTROL,
    [PLACE(17, 'i', 'i', 'e')] = HEADER_IF_MODIFIED_SINCE,
    [PLACE(8, 'i', 'a', 'h')] = HEADER_IF_MATCH,
    [PLACE(13, 'i', 'e', 'h')] = HEADER_IF_NONE_MATCH,
    [PLACE(8, 'i', 'a', 'e')] = HEADER_IF_RANGE,
    [PLACE(19, 'i', 'f', 'e')] = HEADER_IF_UNMODIFIED_SINCE,
    [PLACE(10, 'k', 'a', 'e')] = HEADER_KEEP_ALIVE,
    [PLACE(5, 'r', 'n', 'e')] = HEADER_RANGE,
    [PLACE(15, 'x', 'r', 'r')] = HEADER_X_FORWARDED_FOR,
    [PLACE(3, 'v', 'i', 'a')] = HEADER_VIA,
    [PLACE(17, 't', '-', 'g')] = HEADER_TRANSFER_ENCODING,
    [PLACE(13, 'a', '-', 's')] = HEADER_ACCEPT_RANGES,
    [PLACE(3, 'a', 'g', 'e')] = HEADER_AGE,
    [PLACE(5, 'a', 'l', 'w')] = HEADER_ALLOW,
    [PLACE(7, 'a', '-', 'c')] = HEADER_ALT_SVC,
    [PLACE(19, 'c', 'i', 'n')] = HEADER_CONTENT_DISPOSITION,
    [PLACE(16, 'c', 'e', 'g')] = HEADER_CONTENT_ENCODING,
    [PLACE(16, 'c', 'l', 'e')] = HEADER_CONTENT_LANGUAGE,
    [PLACE(16, 'c', 'l', 'n')] = HEADER_CONTENT_LOCATION,
    [PLACE(13, 'c', 't', 'e')] = HEADER_CONTENT_RANGE,
    [PLACE(4, 'd', 't', 'e')] = HEADER_DATE,
    [PLACE(4, 'e', 'a', 'g')] = HEADER_ETAG,
    [PLACE(6, 'e', 'e', 't')] = HEADER_EXPECT,
    [PLACE(7, 'e', 'i', 's')] = HEADER_EXPIRES,
    [PLACE(9, 'f', 'a', 'd')] = HEADER_FORWARDED,
    [PLACE(13, 'l', 'o', 'd')] = HEADER_LAST_MODIFIED,
    [PLACE(4, 'l', 'n', 'k')] = HEADER_LINK,
    [PLACE(8, 'l', 't', 'n')] = HEADER_LOCATION,
    [PLACE(6, 'o', 'g', 'n')] = HEADER_ORIGIN,
    [PLACE(8, 'p', 'r', 'y')] = HEADER_PRIORITY,
    [PLACE(5, 'p', 'o', 'y')] = HEADER_PROXY,
    [PLACE(18, 'p', 'h', 'e')] = HEADER_PROXY_AUTHENTICATE,
    [PLACE(19, 'p', 'h', 'n')] = HEADER_PROXY_AUTHORIZATION,
    [PLACE(16, 'p', 'n', 'n')] = HEADER_PROXY_CONNECTION,
    [PLACE(11, 'r', '-', 'r')] = HEADER_RETRY_AFTER,
    [PLACE(6, 's', 'v', 'r')] = HEADER_SERVER,
    [PLACE(10, 's', 'o', 'e')] = HEADER_SET_COOKIE,
    [PLACE(6, 's', 't', 's')] = HEADER_STATUS,
    [PLACE(25, 's', 'p', 'y')] = HEADER_STRICT_TRANSPORT_SECURITY,
    [PLACE(2, 't', 'e', 'e')] = HEADER_TE,
    [PLACE(7, 't', 'i', 'r')] = HEADER_TRAILER,
    [PLACE(7, 'u', 'r', 'e')] = HEADER_UPGRADE,
    [PLACE(4, 'v', 'r', 'y')] = HEADER_VARY,
    [PLACE(16, 'w', 'e', 'e')] = HEADER_WWW_AUTHENTICATE,
    [PLACE(16, 'x', 'r', 't')] = HEADER_X_ACCEL_REDIRECT,
    [PLACE(16, 'x', 'd', 't')] = HEADER_X_FORWARDED_HOST,
    [PLACE(17, 'x', 'd', 'o')] = HEADER_X_FORWARDED_PROTO,
    [PLACE(20, 'x', 'd', 'n')] = HEADER_X_LITESPEED_LOCATION,
    [PLACE(12, 'x', 'r', 'y')] = HEADER_X_POWERED_BY,
    [PLACE(9, 'x', 'a', 'p')] = HEADER_X_REAL_IP,
    [PLACE(10, 'x', 'd', 'e')] = HEADER_X_SENDFILE,
};

static unsigned fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

enum header_id header_id_find(struct str name)
{
    if (!name.len)
        return HEADER_OTHER;
    unsigned first = fold(name.ptr[0]);
    unsigned mid = fold(name.ptr[name.len / 2]);
    unsigned place = PLACE((unsigned)name.len, first, mid, fold(name.ptr[name.len - 1]));
    unsigned id = IDS[place];
    // Most senders use the usual spelling, and comparing without folding is much faster.
    bool is_it = str_eq(NAMES[id], name) || str_eq_nocase(NAMES[id], name);
    return is_it ? (enum header_id)id : HEADER_OTHER;
}

struct str header_id_name(enum header_id id)
{
    ASSERT((unsigned)id < HEADER_ID_COUNT);
    return NAMES[id];
}

bool header_id_is_hop_by_hop(enum header_id id)
{
    return id == HEADER_CONNECTION || id == HEADER_KEEP_ALIVE || id == HEADER_PROXY_CONNECTION
           || id == HEADER_TE || id == HEADER_TRAILER || id == HEADER_TRANSFER_ENCODING
           || id == HEADER_UPGRADE;
}
