// SPDX-License-Identifier: Apache-2.0
// rd -- reads integers and byte runs from a slice with explicit byte order and a sticky failure.
// After a failure all reads give zeros; check rd_ok once at the end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

// Open rd with (struct rd){.left = bytes}.
struct rd {
    struct str left; // not read yet
    bool failed;     // a read went past the end
};

// rd_ok tells that nothing failed so far.
bool rd_ok(const struct rd *r);

// rd_end tells that nothing failed and nothing is left.
bool rd_end(const struct rd *r);

uint8_t rd_u8(struct rd *r);     // rd_u8 reads one byte
uint16_t rd_u16be(struct rd *r); // rd_u16be reads a big-endian 16-bit integer
uint32_t rd_u32be(struct rd *r); // rd_u32be reads a big-endian 32-bit integer
uint16_t rd_u16le(struct rd *r); // rd_u16le reads a little-endian 16-bit integer
uint32_t rd_u32le(struct rd *r); // rd_u32le reads a little-endian 32-bit integer
uint64_t rd_u64le(struct rd *r); // rd_u64le reads a little-endian 64-bit integer

// rd_bytes borrows the next `len` bytes; the empty slice on failure.
struct str rd_bytes(struct rd *r, size_t len);

// rd_str reads a u32le length and that many bytes: what wr_str wrote.
struct str rd_str(struct rd *r);
