// SPDX-License-Identifier: Apache-2.0
// condition -- whether a conditional request goes on, in the order of RFC 9110 §13.2.2. Pure:
// header values and the state of the thing in, verdict out.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/method.h"

// The header values; ptr NULL means that the header is absent.
struct condition {
    struct str if_match;
    struct str if_none_match;
    struct str if_modified_since;
    struct str if_unmodified_since;
    struct str if_range;
};

// What is there now. {.exists = false} when nothing is.
struct condition_state {
    bool exists;
    bool has_mtime;
    int64_t mtime_s;
    struct str etag; // with its quotes, and W/ when weak; len 0: none
};

enum condition_result {
    CONDITION_PROCEED,
    CONDITION_NOT_MODIFIED, // 304
    CONDITION_FAILED,       // 412
};

// condition_eval gives the verdict. *out_range_applies (written for each verdict) tells whether a
// Range header counts: GET, and If-Range absent or strongly matching. `now_s` judges how far a date
// can be trusted as a strong validator (RFC 9110 §8.8.2.2).
MUST_USE enum condition_result condition_eval(const struct condition *c, enum http_method method,
                                              const struct condition_state *state, int64_t now_s,
                                              bool *out_range_applies);
