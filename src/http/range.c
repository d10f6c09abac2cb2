// SPDX-License-Identifier: Apache-2.0
// range -- see range.h.
#include "http/range.h"

#include <stdbool.h>

#include "http/header.h"

// More ranges overlapping than this are no honest wish but work for us (RFC 9110 §14.2).
enum { OVERLAPS_MAX = 2 };

enum spec_result { SPEC_OK, SPEC_OUTSIDE, SPEC_MALFORMED };

// Reads digits only; what exceeds 64 bits lies behind the end of anything, as the greatest number.
static bool read_position(struct str s, uint64_t *out)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    if (!str_to_u64(s, out))
        *out = UINT64_MAX;
    return s.len != 0;
}

static enum spec_result read_suffix(struct str digits, uint64_t size, struct range *out)
{
    uint64_t len;
    if (!read_position(digits, &len))
        return SPEC_MALFORMED;
    if (len == 0)
        return SPEC_OUTSIDE;
    out->len = len < size ? len : size;
    out->first = size - out->len;
    return SPEC_OK;
}

// "first-last", "first-" or "-length".
static enum spec_result read_spec(struct str spec, uint64_t size, struct range *out)
{
    uint64_t first;
    uint64_t last = UINT64_MAX;
    struct str rest = spec;
    struct str left = str_cut(&rest, '-');
    if (!rest.ptr)
        return SPEC_MALFORMED;
    if (!left.len)
        return read_suffix(rest, size, out);
    if (!read_position(left, &first) || (rest.len && !read_position(rest, &last)) || last < first)
        return SPEC_MALFORMED;
    if (first >= size)
        return SPEC_OUTSIDE;
    out->first = first;
    out->len = (last < size - 1 ? last : size - 1) - first + 1;
    return SPEC_OK;
}

static bool overlaps(const struct range *a, const struct range *b)
{
    return a->first < b->first + b->len && b->first < a->first + a->len;
}

static bool is_abusive(const struct range_set *set)
{
    int count = 0;
    for (size_t i = 0; i < set->count; i++)
        for (size_t j = i + 1; j < set->count; j++)
            count += overlaps(&set->ranges[i], &set->ranges[j]);
    return count > OVERLAPS_MAX;
}

enum range_result range_parse(struct str value, uint64_t size, struct range_set *out)
{
    struct range_set set = {.count = 0};
    size_t asked = 0;
    if (!value.ptr)
        return RANGE_NONE;
    // Clients that ask for "bytes=0-" of everything want the whole of nothing, too.
    if (size == 0)
        return RANGE_IGNORED;
    if (!str_starts_nocase(value, STR("bytes=")))
        return RANGE_IGNORED;
    struct str rest = str_skip(value, sizeof "bytes=" - 1);
    struct str spec;
    for (; header_next_member(&rest, &spec); asked++) {
        struct range range = {0, 0};
        if (asked == RANGE_COUNT_MAX)
            return RANGE_IGNORED;
        switch (read_spec(spec, size, &range)) {
        case SPEC_OK:
            set.ranges[set.count++] = range;
            break;
        case SPEC_OUTSIDE:
            break;
        case SPEC_MALFORMED:
            return RANGE_IGNORED;
        }
    }
    if (!asked || is_abusive(&set))
        return RANGE_IGNORED;
    if (!set.count)
        return RANGE_UNSATISFIABLE;
    *out = set;
    return RANGE_OK;
}
