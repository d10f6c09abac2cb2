// SPDX-License-Identifier: Apache-2.0
// password_file -- users and hashes of an .htpasswd file, kept by each thread and read anew when
// the file has changed. Checks no password.
#pragma once

#include "base/compiler.h"
#include "base/str.h"

struct exchange;

#define PASSWORD_FILE_BYTES_MAX ((size_t)(4 * 1024 * 1024))

struct password_file;

// password_file_need returns the file at `path` (absolute, a NUL behind it) as it is now, looked at
// at most `check_us` ago; borrowed within the callback. NULL: it cannot be read; *out_error is
// -errno. May read the file system. Logs lines that nobody can log in with, once for each change.
MUST_USE const struct password_file *password_file_need(struct exchange *ex, struct str path,
                                                        uint64_t check_us, int *out_error);

// password_file_hash is the hash of a user, a NUL behind it; {NULL, 0} when there is none.
struct str password_file_hash(const struct password_file *file, struct str user);

// password_file_any is the hash of some user, for whom to spend the time of a check that must fail;
// {NULL, 0} when there is none at all.
struct str password_file_any(const struct password_file *file);
