// SPDX-License-Identifier: Apache-2.0
// password_fuzz -- the kinds of hashes that are checked by our own code, {SHA} and $apr1$: whatever
// stands in a password file, nothing but its own password passes.
// with: src/feature/password.c -lcrypt -lcrypto
#include "feature/password.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct str text = str_n((const char *)data, size);
    struct str hash = arena_dup(&arena, str_cut(&text, '\n'));
    struct str password = arena_dup(&arena, text.ptr ? text : STR(""));
    // libcrypt's kinds are slow by intent, and not ours.
    bool is_ours = str_starts(hash, STR("$apr1$")) || str_starts(hash, STR("{SHA}"));
    if (is_ours && password_check(password, hash)) {
        ASSERT(password_is_known(hash));
        struct str other = arena_fmt(&arena, "%.*sx", STR_ARG(password));
        ASSERT(!password_check(other, hash));
    }
    if (!password_is_known(hash))
        ASSERT(!password_check(password, hash));
    arena_done(&arena);
    return 0;
}
