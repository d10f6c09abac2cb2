// SPDX-License-Identifier: Apache-2.0
// h1_chunk -- see h1_chunk.h.
//
//   SIZE_FIRST --digit--> SIZE --CR--> SIZE_LF --size > 0--> BODY --> BODY_CR --> BODY_LF -+
//       ^                  |  \        ^   |                                              |
//       |                  |   SPACE   |   +--size 0--> TRAILER_FIRST --CR--> END_LF      |
//       |                  v   v       |                 | other ^              |         |
//       |                 EXTENSION -CR+                 v       |              v         |
//       |                                        TRAILER --> TRAILER_LF        DONE       |
//       +---------------------------------------------------------------------------------+
//
// step_line() takes all these arrows but those of BODY, which h1_chunk_feed() takes in one piece.
#include "wire/h1_chunk.h"

#include <stdbool.h>

#include "base/assert.h"

// 15 hexadecimal digits stay below 2^60: no overflow, and room to add.
static const uint64_t SIZE_LIMIT = (uint64_t)1 << 56;

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

// A trailer line is text that begins with no white space: no folding (RFC 9112 §5.2).
static enum h1_chunk_state step_trailer_first(char byte)
{
    if (byte == '\r')
        return H1_CHUNK_END_LF;
    return is_text(byte) && byte != ' ' && byte != '\t' ? H1_CHUNK_TRAILER : H1_CHUNK_BROKEN;
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
        return step_trailer_first(byte);
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
    bool is_trailer = c->state == H1_CHUNK_TRAILER_FIRST || c->state == H1_CHUNK_TRAILER
                      || c->state == H1_CHUNK_TRAILER_LF;
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
