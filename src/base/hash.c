// SPDX-License-Identifier: Apache-2.0
// hash -- see hash.h. SipHash with one compression and three finalisation rounds.
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>

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

// Little-endian; compilers make one load of it.
static uint64_t load_word(const char *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    return word;
}

static uint64_t siphash(struct str text, bool folded, uint64_t k0, uint64_t k1)
{
    struct sip s = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                    k1 ^ 0x7465646279746573u};
    uint64_t word = 0;
    size_t whole = folded ? 0 : text.len & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        sip_word(&s, load_word(text.ptr + i));
    for (size_t i = whole; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (folded && byte >= 'A' && byte <= 'Z')
            byte = (unsigned char)(byte + 32);
        word |= (uint64_t)byte << (8 * (i & 7));
        if ((i & 7) == 7) {
            sip_word(&s, word);
            word = 0;
        }
    }
    sip_word(&s, word | (uint64_t)text.len << 56);
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
