// SPDX-License-Identifier: Apache-2.0
// static_body -- a static file, or ranges of it, as a body.
#pragma once

#include "base/arena.h"
#include "core/body.h"
#include "feature/static_cache.h"
#include "http/range.h"

// static_body_range makes a source of one range of `file`, which outlives the arena's contents.
struct body *static_body_range(struct arena *a, const struct static_file *file,
                               const struct range *range);

// static_body_ranges makes a multipart/byteranges source (RFC 9110 §14.6) of parts that are of
// `content_type`. `boundary` must not stand in the file: it is made anew for each answer.
struct body *static_body_ranges(struct arena *a, const struct static_file *file,
                                const struct range_set *set, struct str content_type,
                                struct str boundary);
