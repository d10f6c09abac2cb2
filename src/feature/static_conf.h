// SPDX-License-Identifier: Apache-2.0
// static_conf -- the directives of static files.
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "conf/key.h"

struct static_conf {
    int64_t cache_bytes_max; // per thread
    int64_t open_files_max;  // per thread
    struct key_words precompressed;
    struct key_pairs mime; // extension (lower case, no dot) -> type
    struct str charset;    // "off": none
};

enum { STATIC_CONF_KEY_COUNT = 5 };

extern const struct key STATIC_CONF_KEYS[STATIC_CONF_KEY_COUNT];

// static_conf_has_precompressed tells whether there are codings to look for.
bool static_conf_has_precompressed(const struct static_conf *conf);
