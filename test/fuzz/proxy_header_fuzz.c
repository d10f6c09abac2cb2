// SPDX-License-Identifier: Apache-2.0
// proxy_header_fuzz -- a header is the same however it was cut, and never longer than what came.
#include "wire/proxy_header.h"

#include <string.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_n((const char *)data, size);
    struct proxy_header whole = {0};
    enum proxy_header_result result = proxy_header_parse(bytes, &whole);
    if (result == PROXY_HEADER_OK)
        ASSERT(whole.len > 0 && whole.len <= size && whole.len <= PROXY_HEADER_BYTES_MAX);
    for (size_t cut = 0; cut < size && cut <= PROXY_HEADER_BYTES_MAX; cut++) {
        struct proxy_header part = {0};
        enum proxy_header_result early = proxy_header_parse(str_slice(bytes, 0, cut), &part);
        if (early == PROXY_HEADER_AGAIN) {
            ASSERT(result != PROXY_HEADER_OK || cut < whole.len);
            continue;
        }
        ASSERT(early == result);
        if (early == PROXY_HEADER_OK)
            ASSERT(part.len == whole.len && part.family == whole.family
                   && part.source_port == whole.source_port && part.is_tls == whole.is_tls
                   && memcmp(part.source, whole.source, sizeof part.source) == 0);
        break;
    }
    return 0;
}
