// SPDX-License-Identifier: Apache-2.0
// rd -- see rd.h.
#include "base/rd.h"

bool rd_ok(const struct rd *r)
{
    return !r->failed;
}

bool rd_end(const struct rd *r)
{
    return !r->failed && r->left.len == 0;
}

struct str rd_bytes(struct rd *r, size_t len)
{
    if (r->failed || len > r->left.len) {
        r->failed = true;
        return (struct str){0};
    }
    struct str bytes = str_slice(r->left, 0, len);
    r->left = str_skip(r->left, len);
    return bytes;
}

static uint64_t read_le(struct rd *r, size_t len)
{
    struct str bytes = rd_bytes(r, len);
    uint64_t value = 0;
    for (size_t i = bytes.len; i > 0; i--)
        value = value << 8 | (unsigned char)bytes.ptr[i - 1];
    return value;
}

static uint64_t read_be(struct rd *r, size_t len)
{
    struct str bytes = rd_bytes(r, len);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.len; i++)
        value = value << 8 | (unsigned char)bytes.ptr[i];
    return value;
}

uint8_t rd_u8(struct rd *r)
{
    return (uint8_t)read_le(r, 1);
}

uint16_t rd_u16be(struct rd *r)
{
    return (uint16_t)read_be(r, 2);
}

uint32_t rd_u32be(struct rd *r)
{
    return (uint32_t)read_be(r, 4);
}

uint16_t rd_u16le(struct rd *r)
{
    return (uint16_t)read_le(r, 2);
}

uint32_t rd_u32le(struct rd *r)
{
    return (uint32_t)read_le(r, 4);
}

uint64_t rd_u64le(struct rd *r)
{
    return read_le(r, 8);
}

struct str rd_str(struct rd *r)
{
    return rd_bytes(r, rd_u32le(r));
}
