// SPDX-License-Identifier: Apache-2.0
// mime_rare -- types of less usual file names: those of Debian's table that mime.c's lacks.
#pragma once

#include "base/str.h"

// mime_rare_find is the content type of an extension in lower case, with "; charset=utf-8" if it is
// text; {NULL, 0} when it is unknown. The text is static.
struct str mime_rare_find(struct str extension);
