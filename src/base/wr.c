// SPDX-License-Identifier: Apache-2.0
// wr -- see wr.h.
#include "base/wr.h"

static void write_le(struct wr *w, uint64_t value, size_t len)
{
    char bytes[8];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(value >> (8 * i));
    wr_bytes(w, str_n(bytes, len));
}

static void write_be(struct wr *w, uint64_t value, size_t len)
{
    char bytes[8];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(value >> (8 * (len - 1 - i)));
    wr_bytes(w, str_n(bytes, len));
}

void wr_u8(struct wr *w, uint8_t value)
{
    write_le(w, value, 1);
}

void wr_u16be(struct wr *w, uint16_t value)
{
    write_be(w, value, 2);
}

void wr_u32be(struct wr *w, uint32_t value)
{
    write_be(w, value, 4);
}

void wr_u16le(struct wr *w, uint16_t value)
{
    write_le(w, value, 2);
}

void wr_u32le(struct wr *w, uint32_t value)
{
    write_le(w, value, 4);
}

void wr_u64le(struct wr *w, uint64_t value)
{
    write_le(w, value, 8);
}

void wr_str(struct wr *w, struct str s)
{
    if (s.len > UINT32_MAX) {
        w->failed = true;
        return;
    }
    wr_u32le(w, (uint32_t)s.len);
    wr_bytes(w, s);
}

static void write_digits(struct wr *w, uint64_t value, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    wr_bytes(w, str_n(digits + at, sizeof digits - at));
}

void wr_dec(struct wr *w, uint64_t value)
{
    write_digits(w, value, 10);
}

void wr_hex(struct wr *w, uint64_t value)
{
    write_digits(w, value, 16);
}
