// SPDX-License-Identifier: Apache-2.0
// lsapi_view -- the application's side of a BEGIN_REQUEST packet: checked once as a whole, then
// read in place. See lsapi.h; the parts of the packet are listed in lsapi.c.
#include <string.h>

#include "wire/lsapi.h"
#include "wire/lsapi_bits.h"

// The packet of a view as numbers: only inside checked bounds.
static uint32_t get32(const struct lsapi_view *v, size_t at)
{
    return lsapi_bits_get32(v->packet.ptr + at, v->swapped);
}

// Walks `count` entries from *at and the terminator behind them; false when the list is malformed.
static bool list_check(struct str packet, uint32_t count, size_t *at)
{
    if (count > LSAPI_ENV_MAX)
        return false;
    size_t place = *at;
    for (uint32_t i = 0; i < count; i++) {
        if (packet.len - place < 4)
            return false;
        size_t name_len = lsapi_bits_get16be(packet.ptr + place);
        size_t value_len = lsapi_bits_get16be(packet.ptr + place + 2);
        place += 4;
        if (!name_len || !value_len || name_len + value_len > packet.len - place)
            return false;
        place += name_len + value_len;
        if (packet.ptr[place - value_len - 1] || packet.ptr[place - 1])
            return false;
    }
    static const char END[4];
    if (packet.len - place < sizeof END || memcmp(packet.ptr + place, END, sizeof END) != 0)
        return false;
    *at = place + sizeof END;
    return true;
}

// A run of the raw block: both numbers are signed on the wire, and nothing negative is right.
static bool run_is_inside(uint64_t offset, uint64_t len, size_t raw_len)
{
    return offset <= INT32_MAX && len <= INT32_MAX && offset + len <= raw_len;
}

static bool headers_check(const struct lsapi_view *v)
{
    const char *index = v->packet.ptr + v->index_at;
    for (size_t slot = 0; slot < LSAPI_KNOWN_HEADERS; slot++) {
        uint32_t offset = lsapi_bits_get32(index + LSAPI_INDEX_OFFSETS_AT + 4 * slot, v->swapped);
        uint16_t len = lsapi_bits_get16(index + 2 * slot, v->swapped);
        if (offset && !run_is_inside(offset, len, v->raw_len))
            return false;
    }
    for (uint32_t i = 0; i < v->unknown_count; i++) {
        size_t at = v->unknown_at + (size_t)i * LSAPI_UNKNOWN_BYTES;
        if (!run_is_inside(get32(v, at), get32(v, at + 4), v->raw_len)
            || !run_is_inside(get32(v, at + 8), get32(v, at + 12), v->raw_len))
            return false;
    }
    return true;
}

// The C string that an offset field points at. Some servers leave 0 for "none": empty.
static bool string_get(const struct lsapi_view *v, size_t field, struct str *out)
{
    size_t at = get32(v, field);
    if (at >= v->packet.len)
        return false;
    if (at < LSAPI_FIXED_BYTES) {
        *out = STR("");
        return true;
    }
    const char *text = v->packet.ptr + at;
    const char *end = memchr(text, 0, v->packet.len - at);
    if (!end)
        return false;
    *out = str_n(text, (size_t)(end - text));
    return true;
}

static bool body_length_get(struct lsapi_view *v)
{
    int32_t len = (int32_t)get32(v, LSAPI_AT_BODY_LEN);
    if (len != LSAPI_BODY_SEE_CONTENT_LENGTH) {
        v->body_bytes = len > 0 ? len : 0;
        return true;
    }
    struct str text;
    uint64_t value;
    if (!lsapi_view_known(v, HEADER_CONTENT_LENGTH - 1, &text) || !str_to_u64(text, &value)
        || value > INT64_MAX)
        return false;
    v->body_bytes = (int64_t)value;
    return true;
}

bool lsapi_view_open(struct str packet, struct lsapi_view *out)
{
    size_t len;
    if (lsapi_packet_len(packet, &len) != LSAPI_PACKET_OK || len != packet.len
        || len < LSAPI_FIXED_BYTES)
        return false;
    struct lsapi_view v = {.packet = packet};
    v.swapped = lsapi_bits_get32(packet.ptr + 4, false) != len;
    v.special_count = get32(&v, LSAPI_AT_SPECIAL_COUNT);
    v.env_count = get32(&v, LSAPI_AT_ENV_COUNT);
    v.unknown_count = get32(&v, LSAPI_AT_UNKNOWN_COUNT);
    v.raw_len = get32(&v, LSAPI_AT_RAW_LEN);

    size_t at = v.special_at = LSAPI_FIXED_BYTES;
    if (!list_check(packet, v.special_count, &at))
        return false;
    v.env_at = at;
    if (!list_check(packet, v.env_count, &at))
        return false;
    v.index_at = (at + 7) & ~(size_t)7;
    v.unknown_at = v.index_at + LSAPI_INDEX_BYTES;
    if (v.unknown_count > len / LSAPI_UNKNOWN_BYTES || v.raw_len > len)
        return false;
    v.raw_at = v.unknown_at + (size_t)v.unknown_count * LSAPI_UNKNOWN_BYTES;
    if (v.raw_at + v.raw_len != len)
        return false;
    if (!headers_check(&v) || !string_get(&v, LSAPI_AT_SCRIPT_FILE, &v.script_file)
        || !string_get(&v, LSAPI_AT_SCRIPT_NAME, &v.script_name)
        || !string_get(&v, LSAPI_AT_QUERY, &v.query) || !string_get(&v, LSAPI_AT_METHOD, &v.method)
        || !body_length_get(&v))
        return false;
    *out = v;
    return true;
}

static bool list_next(const struct lsapi_view *v, size_t first, size_t *at, struct lsapi_pair *out)
{
    size_t place = *at ? *at : first;
    const char *entry = v->packet.ptr + place;
    size_t name_len = lsapi_bits_get16be(entry);
    if (!name_len) // the terminator: no entry's name is 0 long
        return false;
    size_t value_len = lsapi_bits_get16be(entry + 2);
    out->name = str_n(entry + 4, name_len - 1);
    out->value = str_n(entry + 4 + name_len, value_len - 1);
    *at = place + 4 + name_len + value_len;
    return true;
}

bool lsapi_view_special(const struct lsapi_view *v, size_t *at, struct lsapi_pair *out)
{
    return list_next(v, v->special_at, at, out);
}

bool lsapi_view_env(const struct lsapi_view *v, size_t *at, struct lsapi_pair *out)
{
    return list_next(v, v->env_at, at, out);
}

bool lsapi_view_known(const struct lsapi_view *v, unsigned slot, struct str *out)
{
    if (slot >= LSAPI_KNOWN_HEADERS)
        return false;
    const char *index = v->packet.ptr + v->index_at;
    uint32_t offset =
        lsapi_bits_get32(index + LSAPI_INDEX_OFFSETS_AT + 4 * (size_t)slot, v->swapped);
    if (!offset)
        return false;
    *out = str_n(v->packet.ptr + v->raw_at + offset,
                 lsapi_bits_get16(index + 2 * (size_t)slot, v->swapped));
    return true;
}

bool lsapi_view_unknown(const struct lsapi_view *v, uint32_t index, struct lsapi_pair *out)
{
    if (index >= v->unknown_count)
        return false;
    size_t at = v->unknown_at + (size_t)index * LSAPI_UNKNOWN_BYTES;
    const char *raw = v->packet.ptr + v->raw_at;
    out->name = str_n(raw + get32(v, at), get32(v, at + 4));
    out->value = str_n(raw + get32(v, at + 8), get32(v, at + 12));
    return true;
}
