// SPDX-License-Identifier: Apache-2.0
// static_variant -- which compressed file, if any, is sent in place of a static file.
#pragma once

#include <stdbool.h>

#include "core/exchange.h"
#include "feature/static_conf.h"
#include "os/look.h"

// What is sent for a target.
struct static_variant {
    struct str path; // NUL-terminated behind
    uint64_t path_hash;
    struct look facts;
    struct str coding; // empty: the file itself
    bool varies;       // another client could get another one
};

// static_variant_suffix is what the names of files in a coding end with; empty: no such coding.
struct str static_variant_suffix(struct str coding);

// static_variant_choose finds what is best for this client. The exchange's target is a file.
struct static_variant static_variant_choose(const struct static_conf *conf, struct exchange *ex);
