// SPDX-License-Identifier: Apache-2.0
// htaccess -- refuses what an .htaccess file protects, since we do not carry out such files: a
// directory whose protection were ignored would be open. Directives that protect nothing (types,
// caching) are passed over.
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "core/module.h"
#include "core/snapshot.h"

extern struct module htaccess_module;

// htaccess_find_protective looks through the text of an .htaccess file for the first directive that
// may protect something. *out_line (from 1) and *out_what (its words, a slice of the text) are
// written when there is one.
bool htaccess_find_protective(struct str text, unsigned *out_line, struct str *out_what);

// htaccess_is_refusing tells whether protective files count in a scope (`htaccess refuse`).
bool htaccess_is_refusing(const struct scope *scope);

// htaccess_scan reports each .htaccess file below the roots of the snapshot that makes requests be
// refused: for `godwit check`. Walks whole trees (bounded in depth and count): not for a server.
void htaccess_scan(const struct snapshot *s,
                   void (*found)(void *arg, const char *file, unsigned line, const char *what),
                   void *arg);
