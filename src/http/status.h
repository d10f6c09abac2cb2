// SPDX-License-Identifier: Apache-2.0
// status -- status codes, their reason phrases and what they say about a body (RFC 9110 §15).
#pragma once

#include <stdbool.h>

#include "base/str.h"

// status_reason is the registered phrase of a status ("Not Found"), "" when it has none.
struct str status_reason(int status);

// status_is_valid tells whether a status can stand on the wire: 100 to 599. Applications that say
// something else have failed.
bool status_is_valid(int status);

// status_has_body tells whether an answer of this status may carry content: all but 1xx, 204 and
// 304 (RFC 9110 §6.4.1). The answer to HEAD is the caller's to know.
bool status_has_body(int status);
