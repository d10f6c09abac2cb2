// SPDX-License-Identifier: Apache-2.0
// password -- checks a password against a hash as password files hold it: bcrypt, yescrypt and the
// crypt families of SHA and MD5 by libcrypt; {SHA} and $apr1$, which it lacks, over OpenSSL's
// digests. Plain text and DES are no hashes here.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"

// password_is_known tells whether the hash is of a kind that can be checked.
bool password_is_known(struct str hash);

// password_check tells whether `password` (no NUL in it, a NUL behind it) makes `hash` (a NUL
// behind it). Slow by intent, up to seconds: not for a loop's thread. Takes the same time for any
// wrong password.
MUST_USE bool password_check(struct str password, struct str hash);
