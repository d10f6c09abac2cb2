// SPDX-License-Identifier: Apache-2.0
// h1_chunk -- see h1_chunk.h.
//
//   SIZE_FIRST --digit--> SIZE --CR--> SIZE_LF --size > 0--> BODY --> BODY_CR --> BODY_LF -+
//       ^                  |  \        ^   |                                              |
//       |                  |   SPACE   |   +--size 0--> TRAILER_FIRST --CR--> END_LF      |
//       |                  v   v       |                 |     ^                |         |
//       |                 EXTENSION -CR+                 v     +---------+      v         |
//       |                                 TRAILER_NAME --> TRAILER --> TRAILER_LF  DONE   |
//       +---------------------------------------------------------------------------------+
//
// step_line() takes all these arrows but those of BODY, which h1_chunk_feed() takes in one piece.
#include "wire/h1_chunk.h"

#include <stdbool.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "http/header.h"

// 15 hexadecimal digits stay below 2^60: no overflow, and room to add.
static const uint64_t SIZE_LIMIT = (uint64_t)1 << 56;

// Framing, routing, conditions, authentication and what says how content is to be read (RFC 9110
// §6.5.1).
static const struct str FORBIDDEN[] = {
    STR_INIT("Authorization"),
    STR_INIT("Cache-Control"),
    STR_INIT("Connection"),
    STR_INIT("Content-Encoding"),
    STR_INIT("Content-Length"),
    STR_INIT("Content-Range"),
    STR_INIT("Content-Type"),
    STR_INIT("Cookie"),
    STR_INIT("Expect"),
    STR_INIT("Forwarded"),
    STR_INIT("Host"),
    STR_INIT("If-Match"),
    STR_INIT("If-Modified-Since"),
    STR_INIT("If-None-Match"),
    STR_INIT("If-Range"),
    STR_INIT("If-Unmodified-Since"),
    STR_INIT("Keep-Alive"),
    STR_INIT("Max-Forwards"),
    STR_INIT("Pragma"),
    STR_INIT("Proxy-Authorization"),
    STR_INIT("Range"),
    STR_INIT("Set-Cookie"),
    STR_INIT("TE"),
    STR_INIT("Trailer"),
    STR_INIT("Transfer-Encoding"),
    STR_INIT("Upgrade"),
    STR_INIT("X-Forwarded-For"),
    STR_INIT("X-Forwarded-Host"),
    STR_INIT("X-Forwarded-Proto"),
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Extensions and trailers hold no control byte but HTAB; their content means nothing to us.
static bool is_text(char c)
{
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

// White space before an extension is allowed, with nothing but the extension behind it (RFC 9112
// §7.1.1): other readers could take "5 5" for another size.
static enum h1_chunk_state step_size_space(char byte)
{
    if (byte == ';')
        return H1_CHUNK_EXTENSION;
    return byte == ' ' || byte == '\t' ? H1_CHUNK_SIZE_SPACE : H1_CHUNK_BROKEN;
}

static enum h1_chunk_state step_size(struct h1_chunk *c, char byte)
{
    int digit = hex_digit(byte);
    if (digit >= 0) {
        if (c->left >= SIZE_LIMIT)
            return H1_CHUNK_BROKEN;
        c->left = c->left * 16 + (uint64_t)digit;
        return H1_CHUNK_SIZE;
    }
    if (c->state == H1_CHUNK_SIZE_FIRST)
        return H1_CHUNK_BROKEN;
    return byte == '\r' ? H1_CHUNK_SIZE_LF : step_size_space(byte);
}

static enum h1_chunk_state step_size_end(struct h1_chunk *c)
{
    c->line_bytes = 0;
    return c->left ? H1_CHUNK_BODY : H1_CHUNK_TRAILER_FIRST;
}

static bool is_forbidden(const struct h1_chunk *c)
{
    if (c->name_len > sizeof c->name)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(FORBIDDEN); i++)
        if (str_eq_nocase(str_n(c->name, c->name_len), FORBIDDEN[i]))
            return true;
    return false;
}

// A name is a token with the colon right behind it, so no line is folded either (RFC 9112 §5.1,
// §5.2).
static enum h1_chunk_state step_name(struct h1_chunk *c, char byte)
{
    if (byte == ':')
        return c->name_len == 0 || is_forbidden(c) ? H1_CHUNK_BROKEN : H1_CHUNK_TRAILER;
    if (!header_is_token(str_n(&byte, 1)))
        return H1_CHUNK_BROKEN;
    if (c->name_len < sizeof c->name)
        c->name[c->name_len] = byte;
    c->name_len++;
    return H1_CHUNK_TRAILER_NAME;
}

static enum h1_chunk_state step_trailer_first(struct h1_chunk *c, char byte)
{
    c->name_len = 0;
    return byte == '\r' ? H1_CHUNK_END_LF : step_name(c, byte);
}

static enum h1_chunk_state step_text(enum h1_chunk_state here, char byte,
                                     enum h1_chunk_state after_cr)
{
    if (byte == '\r')
        return after_cr;
    return is_text(byte) ? here : H1_CHUNK_BROKEN;
}

// The state after one byte outside of a chunk's content.
static enum h1_chunk_state step_line(struct h1_chunk *c, char byte)
{
    switch (c->state) {
    case H1_CHUNK_SIZE_FIRST:
    case H1_CHUNK_SIZE:
        return step_size(c, byte);
    case H1_CHUNK_SIZE_SPACE:
        return step_size_space(byte);
    case H1_CHUNK_EXTENSION:
        return step_text(H1_CHUNK_EXTENSION, byte, H1_CHUNK_SIZE_LF);
    case H1_CHUNK_SIZE_LF:
        return byte == '\n' ? step_size_end(c) : H1_CHUNK_BROKEN;
    case H1_CHUNK_BODY_CR:
        return byte == '\r' ? H1_CHUNK_BODY_LF : H1_CHUNK_BROKEN;
    case H1_CHUNK_BODY_LF:
        c->line_bytes = 0;
        return byte == '\n' ? H1_CHUNK_SIZE_FIRST : H1_CHUNK_BROKEN;
    case H1_CHUNK_TRAILER_FIRST:
        return step_trailer_first(c, byte);
    case H1_CHUNK_TRAILER_NAME:
        return step_name(c, byte);
    case H1_CHUNK_TRAILER:
        return step_text(H1_CHUNK_TRAILER, byte, H1_CHUNK_TRAILER_LF);
    case H1_CHUNK_TRAILER_LF:
        return byte == '\n' ? H1_CHUNK_TRAILER_FIRST : H1_CHUNK_BROKEN;
    case H1_CHUNK_END_LF:
        return byte == '\n' ? H1_CHUNK_DONE : H1_CHUNK_BROKEN;
    case H1_CHUNK_BODY:
    case H1_CHUNK_DONE:
    case H1_CHUNK_BROKEN:
    case H1_CHUNK_OVERLONG:
        break;
    }
    ASSERT(false); // not a state within a line
}

static bool is_over_limit(const struct h1_chunk *c)
{
    bool is_trailer = c->state == H1_CHUNK_TRAILER_FIRST || c->state == H1_CHUNK_TRAILER_NAME
                      || c->state == H1_CHUNK_TRAILER || c->state == H1_CHUNK_TRAILER_LF;
    return c->line_bytes > (is_trailer ? H1_CHUNK_TRAILER_BYTES_MAX : H1_CHUNK_LINE_BYTES_MAX);
}

static struct str take_body(struct h1_chunk *c, struct str *in)
{
    struct str data = *in;
    if (data.len > c->left)
        data.len = (size_t)c->left;
    *in = str_skip(*in, data.len);
    c->left -= data.len;
    if (c->left == 0)
        c->state = H1_CHUNK_BODY_CR;
    return data;
}

enum h1_chunk_result h1_chunk_feed(struct h1_chunk *c, struct str *in, struct str *out_data)
{
    while (c->state != H1_CHUNK_DONE) {
        if (c->state == H1_CHUNK_BROKEN)
            return H1_CHUNK_BAD;
        if (c->state == H1_CHUNK_OVERLONG)
            return H1_CHUNK_TOO_LONG;
        if (!in->len)
            return H1_CHUNK_AGAIN;
        if (c->state == H1_CHUNK_BODY) {
            *out_data = take_body(c, in);
            return H1_CHUNK_DATA;
        }
        c->line_bytes++;
        c->state = is_over_limit(c) ? H1_CHUNK_OVERLONG : step_line(c, in->ptr[0]);
        *in = str_skip(*in, 1);
    }
    return H1_CHUNK_END;
}

void h1_chunk_put_head(struct wr *w, uint64_t size)
{
    ASSERT(size > 0);
    wr_hex(w, size);
    wr_bytes(w, STR("\r\n"));
}

void h1_chunk_put_tail(struct wr *w)
{
    wr_bytes(w, STR("\r\n"));
}

void h1_chunk_put_last(struct wr *w)
{
    wr_bytes(w, STR("0\r\n\r\n"));
}
