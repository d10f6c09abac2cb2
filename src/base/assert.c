// SPDX-License-Identifier: Apache-2.0
// assert -- see assert.h.
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

static _Thread_local const char *current_note;

void assert_failed(const char *file, int line, const char *cond)
{
    (void)fprintf(stderr, "godwit: %s:%d: broken invariant: %s%s%s\n", file, line, cond,
                  current_note ? " while serving " : "", current_note ? current_note : "");
    abort();
}

void assert_note(const char *note)
{
    current_note = note;
}
