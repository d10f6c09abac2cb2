// SPDX-License-Identifier: Apache-2.0
// lsapi -- see lsapi.h: names, packet heads, and everything that is encoded. Decoding is in
// lsapi_resp.c (server side) and lsapi_view.c (application side).
//
// A BEGIN_REQUEST packet, in order: 44 fixed bytes; special list; environment list; padding to a
// multiple of 8 from the packet's start; index of known headers; table of the others; raw block.
#include "wire/lsapi.h"

#include <string.h>

#include "base/assert.h"
#include "wire/lsapi_bits.h"

#define RESP_LINE_BYTES_MAX 32766 // its length with NUL is a signed 16-bit field at some peers

STATIC_ASSERT(HEADER_TRANSFER_ENCODING == LSAPI_KNOWN_HEADERS);
STATIC_ASSERT(LSAPI_RESP_HEADERS_MAX <= 0xfff + 1); // lsapi_head_next packs a number below it

static const struct str CGI_NAMES[LSAPI_KNOWN_HEADERS] = {
    STR_INIT("HTTP_ACCEPT"),
    STR_INIT("HTTP_ACCEPT_CHARSET"),
    STR_INIT("HTTP_ACCEPT_ENCODING"),
    STR_INIT("HTTP_ACCEPT_LANGUAGE"),
    STR_INIT("HTTP_AUTHORIZATION"),
    STR_INIT("HTTP_CONNECTION"),
    STR_INIT("CONTENT_TYPE"),
    STR_INIT("CONTENT_LENGTH"),
    STR_INIT("HTTP_COOKIE"),
    STR_INIT("HTTP_COOKIE2"),
    STR_INIT("HTTP_HOST"),
    STR_INIT("HTTP_PRAGMA"),
    STR_INIT("HTTP_REFERER"),
    STR_INIT("HTTP_USER_AGENT"),
    STR_INIT("HTTP_CACHE_CONTROL"),
    STR_INIT("HTTP_IF_MODIFIED_SINCE"),
    STR_INIT("HTTP_IF_MATCH"),
    STR_INIT("HTTP_IF_NONE_MATCH"),
    STR_INIT("HTTP_IF_RANGE"),
    STR_INIT("HTTP_IF_UNMODIFIED_SINCE"),
    STR_INIT("HTTP_KEEP_ALIVE"),
    STR_INIT("HTTP_RANGE"),
    STR_INIT("HTTP_X_FORWARDED_FOR"),
    STR_INIT("HTTP_VIA"),
    STR_INIT("HTTP_TRANSFER_ENCODING"),
};

struct str lsapi_known_header_name(unsigned slot)
{
    ASSERT(slot < LSAPI_KNOWN_HEADERS);
    return header_id_name((enum header_id)(slot + 1));
}

struct str lsapi_known_cgi_name(unsigned slot)
{
    ASSERT(slot < LSAPI_KNOWN_HEADERS);
    return CGI_NAMES[slot];
}

// ---- BEGIN_REQUEST. The size is summed up first, so that filling needs no checks.

struct layout {
    size_t index_at, unknown_at, raw_at, end;
    uint32_t unknown_count;
    bool has_content_length;
};

// Adds the bytes of one list with its terminator to *at; false when an entry or the count is over a
// limit.
static bool list_measure(const struct lsapi_pair *list, size_t count, size_t *at)
{
    size_t bytes = *at;
    if (count > LSAPI_ENV_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (list[i].name.len > LSAPI_VALUE_BYTES_MAX || list[i].value.len > LSAPI_VALUE_BYTES_MAX)
            return false;
        bytes += 4 + list[i].name.len + 1 + list[i].value.len + 1;
    }
    *at = bytes + 4;
    return true;
}

static bool is_known(const struct header *hdr)
{
    return hdr->id >= 1 && hdr->id <= LSAPI_KNOWN_HEADERS;
}

static struct lsapi_pair request_id_entry(const struct lsapi_request *req)
{
    return (struct lsapi_pair){STR(LSAPI_REQUEST_ID_NAME), req->request_id};
}

