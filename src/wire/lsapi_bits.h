// SPDX-License-Identifier: Apache-2.0
// lsapi_bits -- places and integers inside LSAPI packets, shared by the codec's files only.
// Integers are in the sender's order, and the flag says which machine the sender was built for, not
// the order: 0 for x86, 1 for everything else. So a reader swaps when the flag is not the one it
// would send.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/lsapi.h"

#if defined(__i386__) || defined(__x86_64__)
# define LSAPI_FLAG 0
#else
# define LSAPI_FLAG 1
#endif

// BEGIN_REQUEST
#define LSAPI_AT_RAW_LEN              8
#define LSAPI_AT_BODY_LEN             12
#define LSAPI_AT_SCRIPT_FILE          16
#define LSAPI_AT_SCRIPT_NAME          20
#define LSAPI_AT_QUERY                24
#define LSAPI_AT_METHOD               28
#define LSAPI_AT_UNKNOWN_COUNT        32
#define LSAPI_AT_ENV_COUNT            36
#define LSAPI_AT_SPECIAL_COUNT        40
#define LSAPI_FIXED_BYTES             44
#define LSAPI_INDEX_OFFSETS_AT        52 // 25 u16 lengths, 2 bytes of nothing, then 25 i32 offsets
#define LSAPI_INDEX_BYTES             152
#define LSAPI_UNKNOWN_BYTES           16
#define LSAPI_BODY_SEE_CONTENT_LENGTH (-2)

// RESP_HEADER
#define LSAPI_AT_RESP_COUNT  8
#define LSAPI_AT_RESP_STATUS 12

// The pid notice: a STDERR_STREAM packet with this payload: mark, pid.
#define LSAPI_PID_MARK  "\0PID"
#define LSAPI_PID_BYTES 8

static inline uint32_t lsapi_bits_get32(const char *at, bool swapped)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

static inline uint16_t lsapi_bits_get16(const char *at, bool swapped)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t lsapi_bits_get16be(const char *at)
{
    return (uint32_t)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

static inline void lsapi_bits_put32(char *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline void lsapi_bits_put16(char *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline bool lsapi_bits_flag_differs(const char *packet)
{
    return (packet[3] & 1) != LSAPI_FLAG;
}

static inline void lsapi_bits_put_head(char *to, enum lsapi_type type, uint32_t packet_bytes)
{
    to[0] = 'L';
    to[1] = 'S';
    to[2] = (char)type;
    to[3] = LSAPI_FLAG;
    lsapi_bits_put32(to + 4, packet_bytes);
}
