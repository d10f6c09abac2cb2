// SPDX-License-Identifier: Apache-2.0
// password -- see password.h. $apr1$ is Apache's own variant of the MD5 crypt of FreeBSD.
#include "feature/password.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/mem.h"

#define MD5_BYTES       16
#define SHA1_BYTES      20
#define SHA1_TEXT_BYTES 28 // in base64
#define APR1_ROUNDS     1000
#define APR1_SALT_MAX   8
#define APR1_TEXT_BYTES 22

static const struct str CRYPT_KINDS[] = {
    STR_INIT("$2y$"), STR_INIT("$2b$"), STR_INIT("$2a$"), STR_INIT("$y$"), STR_INIT("$gy$"),
    STR_INIT("$7$"),  STR_INIT("$6$"),  STR_INIT("$5$"),  STR_INIT("$1$"),
};

static const struct str APR1 = STR_INIT("$apr1$");
static const struct str SHA = STR_INIT("{SHA}");

static bool is_crypt(struct str hash)
{
    for (size_t i = 0; i < ARRAY_LEN(CRYPT_KINDS); i++)
        if (str_starts(hash, CRYPT_KINDS[i]))
            return true;
    return false;
}

bool password_is_known(struct str hash)
{
    return is_crypt(hash) || str_starts(hash, APR1) || str_starts(hash, SHA);
}

static bool is_same(struct str a, struct str b)
{
    return a.len == b.len && CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0;
}

static bool check_crypt(struct str password, struct str hash)
{
    struct crypt_data *room = mem_new(struct crypt_data);
    const char *made = crypt_rn(password.ptr, hash.ptr, room, (int)sizeof *room);
    bool ok = made && is_same(str_c(made), hash);
    OPENSSL_cleanse(room, sizeof *room);
    mem_free(room);
    return ok;
}

static bool check_sha(struct str password, struct str hash)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned char text[SHA1_TEXT_BYTES + 1];
    unsigned len = 0;
    if (EVP_Digest(password.ptr, password.len, digest, &len, EVP_sha1(), NULL) != 1
        || len != SHA1_BYTES)
        return false;
    int text_len = EVP_EncodeBlock(text, digest, (int)len);
    return is_same(str_n((const char *)text, (size_t)text_len), str_skip(hash, SHA.len));
}

// The digest being made; `ok` turns false for good when OpenSSL refuses.
struct md5 {
    EVP_MD_CTX *ctx;
    bool ok;
};

static void md5_begin(struct md5 *m)
{
    m->ok = m->ok && EVP_DigestInit_ex(m->ctx, EVP_md5(), NULL) == 1;
}

static void md5_put(struct md5 *m, struct str bytes)
{
    m->ok = m->ok && EVP_DigestUpdate(m->ctx, bytes.ptr, bytes.len) == 1;
}

static void md5_end(struct md5 *m, char out[static MD5_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    m->ok = m->ok && EVP_DigestFinal_ex(m->ctx, digest, &len) == 1 && len == MD5_BYTES;
    if (m->ok)
        memcpy(out, digest, MD5_BYTES);
}

static void apr1_first(struct md5 *m, struct str password, struct str salt,
                       char digest[static MD5_BYTES])
{
    md5_begin(m);
    md5_put(m, password);
    md5_put(m, salt);
    md5_put(m, password);
    md5_end(m, digest);
    md5_begin(m);
    md5_put(m, password);
    md5_put(m, APR1);
    md5_put(m, salt);
    for (size_t left = password.len; left > 0;) {
        size_t take = left < MD5_BYTES ? left : MD5_BYTES;
        md5_put(m, str_n(digest, take));
        left -= take;
    }
    // One byte for each bit of the length: a quirk of the first implementation, now the definition.
    for (size_t bits = password.len; bits > 0; bits >>= 1)
        md5_put(m, bits & 1 ? str_n("", 1) : str_n(password.ptr, 1));
    md5_end(m, digest);
}

static void apr1_stretch(struct md5 *m, struct str password, struct str salt,
                         char digest[static MD5_BYTES])
{
    struct str last = str_n(digest, MD5_BYTES);
    for (unsigned round = 0; round < APR1_ROUNDS && m->ok; round++) {
        md5_begin(m);
        md5_put(m, round & 1 ? password : last);
        if (round % 3)
            md5_put(m, salt);
        if (round % 7)
            md5_put(m, password);
        md5_put(m, round & 1 ? last : password);
        md5_end(m, digest);
    }
}

// Three bytes as four digits, least first, in the order that crypt has chosen.
static void apr1_text(const char digest[static MD5_BYTES], char text[static APR1_TEXT_BYTES])
{
    static const char DIGITS[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const uint8_t ORDER[5][3] = {{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}};
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(ORDER); i++) {
        unsigned value = (unsigned)(unsigned char)digest[ORDER[i][0]] << 16
                         | (unsigned)(unsigned char)digest[ORDER[i][1]] << 8
                         | (unsigned)(unsigned char)digest[ORDER[i][2]];
        for (int digit = 0; digit < 4; digit++, value >>= 6)
            text[len++] = DIGITS[value & 63];
    }
    unsigned value = (unsigned char)digest[11];
    text[len++] = DIGITS[value & 63];
    text[len++] = DIGITS[value >> 6];
}

static bool check_apr1(struct str password, struct str hash)
{
    struct str rest = str_skip(hash, APR1.len);
    struct str salt = str_slice(str_cut(&rest, '$'), 0, APR1_SALT_MAX);
    struct md5 m = {.ctx = EVP_MD_CTX_new()};
    char digest[MD5_BYTES] = {0};
    char text[APR1_TEXT_BYTES];
    m.ok = m.ctx != NULL;
    apr1_first(&m, password, salt, digest);
    apr1_stretch(&m, password, salt, digest);
    EVP_MD_CTX_free(m.ctx);
    apr1_text(digest, text);
    return m.ok && is_same(str_n(text, sizeof text), rest);
}

bool password_check(struct str password, struct str hash)
{
    if (memchr(password.ptr, '\0', password.len))
        return false;
    if (is_crypt(hash))
        return check_crypt(password, hash);
    if (str_starts(hash, APR1))
        return check_apr1(password, hash);
    return str_starts(hash, SHA) && check_sha(password, hash);
}
