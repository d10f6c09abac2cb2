// SPDX-License-Identifier: Apache-2.0
// fcgi -- see fcgi.h.
#include "wire/fcgi.h"

#include <string.h>

#include "base/rd.h"

#define VERSION        1
#define REQUEST_ID     1
#define ROLE_RESPONDER 1
#define LENGTH_SHORT   127 // longer names and values have four bytes of length

static void put_head(struct wr *w, enum fcgi_type type, unsigned id, size_t content_bytes)
{
    wr_u8(w, VERSION);
    wr_u8(w, (uint8_t)type);
    wr_u16be(w, (uint16_t)id);
    wr_u16be(w, (uint16_t)content_bytes);
    wr_u16be(w, 0); // no padding; reserved
}

void fcgi_put_begin(struct wr *w)
{
    put_head(w, FCGI_BEGIN_REQUEST, REQUEST_ID, FCGI_BEGIN_BYTES - FCGI_HEAD_BYTES);
    wr_u16be(w, ROLE_RESPONDER);
    wr_u8(w, 0); // flags: close afterwards
    wr_u8(w, 0);
    wr_u32be(w, 0);
}

void fcgi_put_head(struct wr *w, enum fcgi_type type, size_t content_bytes)
{
    put_head(w, type, type == FCGI_GET_VALUES ? 0 : REQUEST_ID, content_bytes);
}

static void put_length(struct wr *w, size_t len)
{
    if (len <= LENGTH_SHORT)
        wr_u8(w, (uint8_t)len);
    else
        wr_u32be(w, (uint32_t)len | 0x80000000u);
}

bool fcgi_put_pair(struct buf *out, struct str name, struct str value)
{
    char room[8];
    struct wr w = {.ptr = room, .size = sizeof room};
    if (name.len > INT32_MAX || value.len > INT32_MAX)
        return false;
    put_length(&w, name.len);
    put_length(&w, value.len);
    return buf_put(out, wr_view(&w)) && buf_put(out, name) && buf_put(out, value);
}

bool fcgi_put_params(struct buf *out, struct str pairs)
{
    for (bool more = true; more;) {
        char room[FCGI_HEAD_BYTES];
        struct wr w = {.ptr = room, .size = sizeof room};
        struct str piece = str_slice(pairs, 0, FCGI_CONTENT_MAX);
        more = piece.len > 0;
        pairs = str_skip(pairs, piece.len);
        fcgi_put_head(&w, FCGI_PARAMS, piece.len);
        if (!buf_put(out, wr_view(&w)) || !buf_put(out, piece))
            return false;
    }
    return true;
}

// Fills p->room from the input; true when it is full, and may be filled anew.
static bool collect(struct fcgi_resp *p, struct str *in)
{
    struct str piece = str_slice(*in, 0, FCGI_HEAD_BYTES - p->room_len);
    if (piece.len)
        memcpy(p->room + p->room_len, piece.ptr, piece.len);
    p->room_len += piece.len;
    *in = str_skip(*in, piece.len);
    if (p->room_len < FCGI_HEAD_BYTES)
        return false;
    p->room_len = 0;
    return true;
}

static struct fcgi_event fail(const char *why)
{
    return (struct fcgi_event){.type = FCGI_EVENT_FAILED, .why = why};
}

// Begins the record whose head is there; NULL, or why not.
static const char *begin(struct fcgi_resp *p)
{
    struct rd r = {.left = str_n(p->room, FCGI_HEAD_BYTES)};
    unsigned version = rd_u8(&r);
    unsigned type = rd_u8(&r);
    unsigned id = rd_u16be(&r);
    p->content_left = rd_u16be(&r);
    p->padding_left = rd_u8(&r);
    if (version != VERSION)
        return "it does not speak FastCGI";
    if (type != FCGI_STDOUT && type != FCGI_STDERR && type != FCGI_END_REQUEST)
        return "it sent a FastCGI record that is no answer";
    if (id != REQUEST_ID)
        return "it answered another FastCGI request";
    if (type == FCGI_END_REQUEST && p->content_left != FCGI_HEAD_BYTES)
        return "its end of a FastCGI request has the wrong length";
    p->type = (enum fcgi_type)type;
    p->state = type == FCGI_END_REQUEST ? FCGI_RESP_END : FCGI_RESP_CONTENT;
    return NULL;
}

// Skips padding; true when it has passed.
static bool skip_padding(struct fcgi_resp *p, struct str *in)
{
    struct str piece = str_slice(*in, 0, p->padding_left);
    *in = str_skip(*in, piece.len);
    p->padding_left -= piece.len;
    if (p->padding_left)
        return false;
    p->state = FCGI_RESP_HEAD;
    return true;
}

static struct fcgi_event take_content(struct fcgi_resp *p, struct str *in)
{
    struct str bytes = str_slice(*in, 0, p->content_left);
    *in = str_skip(*in, bytes.len);
    p->content_left -= bytes.len;
    return (struct fcgi_event){
        .type = p->type == FCGI_STDOUT ? FCGI_EVENT_STDOUT : FCGI_EVENT_STDERR, .bytes = bytes};
}

struct fcgi_event fcgi_resp_next(struct fcgi_resp *p, struct str *in)
{
    static const struct fcgi_event AGAIN = {.type = FCGI_EVENT_AGAIN};
    for (;;) {
        const char *why;
        switch (p->state) {
        case FCGI_RESP_HEAD:
            if (!collect(p, in))
                return AGAIN;
            why = begin(p);
            if (why)
                return fail(why);
            break;
        case FCGI_RESP_CONTENT:
            if (p->content_left && !in->len)
                return AGAIN;
            if (p->content_left)
                return take_content(p, in);
            p->state = FCGI_RESP_PADDING;
            break;
        case FCGI_RESP_END:
            if (!collect(p, in))
                return AGAIN;
            p->state = FCGI_RESP_PADDING;
            // 4 bytes of the program's status, one of the protocol's, 3 reserved.
            if (p->room[4] != 0)
                return fail("it refused the FastCGI request");
            return (struct fcgi_event){.type = FCGI_EVENT_END};
        case FCGI_RESP_PADDING:
            if (!skip_padding(p, in))
                return AGAIN;
            break;
        }
    }
}
