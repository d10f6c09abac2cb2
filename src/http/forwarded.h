// SPDX-License-Identifier: Apache-2.0
// forwarded -- what proxies say about the client behind them: X-Forwarded-For, and Forwarded (RFC
// 7239). Believes nothing: whom to trust is the caller's to know.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/str.h"

#define FORWARDED_HOPS_MAX 32 // the nearest ones are kept

// One proxy's word, in the order of the header: the last is of the proxy next to us.
struct forwarded_hop {
    struct str ip;    // without port and brackets; empty: "unknown", a made-up name, or nothing
    unsigned port;    // 0: none
    struct str proto; // as written; of Forwarded only
};

// forwarded_list reads the joined values of X-Forwarded-For; returns the count of hops.
size_t forwarded_list(struct str value, struct forwarded_hop hops[static FORWARDED_HOPS_MAX]);

// forwarded_elements reads the joined values of Forwarded, from their end; what was quoted lies in
// the arena. An element that is malformed has no address, and what stands before it is left out.
size_t forwarded_elements(struct str value, struct arena *a,
                          struct forwarded_hop hops[static FORWARDED_HOPS_MAX]);
