// SPDX-License-Identifier: Apache-2.0
// date_fuzz -- an accepted date is written and read back as the same moment; so is any moment.
#include "http/date.h"

#include <string.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_moment(int64_t unix_s, int64_t now_s)
{
    char room[DATE_BYTES + 1];
    int64_t again_s;
    struct date_parts parts = date_split(unix_s);
    int64_t clamped_s = date_join(&parts);
    bool ok = date_parse(date_format(unix_s, room), now_s, &again_s);
    ASSERT(ok && again_s == clamped_s);
    if (unix_s >= 0 && unix_s <= 253402300799)
        ASSERT(clamped_s == unix_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t now_s, unix_s;
    if (size < sizeof now_s)
        return 0;
    memcpy(&now_s, data, sizeof now_s);
    check_moment(now_s, 0);
    struct str text = str_n((const char *)data + sizeof now_s, size - sizeof now_s);
    if (date_parse(text, now_s, &unix_s))
        check_moment(unix_s, now_s);
    return 0;
}
