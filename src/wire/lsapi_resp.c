// SPDX-License-Identifier: Apache-2.0
// lsapi_resp -- the server's side of one connection: an app's answer, packet by packet. See
// lsapi.h.
//
//   HEAD --RESP_HEADER--> BODY --RESP_END--> ENDED --CONN_CLOSE--> CLOSED     (on_packet)
//     any state --anything else than STDERR_STREAM and REQ_RECEIVED--> BROKEN (fail)
#include <string.h>

#include "base/buf.h"
#include "wire/lsapi.h"
#include "wire/lsapi_bits.h"

enum phase { PHASE_HEAD, PHASE_BODY, PHASE_ENDED, PHASE_CLOSED, PHASE_BROKEN };

struct lsapi_resp {
    struct buf *hold;   // pieces of a RESP_HEADER packet
    const char *why;    // when BROKEN
    uint32_t head_left; // bytes of a RESP_HEADER packet still missing in `hold`
    uint32_t data_left; // payload bytes of a stream packet still to come
    enum lsapi_event_type data_event;
    enum phase phase;
    bool swapped; // integers of the packet at hand
    bool guessed; // the flag was seen to lie: take the other order, on this connection
    uint8_t first_len;
    char first[LSAPI_HEAD_BYTES + LSAPI_PID_BYTES]; // start of a packet that came in pieces
};

size_t lsapi_resp_size(void)
{
    return sizeof(struct lsapi_resp);
}

void lsapi_resp_reset(struct lsapi_resp *p, struct buf *hold)
{
    buf_take(hold, buf_len(hold));
    *p = (struct lsapi_resp){.hold = hold, .guessed = p->guessed};
}

static struct lsapi_event fail(struct lsapi_resp *p, const char *why)
{
    p->phase = PHASE_BROKEN;
    p->why = why;
    return (struct lsapi_event){.type = LSAPI_EVENT_FAILED, .why = why};
}

static bool length_fits(unsigned type, uint32_t len)
{
    switch (type) {
    case LSAPI_RESP_HEADER:
        return len >= LSAPI_RESP_FIXED_BYTES && len <= LSAPI_RESP_HEAD_BYTES_MAX;
    case LSAPI_RESP_STREAM:
    case LSAPI_STDERR_STREAM:
    case LSAPI_INTERNAL_ERROR:
        return len >= LSAPI_HEAD_BYTES && len <= INT32_MAX;
    case LSAPI_RESP_END:
    case LSAPI_REQ_RECEIVED:
    case LSAPI_CONN_CLOSE:
        return len == LSAPI_HEAD_BYTES;
    default:
        return false;
    }
}

// Reads the length at p->first or in the input; false when the packet's head is malformed.
static bool length_get(struct lsapi_resp *p, const char *packet, uint32_t *out_len)
{
    if (packet[0] != 'L' || packet[1] != 'S')
        return false;
    unsigned type = (unsigned char)packet[2];
    p->swapped = lsapi_bits_flag_differs(packet) != p->guessed;
    uint32_t len = lsapi_bits_get32(packet + 4, p->swapped);
    if (!length_fits(type, len)) {
        len = lsapi_bits_get32(packet + 4, !p->swapped);
        if (!length_fits(type, len))
            return false;
        p->swapped = !p->swapped;
        p->guessed = !p->guessed;
    }
    *out_len = len;
    return true;
}

