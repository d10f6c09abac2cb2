// SPDX-License-Identifier: Apache-2.0
// link -- the path that was asked for as a part of URLs that are given to the client.
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

struct exchange;

// link_put_path appends the exchange's path without its first `skip` bytes, escaped for a URL: a
// slash that was sent as %2F and kept (encoded_slash keep) goes out as it came. False when the
// buffer's ceiling forbids.
MUST_USE bool link_put_path(struct exchange *ex, size_t skip, struct buf *out);
