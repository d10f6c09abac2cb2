// SPDX-License-Identifier: Apache-2.0
// password_cost -- see password_cost.h. The forms are those of libcrypt (crypt(5)).
#include "feature/password_cost.h"

#include <stdint.h>

#define BCRYPT_COST_MAX 15                // each one more doubles the time
#define SHA_ROUNDS_MAX  UINT64_C(5000000) // 5,000 is usual
#define BLOCKS_LOG2_MAX 21                // of 128 bytes, in memory at once: 256 MiB

// The value of a digit in crypt's base 64; 64 when it is none.
static unsigned digit(struct str s, size_t at)
{
    char c = at < s.len ? s.ptr[at] : '\0';
    if (c >= '.' && c <= '9')
        return (unsigned)(c - '.');
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A') + 12;
    return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 38 : 64;
}

// Memory is N blocks of r.
static bool is_small(unsigned n_log2, unsigned r)
{
    return n_log2 <= BLOCKS_LOG2_MAX && r > 0 && r <= 1u << (BLOCKS_LOG2_MAX - n_log2);
}

// "$2b$10$..."
static bool is_quick_bcrypt(struct str hash)
{
    uint64_t cost;
    return !str_to_u64(str_slice(hash, 4, 6), &cost) || cost <= BCRYPT_COST_MAX;
}

// "$6$rounds=5000$...", or without rounds.
static bool is_quick_sha(struct str rest)
{
    uint64_t rounds;
    if (!str_starts(rest, STR("rounds=")))
        return true;
    struct str text = str_skip(str_cut(&rest, '$'), sizeof "rounds=" - 1);
    return str_to_u64(text, &rounds) && rounds <= SHA_ROUNDS_MAX;
}

// "$y$j9T$...": flavour, N and r; more would be times, lanes or read-only memory.
static bool is_quick_yescrypt(struct str rest)
{
    struct str settings = str_cut(&rest, '$');
    return settings.len == 3 && is_small(digit(settings, 1) + 1, digit(settings, 2) + 1);
}

// "$7$CU..../....": N, then r and p of five digits each, the least first.
static bool is_quick_scrypt(struct str rest)
{
    bool is_plain = str_eq(str_slice(rest, 2, 6), STR("...."))       // r below 64
                    && str_eq(str_slice(rest, 6, 11), STR("/....")); // p is 1
    return is_plain && is_small(digit(rest, 0), digit(rest, 1));
}

bool password_cost_is_bearable(struct str hash)
{
    if (str_starts(hash, STR("$2")))
        return is_quick_bcrypt(hash);
    if (str_starts(hash, STR("$5$")) || str_starts(hash, STR("$6$")))
        return is_quick_sha(str_skip(hash, 3));
    if (str_starts(hash, STR("$y$")))
        return is_quick_yescrypt(str_skip(hash, 3));
    if (str_starts(hash, STR("$gy$")))
        return is_quick_yescrypt(str_skip(hash, 4));
    return !str_starts(hash, STR("$7$")) || is_quick_scrypt(str_skip(hash, 3));
}
