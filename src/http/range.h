// SPDX-License-Identifier: Apache-2.0
// range -- reads the Range header against a known length (RFC 9110 §14). Whether it applies at all
// (GET, If-Range) is condition's answer.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

enum { RANGE_COUNT_MAX = 16 };

struct range {
    uint64_t first;
    uint64_t len; // at least 1; first + len <= size
};

struct range_set {
    struct range ranges[RANGE_COUNT_MAX]; // the satisfiable ones, in the order asked for
    size_t count;
};

enum range_result {
    RANGE_NONE,          // no header: send all
    RANGE_OK,            // send 206 with out->ranges
    RANGE_UNSATISFIABLE, // well formed, nothing in it exists: 416
    RANGE_IGNORED,       // other unit, bad syntax, too many, or overlapping beyond reason: send all
};

// range_parse reads `value` (ptr NULL: no header) for a representation of `size` bytes.
MUST_USE enum range_result range_parse(struct str value, uint64_t size, struct range_set *out);