static bool request_measure(const struct lsapi_request *req, struct layout *out)
{
    size_t at = LSAPI_FIXED_BYTES;
    struct lsapi_pair id = request_id_entry(req);
    if (req->request_id.len) {
        if (req->special_count == LSAPI_ENV_MAX || !list_measure(&id, 1, &at))
            return false;
        at -= 4; // its list goes on
    }
    if (!list_measure(req->special, req->special_count, &at)
        || !list_measure(req->env, req->env_count, &at))
        return false;
    struct layout lay = {.index_at = (at + 7) & ~(size_t)7};
    uint32_t seen = 0;
    size_t raw = req->request_line.len + 2 + 2;
    for (size_t i = 0; i < req->header_count; i++) {
        const struct header *hdr = &req->headers[i];
        if (hdr->name.len > LSAPI_REQUEST_BYTES_MAX || hdr->value.len > LSAPI_REQUEST_BYTES_MAX)
            return false;
        raw += hdr->name.len + 2 + hdr->value.len + 2;
        uint32_t bit = is_known(hdr) ? 1u << hdr->id : 0;
        if (!bit || seen & bit)
            lay.unknown_count++;
        seen |= bit;
    }
    lay.has_content_length = seen & 1u << HEADER_CONTENT_LENGTH;
    lay.unknown_at = lay.index_at + LSAPI_INDEX_BYTES;
    lay.raw_at = lay.unknown_at + (size_t)lay.unknown_count * LSAPI_UNKNOWN_BYTES;
    lay.end = lay.raw_at + raw;
    *out = lay;
    return lay.end <= LSAPI_REQUEST_BYTES_MAX;
}

// Most names and values are short: two overlapping moves of a fixed size need no call. A request
// has some fifty of them, and this makes its packet in two thirds of the time.
static char *put_bytes(char *to, struct str s)
{
    if (s.len > 16) {
        memcpy(to, s.ptr, s.len);
    } else if (s.len >= 8) {
        memcpy(to, s.ptr, 8);
        memcpy(to + s.len - 8, s.ptr + s.len - 8, 8);
    } else if (s.len >= 4) {
        memcpy(to, s.ptr, 4);
        memcpy(to + s.len - 4, s.ptr + s.len - 4, 4);
    } else {
        for (size_t i = 0; i < s.len; i++)
            to[i] = s.ptr[i];
    }
    return to + s.len;
}

static char *put_entry(char *to, const struct lsapi_pair *pair)
{
    size_t name_len = pair->name.len + 1;
    size_t value_len = pair->value.len + 1;
    *to++ = (char)(name_len >> 8);
    *to++ = (char)name_len;
    *to++ = (char)(value_len >> 8);
    *to++ = (char)value_len;
    to = put_bytes(to, pair->name);
    *to++ = 0;
    to = put_bytes(to, pair->value);
    *to++ = 0;
    return to;
}

// Tells which of the four offset fields an environment entry belongs to; 0: none.
static size_t offset_field(struct str name)
{
    switch (name.len) {
    case 11:
        return memcmp(name.ptr, "SCRIPT_NAME", 11) == 0 ? LSAPI_AT_SCRIPT_NAME : 0;
    case 12:
        return memcmp(name.ptr, "QUERY_STRING", 12) == 0 ? LSAPI_AT_QUERY : 0;
    case 14:
        return memcmp(name.ptr, "REQUEST_METHOD", 14) == 0 ? LSAPI_AT_METHOD : 0;
    case 15:
        return memcmp(name.ptr, "SCRIPT_FILENAME", 15) == 0 ? LSAPI_AT_SCRIPT_FILE : 0;
    default:
        return 0;
    }
}

static void put_lists(char *packet, const struct lsapi_request *req, size_t index_at)
{
    char *to = packet + LSAPI_FIXED_BYTES;
    for (size_t i = 0; i < req->special_count; i++)
        to = put_entry(to, &req->special[i]);
    struct lsapi_pair id = request_id_entry(req);
    if (req->request_id.len)
        to = put_entry(to, &id);
    memset(to, 0, 4);
    to += 4;
    unsigned found = 0;
    for (size_t i = 0; i < req->env_count; i++) {
        size_t field = offset_field(req->env[i].name);
        if (field) {
            lsapi_bits_put32(packet + field,
                             (uint32_t)(to - packet + 4) + (uint32_t)req->env[i].name.len + 1);
            found |= 1u << (field - LSAPI_AT_SCRIPT_FILE) / 4;
        }
        to = put_entry(to, &req->env[i]);
    }
    ASSERT(found == 0xf); // all four are in the list
    memset(to, 0, (size_t)(packet + index_at - to));
}