static struct lsapi_event on_head(struct lsapi_resp *p, struct str packet)
{
    uint32_t count = lsapi_bits_get32(packet.ptr + LSAPI_AT_RESP_COUNT, p->swapped);
    uint32_t status = lsapi_bits_get32(packet.ptr + LSAPI_AT_RESP_STATUS, p->swapped);
    size_t place = LSAPI_RESP_FIXED_BYTES + 2 * (size_t)count;
    if (count >= LSAPI_RESP_HEADERS_MAX || place > packet.len)
        return fail(p, "too many response headers");
    if (status && (status < 100 || status > 999))
        return fail(p, "status out of range");
    for (size_t i = 0; i < count; i++) {
        size_t len = lsapi_bits_get16(packet.ptr + LSAPI_RESP_FIXED_BYTES + 2 * i, p->swapped);
        if (!len || len > packet.len - place || packet.ptr[place + len - 1])
            return fail(p, "malformed response header");
        place += len;
    }
    if (place != packet.len)
        return fail(p, "response head of a wrong length");
    p->phase = PHASE_BODY;
    return (struct lsapi_event){.type = LSAPI_EVENT_HEAD, .status = (int)status, .head = packet};
}

// The next piece of a RESP_HEADER packet that came in pieces.
static struct lsapi_event feed_head(struct lsapi_resp *p, struct str *in)
{
    struct str piece = str_slice(*in, 0, p->head_left);
    if (!buf_put(p->hold, piece))
        return fail(p, "response head too long");
    *in = str_skip(*in, piece.len);
    p->head_left -= (uint32_t)piece.len;
    if (p->head_left)
        return (struct lsapi_event){.type = LSAPI_EVENT_AGAIN};
    return on_head(p, buf_view(p->hold));
}

static struct lsapi_event feed_data(struct lsapi_resp *p, struct str *in)
{
    struct str piece = str_slice(*in, 0, p->data_left);
    *in = str_skip(*in, piece.len);
    p->data_left -= (uint32_t)piece.len;
    return (struct lsapi_event){.type = p->data_event, .bytes = piece};
}

static struct lsapi_event on_end(struct lsapi_resp *p, unsigned type)
{
    if (type == LSAPI_RESP_END) {
        if (p->phase == PHASE_HEAD)
            return fail(p, "end without a response head");
        p->phase = PHASE_ENDED;
        return (struct lsapi_event){.type = LSAPI_EVENT_END};
    }
    // In the middle of an answer it tells what follows its end.
    if (p->phase != PHASE_BODY)
        p->phase = PHASE_CLOSED;
    return (struct lsapi_event){.type = LSAPI_EVENT_CLOSE};
}

// A packet whose head stands at `start`; a payload follows in *in, save what `start` holds of it.
// AGAIN: nothing to tell, go on.
static struct lsapi_event on_packet(struct lsapi_resp *p, struct str start, uint32_t len,
                                    struct str *in)
{
    unsigned type = (unsigned char)start.ptr[2];
    if (p->phase >= PHASE_ENDED && type != LSAPI_CONN_CLOSE && type != LSAPI_REQ_RECEIVED)
        return fail(p, "packet after the end of the response");
    switch (type) {
    case LSAPI_REQ_RECEIVED:
        return (struct lsapi_event){.type = LSAPI_EVENT_RECEIVED};
    case LSAPI_RESP_HEADER:
        if (p->phase != PHASE_HEAD)
            return fail(p, "second response head");
        p->head_left = len - LSAPI_HEAD_BYTES;
        buf_take(p->hold, buf_len(p->hold));
        if (!buf_put(p->hold, start))
            return fail(p, "response head too long");
        return feed_head(p, in);
    case LSAPI_RESP_STREAM:
        if (p->phase != PHASE_BODY)
            return fail(p, "response body before its head");
        p->data_event = LSAPI_EVENT_DATA;
        p->data_left = len - LSAPI_HEAD_BYTES;
        return (struct lsapi_event){.type = LSAPI_EVENT_AGAIN};
    case LSAPI_STDERR_STREAM:
        p->data_event = LSAPI_EVENT_STDERR;
        p->data_left = len - LSAPI_HEAD_BYTES;
        return (struct lsapi_event){.type = LSAPI_EVENT_AGAIN};
    case LSAPI_RESP_END:
    case LSAPI_CONN_CLOSE:
        return on_end(p, type);
    default:
        return fail(p, "the app reports an internal error");
    }
}

