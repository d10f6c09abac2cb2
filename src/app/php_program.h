// SPDX-License-Identifier: Apache-2.0
// php_program -- which program runs an app's PHP: the best of those that are installed, of the
// version that is asked for. Looks files up: in the loader.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "conf/key.h"

// In order of preference.
enum php_program_kind {
    PHP_PROGRAM_GODWIT, // godwit-php, or any program on libgodwit-app
    PHP_PROGRAM_LSPHP,  // stock lsphp, which forks its workers by itself
    PHP_PROGRAM_CGI,    // php-cgi, which speaks FastCGI
};

struct php_program {
    enum php_program_kind kind;
    const char *path; // absolute
};

// php_program_is_version tells whether `text` is a version as the directive takes it, such as 8.2.
bool php_program_is_version(struct str text);

// php_program_kind tells by its name what a program is.
enum php_program_kind php_program_kind(struct str path);

// php_program_is_there tells whether `path` is a program.
bool php_program_is_there(const char *path);

// php_program_in_path finds a program named without "/" as a shell would; NULL: there is none.
const char *php_program_in_path(struct arena *a, struct str name);

// php_program_own finds a program that comes with Godwit: in the build tree (`room` is its folder
// in runtime/) or as installed. NULL: it is not there.
const char *php_program_own(struct arena *a, const char *room, struct str name);

// php_program_find finds the best one of `version` (empty: any) in the directories of `search`,
// then in the usual places. False when there is none; *looked then says what was looked for and
// where.
MUST_USE bool php_program_find(struct arena *a, struct str version, const struct key_words *search,
                               struct php_program *out, struct buf *looked);

#define PHP_PROGRAM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
