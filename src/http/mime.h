// SPDX-License-Identifier: Apache-2.0
// mime -- media types of file names, from a built-in table. It reads no file of the system: the
// same name has the same type on each machine.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

// mime_find is the type of a file name or path by its last extension (case folded); {NULL, 0} when
// there is none or it is unknown.
struct str mime_find(struct str file_name);

// mime_content_type is mime_find ready for Content-Type: text types carry "; charset=utf-8", and
// what is unknown is "application/octet-stream". The text is static.
struct str mime_content_type(struct str file_name);

// mime_is_compressible tells whether a type (parameters are fine) gains from compression.
bool mime_is_compressible(struct str type);
