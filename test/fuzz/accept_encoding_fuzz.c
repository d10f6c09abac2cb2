// SPDX-License-Identifier: Apache-2.0
// accept_encoding_fuzz -- weights of content codings: always within bounds, the same for any case.
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/mem.h"
#include "http/accept_encoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str CODINGS[] = {STR_INIT("gzip"), STR_INIT("br"), STR_INIT("identity")};
    struct str value = str_n((const char *)data, size);
    char *upper = mem_alloc(size + 1);
    for (size_t i = 0; i < size; i++)
        upper[i] = data[i] >= 'a' && data[i] <= 'z' ? (char)(data[i] - 'a' + 'A') : (char)data[i];
    for (size_t i = 0; i < ARRAY_LEN(CODINGS); i++) {
        int quality = accept_encoding_quality(value, CODINGS[i]);
        ASSERT(quality >= ACCEPT_ENCODING_UNNAMED && quality <= 1000);
        ASSERT(accept_encoding_quality(str_n(upper, size), CODINGS[i]) == quality);
    }
    mem_free(upper);
    return 0;
}