static void put_headers(char *packet, const struct lsapi_request *req, const struct layout *lay)
{
    char *raw = packet + lay->raw_at;
    char *to = raw;
    char *index = packet + lay->index_at;
    char *unknown = packet + lay->unknown_at;
    uint32_t seen = 0;
    memset(index, 0, LSAPI_INDEX_BYTES);
    to = put_bytes(to, req->request_line);
    *to++ = '\r';
    *to++ = '\n';
    for (size_t i = 0; i < req->header_count; i++) {
        const struct header *hdr = &req->headers[i];
        uint32_t name_at = (uint32_t)(to - raw);
        uint32_t value_at = name_at + (uint32_t)hdr->name.len + 2;
        uint32_t bit = is_known(hdr) ? 1u << hdr->id : 0;
        if (!bit || seen & bit) {
            lsapi_bits_put32(unknown, name_at);
            lsapi_bits_put32(unknown + 4, (uint32_t)hdr->name.len);
            lsapi_bits_put32(unknown + 8, value_at);
            lsapi_bits_put32(unknown + 12, (uint32_t)hdr->value.len);
            unknown += LSAPI_UNKNOWN_BYTES;
        } else {
            size_t slot = hdr->id - 1u;
            lsapi_bits_put16(index + 2 * slot, (uint16_t)hdr->value.len);
            lsapi_bits_put32(index + LSAPI_INDEX_OFFSETS_AT + 4 * slot, value_at);
        }
        seen |= bit;
        to = put_bytes(to, hdr->name);
        *to++ = ':';
        *to++ = ' ';
        to = put_bytes(to, hdr->value);
        *to++ = '\r';
        *to++ = '\n';
    }
    *to++ = '\r';
    *to++ = '\n';
    ASSERT(to == packet + lay->end);
}

bool lsapi_put_request(struct wr *w, const struct lsapi_request *req)
{
    struct layout lay;
    ASSERT(req->body_bytes >= 0);
    if (w->failed || !request_measure(req, &lay) || lay.end > w->size - w->len) {
        w->failed = true;
        return false;
    }
    int32_t body = (int32_t)req->body_bytes;
    if (req->body_bytes > INT32_MAX) {
        ASSERT(lay.has_content_length);
        body = LSAPI_BODY_SEE_CONTENT_LENGTH;
    }
    char *packet = w->ptr + w->len;
    lsapi_bits_put_head(packet, LSAPI_BEGIN_REQUEST, (uint32_t)lay.end);
    lsapi_bits_put32(packet + LSAPI_AT_RAW_LEN, (uint32_t)(lay.end - lay.raw_at));
    lsapi_bits_put32(packet + LSAPI_AT_BODY_LEN, (uint32_t)body);
    lsapi_bits_put32(packet + LSAPI_AT_UNKNOWN_COUNT, lay.unknown_count);
    lsapi_bits_put32(packet + LSAPI_AT_ENV_COUNT, (uint32_t)req->env_count);
    lsapi_bits_put32(packet + LSAPI_AT_SPECIAL_COUNT,
                     (uint32_t)req->special_count + (req->request_id.len ? 1 : 0));
    put_lists(packet, req, lay.index_at);
    put_headers(packet, req, &lay);
    w->len += lay.end;
    return true;
}

// ---- what an app sends

void lsapi_put_packet(struct wr *w, enum lsapi_type type, size_t payload_bytes)
{
    ASSERT(payload_bytes <= INT32_MAX - LSAPI_HEAD_BYTES);
    char head[LSAPI_HEAD_BYTES];
    lsapi_bits_put_head(head, type, (uint32_t)(LSAPI_HEAD_BYTES + payload_bytes));
    wr_bytes(w, str_n(head, sizeof head));
}

void lsapi_put_pid(struct wr *w, int32_t pid)
{
    char payload[LSAPI_PID_BYTES];
    memcpy(payload, LSAPI_PID_MARK, 4);
    lsapi_bits_put32(payload + 4, (uint32_t)pid);
    lsapi_put_packet(w, LSAPI_STDERR_STREAM, sizeof payload);
    wr_bytes(w, str_n(payload, sizeof payload));
}

bool lsapi_get_pid(struct str packet, int32_t *out_pid)
{
    char room[LSAPI_PID_NOTICE_BYTES];
    struct wr w = {.ptr = room, .size = sizeof room};
    if (packet.len != sizeof room)
        return false;
    // The number stands last: all before it is always the same, but for the flag of the sender's
    // byte order, and that is ours.
    size_t number = sizeof room - sizeof(int32_t);
    int32_t pid;
    memcpy(&pid, packet.ptr + number, sizeof pid);
    lsapi_put_pid(&w, pid);
    if (pid <= 0 || memcmp(packet.ptr, room, 3) != 0
        || memcmp(packet.ptr + 4, room + 4, number - 4) != 0)
        return false;
    *out_pid = pid;
    return true;
}

