// SPDX-License-Identifier: Apache-2.0
// basic_auth_fuzz -- credentials and lines of a password file: what is let through keeps its
// promises.
#include "http/basic_auth.h"

#include <stdint.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_n((const char *)data, size);
    struct arena arena = {0};
    struct basic_auth who;
    if (basic_auth_parse(text, &arena, &who)) {
        ASSERT(who.user.len && who.user.ptr[who.user.len] == '\0');
        ASSERT(who.password.ptr[who.password.len] == '\0');
        ASSERT(!str_has_ctl(who.user) && !str_has_ctl(who.password));
        ASSERT(str_find(who.user, ':') == who.user.len);
    }
    while (text.len) {
        struct str user;
        struct str hash;
        if (basic_auth_line(str_cut(&text, '\n'), &user, &hash) == BASIC_AUTH_USER)
            ASSERT(user.len && hash.len && !str_has_ctl(user) && !str_has_ctl(hash));
    }
    arena_done(&arena);
    return 0;
}