// A log packet of the pid notice's length: `packet` is whole.
static struct lsapi_event on_short_log(struct lsapi_resp *p, struct str packet)
{
    if (p->phase >= PHASE_ENDED)
        return fail(p, "packet after the end of the response");
    struct str payload = str_skip(packet, LSAPI_HEAD_BYTES);
    if (memcmp(payload.ptr, LSAPI_PID_MARK, 4) != 0)
        return (struct lsapi_event){.type = LSAPI_EVENT_STDERR, .bytes = payload};
    int32_t pid = (int32_t)lsapi_bits_get32(payload.ptr + 4, p->swapped);
    return (struct lsapi_event){.type = LSAPI_EVENT_PID, .pid = pid};
}

static bool is_short_log(const char *packet, uint32_t len)
{
    return packet[2] == LSAPI_STDERR_STREAM && len == LSAPI_HEAD_BYTES + LSAPI_PID_BYTES;
}

// Moves bytes from *in to p->first until it holds `want`; false when the input ends before.
static bool collect(struct lsapi_resp *p, size_t want, struct str *in)
{
    size_t count = want - p->first_len < in->len ? want - p->first_len : in->len;
    memcpy(p->first + p->first_len, in->ptr, count);
    p->first_len = (uint8_t)(p->first_len + count);
    *in = str_skip(*in, count);
    return p->first_len == want;
}

// The start of a packet, in pieces or too short to be taken at once.
static struct lsapi_event feed_start(struct lsapi_resp *p, struct str *in)
{
    uint32_t len;
    if (p->first_len < LSAPI_HEAD_BYTES && !collect(p, LSAPI_HEAD_BYTES, in))
        return (struct lsapi_event){.type = LSAPI_EVENT_AGAIN};
    if (!length_get(p, p->first, &len))
        return fail(p, "malformed packet");
    if (is_short_log(p->first, len)) {
        if (!collect(p, LSAPI_HEAD_BYTES + LSAPI_PID_BYTES, in))
            return (struct lsapi_event){.type = LSAPI_EVENT_AGAIN};
        p->first_len = 0;
        return on_short_log(p, str_n(p->first, LSAPI_HEAD_BYTES + LSAPI_PID_BYTES));
    }
    p->first_len = 0;
    return on_packet(p, str_n(p->first, LSAPI_HEAD_BYTES), len, in);
}

// The usual case: the packet's head, or a whole RESP_HEADER, lies in the input.
static struct lsapi_event take_packet(struct lsapi_resp *p, struct str *in)
{
    uint32_t len;
    if (!length_get(p, in->ptr, &len))
        return fail(p, "malformed packet");
    if (is_short_log(in->ptr, len))
        return feed_start(p, in);
    struct str start = str_slice(*in, 0, LSAPI_HEAD_BYTES);
    if (in->ptr[2] == LSAPI_RESP_HEADER && len <= in->len && p->phase == PHASE_HEAD) {
        struct str packet = str_slice(*in, 0, len);
        *in = str_skip(*in, len);
        return on_head(p, packet);
    }
    *in = str_skip(*in, LSAPI_HEAD_BYTES);
    return on_packet(p, start, len, in);
}

struct lsapi_event lsapi_resp_next(struct lsapi_resp *p, struct str *in)
{
    if (p->phase == PHASE_BROKEN)
        return (struct lsapi_event){.type = LSAPI_EVENT_FAILED, .why = p->why};
    while (in->len) {
        struct lsapi_event event;
        if (p->data_left)
            event = feed_data(p, in);
        else if (p->head_left)
            event = feed_head(p, in);
        else if (p->first_len || in->len < LSAPI_HEAD_BYTES)
            event = feed_start(p, in);
        else
            event = take_packet(p, in);
        if (event.type != LSAPI_EVENT_AGAIN)
            return event;
    }
    return (struct lsapi_event){.type = LSAPI_EVENT_AGAIN};
}
