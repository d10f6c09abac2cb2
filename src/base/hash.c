// SPDX-License-Identifier: Apache-2.0
// hash -- see hash.h. SipHash with one compression and three finalisation rounds.
#include "base/hash.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static uint64_t secret[2] = {0x9e3779b97f4a7c15u, 0xd1b54a32d192ed03u};

struct sip {
    uint64_t a, b, c, d;
};

static uint64_t rotl(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = rotl(s->b, 13) ^ s->a;
    s->d = rotl(s->d, 16) ^ s->c;
    s->a = rotl(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = rotl(s->b, 17) ^ s->c;
    s->d = rotl(s->d, 21) ^ s->a;
    s->c = rotl(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->d ^= word;
    sip_round(s);
    s->a ^= word;
}

static inline uint64_t load_word(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

// The last bytes of a text, fewer than eight, in two overlapping loads.
static inline uint64_t load_tail(const char *bytes, size_t count)
{
    uint32_t low;
    uint32_t high;
    if (count >= 4) {
        memcpy(&low, bytes, sizeof low);
        memcpy(&high, bytes + count - 4, sizeof high);
        return le32toh(low) | (uint64_t)le32toh(high) << (8 * (count - 4));
    }
    if (count == 0)
        return 0;
    return (uint64_t)(unsigned char)bytes[0]
           | (uint64_t)(unsigned char)bytes[count / 2] << (8 * (count / 2))
           | (uint64_t)(unsigned char)bytes[count - 1] << (8 * (count - 1));
}

// ASCII letters of the word in lower case, the other bytes as they are.
static inline uint64_t fold_word(uint64_t word)
{
    uint64_t low7 = word & 0x7f7f7f7f7f7f7f7fu;
    uint64_t from_a = low7 + 0x3f3f3f3f3f3f3f3fu;  // high bit set: 'A' or above
    uint64_t above_z = low7 + 0x2525252525252525u; // high bit set: above 'Z'
    uint64_t letters = from_a & ~above_z & ~word & 0x8080808080808080u;
    return word | letters >> 2;
}

static inline uint64_t siphash(struct str text, bool folded, uint64_t k0, uint64_t k1)
{
    struct sip s = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                    k1 ^ 0x7465646279746573u};
    size_t whole = text.len & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8) {
        uint64_t word = load_word(text.ptr + i);
        sip_word(&s, folded ? fold_word(word) : word);
    }
    uint64_t tail = load_tail(text.ptr + whole, text.len - whole);
    if (folded)
        tail = fold_word(tail);
    sip_word(&s, tail | (uint64_t)text.len << 56);
    s.c ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

void hash_key(uint64_t k0, uint64_t k1)
{
    secret[0] = k0;
    secret[1] = k1;
}

uint64_t hash_str(struct str s)
{
    return siphash(s, false, secret[0], secret[1]);
}

uint64_t hash_fold(struct str s)
{
    return siphash(s, true, secret[0], secret[1]);
}

uint64_t hash_fixed(struct str s)
{
    return siphash(s, false, 0, 0);
}
