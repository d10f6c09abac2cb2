// SPDX-License-Identifier: Apache-2.0
// basic_auth -- reads what a client sends to say who it is (RFC 7617) and the lines of a password
// file. Checks no password.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/str.h"

struct basic_auth {
    struct str user; // never empty, no control bytes
    struct str password;
};

// basic_auth_parse reads the value of an Authorization header; the parts lie in the arena, a NUL
// behind each. False: another scheme, bad base64, no colon, no user, or a control byte in either.
MUST_USE bool basic_auth_parse(struct str value, struct arena *a, struct basic_auth *out);

enum basic_auth_line {
    BASIC_AUTH_USER,
    BASIC_AUTH_NOTHING, // empty or a comment
    BASIC_AUTH_BAD      // no user, no colon, no hash
};

// basic_auth_line reads one line of a password file, "user:hash", perhaps with ":more" behind it.
// The slices are of `line`.
MUST_USE enum basic_auth_line basic_auth_line(struct str line, struct str *out_user,
                                              struct str *out_hash);
