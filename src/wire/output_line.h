// SPDX-License-Identifier: Apache-2.0
// output_line -- lines that a worker writes on its standard error for a request which it has
// answered already: each begins with a mark that names the request, since it may be read when that
// one is over. A line without a mark is nobody's.
#pragma once

#include "base/buf.h"
#include "base/str.h"

// output_line_mark appends `text` to `out`, each line of it marked with the request's id.
void output_line_mark(struct buf *out, struct str id, struct str text);

// output_line_take takes the mark off a line; returns the id, which has the form of one of ours, or
// nothing.
struct str output_line_take(struct str *line);
