// SPDX-License-Identifier: Apache-2.0
// access_log_line -- the line of one exchange that is over. Writes nothing anywhere.
#pragma once

#include "base/str.h"
#include "core/exchange.h"

#define ACCESS_LOG_LINE_STATUS_ABORTED 499 // shown when the client left before there was an answer

// access_log_line_text is the line in combined form with named fields behind it. Valid until the
// next call on the same thread.
struct str access_log_line_text(struct exchange *ex);

// access_log_line_json is the line as a JSON object. Valid until the next call on the same thread.
struct str access_log_line_json(struct exchange *ex);
