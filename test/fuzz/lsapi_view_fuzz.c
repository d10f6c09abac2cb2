// SPDX-License-Identifier: Apache-2.0
// lsapi_view_fuzz -- whatever a packet holds, all of its slices lie inside.
#include "base/assert.h"
#include "wire/lsapi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct str packet, struct str part)
{
    if (!part.len)
        return;
    ASSERT(part.ptr >= packet.ptr && part.len <= packet.len);
    ASSERT((size_t)(part.ptr - packet.ptr) <= packet.len - part.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str packet = str_n((const char *)data, size);
    struct lsapi_view v;
    if (!lsapi_view_open(packet, &v))
        return 0;
    struct lsapi_pair pair;
    check(packet, v.script_file);
    check(packet, v.script_name);
    check(packet, v.query);
    check(packet, v.method);
    ASSERT(v.body_bytes >= 0);
    uint32_t count = 0;
    for (size_t at = 0; lsapi_view_special(&v, &at, &pair); count++) {
        check(packet, pair.name);
        check(packet, pair.value);
    }
    ASSERT(count == v.special_count);
    count = 0;
    for (size_t at = 0; lsapi_view_env(&v, &at, &pair); count++) {
        check(packet, pair.name);
        check(packet, pair.value);
    }
    ASSERT(count == v.env_count);
    for (unsigned slot = 0; slot < LSAPI_KNOWN_HEADERS; slot++)
        if (lsapi_view_known(&v, slot, &pair.value))
            check(packet, pair.value);
    for (uint32_t i = 0; lsapi_view_unknown(&v, i, &pair); i++) {
        check(packet, pair.name);
        check(packet, pair.value);
    }
    return 0;
}
