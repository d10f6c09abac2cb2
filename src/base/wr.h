// SPDX-License-Identifier: Apache-2.0
// wr -- writes integers and byte runs into a fixed room with explicit byte order and a sticky
// failure. After a failure nothing more is written; check wr_ok once at the end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

// Open wr with (struct wr){.ptr = room, .size = bytes}.
struct wr {
    char *ptr;
    size_t size; // bytes at ptr
    size_t len;  // bytes written
    bool failed; // something did not fit
};

// wr_ok tells that all fitted so far.
static inline bool wr_ok(const struct wr *w)
{
    return !w->failed;
}

// wr_view borrows what was written.
static inline struct str wr_view(const struct wr *w)
{
    return (struct str){w->ptr, w->len};
}

void wr_u8(struct wr *w, uint8_t value);     // wr_u8 writes one byte
void wr_u16be(struct wr *w, uint16_t value); // wr_u16be writes a big-endian 16-bit integer
void wr_u32be(struct wr *w, uint32_t value); // wr_u32be writes a big-endian 32-bit integer
void wr_u16le(struct wr *w, uint16_t value); // wr_u16le writes a little-endian 16-bit integer
void wr_u32le(struct wr *w, uint32_t value); // wr_u32le writes a little-endian 32-bit integer
void wr_u64le(struct wr *w, uint64_t value); // wr_u64le writes a little-endian 64-bit integer

// wr_bytes appends the bytes of `s`. Inline: a literal is then written by a store or two.
static inline void wr_bytes(struct wr *w, struct str s)
{
    if (w->failed || s.len > w->size - w->len) {
        w->failed = true;
        return;
    }
    if (s.len)
        memcpy(w->ptr + w->len, s.ptr, s.len);
    w->len += s.len;
}

// wr_str appends a u32le length, then the bytes: what rd_str reads.
void wr_str(struct wr *w, struct str s);

// wr_dec appends `value` in decimal.
void wr_dec(struct wr *w, uint64_t value);

// wr_hex appends `value` in lower-case hexadecimal without leading zeros.
void wr_hex(struct wr *w, uint64_t value);
