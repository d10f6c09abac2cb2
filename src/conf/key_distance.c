// SPDX-License-Identifier: Apache-2.0
// key_distance -- how far apart two names are: each insertion, deletion, replacement and swap of
// neighbours counts one (optimal string alignment; Damerau 1964).
#include "base/compiler.h"
#include "conf/key.h"

#define NAME_MAX_BYTES 64 // longer names are no misspelt directives

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

unsigned key_distance(struct str a, struct str b)
{
    unsigned rows[3][NAME_MAX_BYTES + 1];
    unsigned *before = rows[0];
    unsigned *last = rows[1];
    unsigned *row = rows[2];
    if (a.len > NAME_MAX_BYTES || b.len > NAME_MAX_BYTES)
        return NAME_MAX_BYTES;
    for (unsigned j = 0; j <= b.len; j++)
        row[j] = before[j] = last[j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned *recycled = before;
        before = last;
        last = row;
        row = recycled;
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            bool same = a.ptr[i - 1] == b.ptr[j - 1];
            row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
            bool swapped =
                i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1];
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return row[b.len];
}
