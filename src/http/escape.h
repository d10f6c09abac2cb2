// SPDX-License-Identifier: Apache-2.0
// escape -- puts strangers' bytes safely into HTML, JSON, log lines and paths of URLs.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

// All of them append to `b`; false when its ceiling forbids (a part may then have been appended).

// escape_html makes text safe between tags and in quoted attributes.
MUST_USE bool escape_html(struct buf *b, struct str s);

// escape_json makes the inside of a JSON string (no quotes around). Bytes that are not UTF-8 become
// \u00XX, so the result is always valid and no byte is lost from sight.
MUST_USE bool escape_json(struct buf *b, struct str s);

// escape_log makes one printable ASCII word for quoted fields of a log line: '"', '\' and bytes
// outside 0x20 to 0x7e become \xHH.
MUST_USE bool escape_log(struct buf *b, struct str s);

// escape_path percent-encodes a decoded path for a URL; '/' stays.
MUST_USE bool escape_path(struct buf *b, struct str s);
