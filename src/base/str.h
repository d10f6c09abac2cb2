// SPDX-License-Identifier: Apache-2.0
// str -- a borrowed run of bytes: pointer and length, by value, no terminator. Does not allocate.
// The smallest functions stand here, so that each caller has them inline.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

struct str {
    const char *ptr; // may be NULL only when len is 0
    size_t len;      // bytes
};

// STR makes a slice of a string literal in an expression, STR_INIT in a static table.
#define STR(lit) ((struct str){"" lit, sizeof("" lit) - 1})
#define STR_INIT(lit)        \
 {                           \
  "" lit, sizeof("" lit) - 1 \
 }
// For printf: "%.*s", STR_ARG(s).
#define STR_ARG(s) (int)(s).len, (s).ptr

// str_c borrows a C string (NULL gives the empty slice).
struct str str_c(const char *text);

// str_n borrows `len` bytes at `ptr`.
static inline struct str str_n(const char *ptr, size_t len)
{
    return (struct str){ptr, len};
}

// str_eq tells whether both hold the same bytes.
static inline bool str_eq(struct str a, struct str b)
{
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): NULL has no length.
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

// str_eq_nocase is str_eq with ASCII letters folded (no locale).
bool str_eq_nocase(struct str a, struct str b);

// str_cmp orders by bytes, then by length: <0, 0, >0.
int str_cmp(struct str a, struct str b);

// str_starts tells whether `s` begins with `prefix`.
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_n(s.ptr, prefix.len), prefix);
}

// str_starts_nocase is str_starts with ASCII letters folded.
bool str_starts_nocase(struct str s, struct str prefix);

// str_find returns the index of the first `byte`, or s.len if there is none.
static inline size_t str_find(struct str s, char byte)
{
    const char *at = s.len ? memchr(s.ptr, byte, s.len) : NULL;
    return at ? (size_t)(at - s.ptr) : s.len;
}

// str_rfind returns the index of the last `byte`, or s.len if there is none.
static inline size_t str_rfind(struct str s, char byte)
{
    const char *at = s.len ? memrchr(s.ptr, byte, s.len) : NULL;
    return at ? (size_t)(at - s.ptr) : s.len;
}

// str_slice returns bytes [from, to); both are clamped to the length.
static inline struct str str_slice(struct str s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from > to)
        from = to;
    if (from > 0) // NULL has no length, so it stays NULL
        s.ptr += from;
    s.len = to - from;
    return s;
}

// str_skip returns `s` without its first `count` bytes (clamped).
static inline struct str str_skip(struct str s, size_t count)
{
    return str_slice(s, count, s.len);
}

// str_ends tells whether `s` ends with `suffix`.
static inline bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len && str_eq(str_skip(s, s.len - suffix.len), suffix);
}

// str_trim removes SP and HTAB at both ends, and nothing else (RFC 9110 §5.6.3).
struct str str_trim(struct str s);

// str_cut splits *rest at the first `byte`: returns what stands before it and leaves in *rest what
// stands after it. Without that byte it returns all and leaves *rest empty with ptr NULL.
struct str str_cut(struct str *rest, char byte);

// str_to_u64 reads a decimal number made of digits only (no sign, no space, at least one digit).
// False, and *out unchanged, on anything else or when it exceeds 64 bits.
MUST_USE bool str_to_u64(struct str s, uint64_t *out);

// str_hex_to_u64 is str_to_u64 for hexadecimal digits without prefix (RFC 9112 §7.1).
MUST_USE bool str_hex_to_u64(struct str s, uint64_t *out);

// str_has_ctl tells whether `s` holds a byte below 0x20 or 0x7f.
bool str_has_ctl(struct str s);