void lsapi_put_head_start(struct wr *w, int status, size_t count, size_t lines_bytes)
{
    char fields[LSAPI_RESP_FIXED_BYTES - LSAPI_HEAD_BYTES];
    lsapi_put_packet(w, LSAPI_RESP_HEADER, sizeof fields + 2 * count + lines_bytes);
    lsapi_bits_put32(fields, (uint32_t)count);
    lsapi_bits_put32(fields + 4, (uint32_t)status);
    wr_bytes(w, str_n(fields, sizeof fields));
}

bool lsapi_put_head(struct wr *w, int status, const struct lsapi_pair *lines, size_t count)
{
    size_t lines_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        size_t name_len = lines[i].name.len;
        size_t value_len = lines[i].value.len;
        if (name_len > RESP_LINE_BYTES_MAX || value_len > RESP_LINE_BYTES_MAX
            || name_len + 2 + value_len > RESP_LINE_BYTES_MAX)
            w->failed = true;
        lines_bytes += name_len + 2 + value_len + 1;
    }
    if (w->failed || count >= LSAPI_RESP_HEADERS_MAX
        || LSAPI_RESP_FIXED_BYTES + 2 * count + lines_bytes > w->size - w->len) {
        w->failed = true;
        return false;
    }
    lsapi_put_head_start(w, status, count, lines_bytes);
    for (size_t i = 0; i < count; i++) {
        char field[2];
        lsapi_bits_put16(field, (uint16_t)(lines[i].name.len + 2 + lines[i].value.len + 1));
        wr_bytes(w, str_n(field, sizeof field));
    }
    for (size_t i = 0; i < count; i++) {
        wr_bytes(w, lines[i].name);
        wr_bytes(w, STR(": "));
        wr_bytes(w, lines[i].value);
        wr_u8(w, 0);
    }
    return true;
}

bool lsapi_head_next(struct str head, size_t *at, struct lsapi_pair *out)
{
    // The parser has checked all sums. A true count is far below 65536, so a larger one tells that
    // the integers are swapped.
    uint32_t count = lsapi_bits_get32(head.ptr + LSAPI_AT_RESP_COUNT, false);
    bool swapped = count >= LSAPI_RESP_HEADERS_MAX;
    count = lsapi_bits_get32(head.ptr + LSAPI_AT_RESP_COUNT, swapped);
    // *at holds the entry's number in its lower 12 bits, the place of its string above.
    size_t entry = *at & 0xfff;
    size_t place = *at >> 12;
    if (entry >= count)
        return false;
    if (!entry)
        place = LSAPI_RESP_FIXED_BYTES + 2 * (size_t)count;
    size_t len = lsapi_bits_get16(head.ptr + LSAPI_RESP_FIXED_BYTES + 2 * entry, swapped);
    struct str line = str_slice(head, place, place + len - 1);
    *at = (place + len) << 12 | (entry + 1);
    size_t colon = str_find(line, ':');
    if (colon == line.len) {
        *out = (struct lsapi_pair){.value = str_trim(line)};
    } else {
        out->name = str_trim(str_slice(line, 0, colon));
        out->value = str_trim(str_skip(line, colon + 1));
    }
    return true;
}

enum lsapi_packet_result lsapi_packet_len(struct str bytes, size_t *out_len)
{
    if (bytes.len < LSAPI_HEAD_BYTES)
        return LSAPI_PACKET_AGAIN;
    if (bytes.ptr[0] != 'L' || bytes.ptr[1] != 'S' || bytes.ptr[2] != LSAPI_BEGIN_REQUEST)
        return LSAPI_PACKET_BAD;
    bool swapped = lsapi_bits_flag_differs(bytes.ptr);
    uint32_t len = lsapi_bits_get32(bytes.ptr + 4, swapped);
    if (len < LSAPI_HEAD_BYTES || len > LSAPI_REQUEST_BYTES_MAX)
        len = lsapi_bits_get32(bytes.ptr + 4, !swapped);
    if (len < LSAPI_HEAD_BYTES || len > LSAPI_REQUEST_BYTES_MAX)
        return LSAPI_PACKET_BAD;
    *out_len = len;
    return LSAPI_PACKET_OK;
}
