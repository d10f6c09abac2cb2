// SPDX-License-Identifier: Apache-2.0
// err -- a message for a human (configuration, start, administration): several lines at most. Each
// level prefixes its context once. Values from outside are the caller's to quote.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

// {0} is no error. Holds heap memory once set: err_done.
struct err {
    struct buf text; // without a final newline
    int count;       // messages added
};

// err_set adds one message (a further one on a line of its own); returns false, for `return`.
PRINTF_LIKE(2, 3) bool err_set(struct err *e, const char *fmt, ...);

// err_prefix puts formatted context and ": " before each message added so far; returns false.
PRINTF_LIKE(2, 3) bool err_prefix(struct err *e, const char *fmt, ...);

// err_text borrows the message, "" when there is none, until the next change.
const char *err_text(struct err *e);

// err_done frees the text; the object is "no error" again.
void err_done(struct err *e);
