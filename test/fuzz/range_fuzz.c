// SPDX-License-Identifier: Apache-2.0
// range_fuzz -- ranges never leave the thing they are ranges of.
#include "http/range.h"

#include <string.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t bytes;
    struct range_set set;
    if (size < sizeof bytes)
        return 0;
    memcpy(&bytes, data, sizeof bytes);
    struct str value = str_n((const char *)data + sizeof bytes, size - sizeof bytes);
    if (range_parse(value, bytes, &set) != RANGE_OK)
        return 0;
    ASSERT(set.count > 0 && set.count <= RANGE_COUNT_MAX);
    for (size_t i = 0; i < set.count; i++) {
        const struct range *r = &set.ranges[i];
        ASSERT(r->len > 0 && r->first < bytes && r->len <= bytes - r->first);
    }
    return 0;
}
