// SPDX-License-Identifier: Apache-2.0
// forwarded_fuzz -- what proxies, and whoever pretends to be one, say about clients.
#include "http/forwarded.h"

#include <stdint.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct forwarded_hop *hops, size_t count)
{
    ASSERT(count <= FORWARDED_HOPS_MAX);
    for (size_t i = 0; i < count; i++) {
        ASSERT(hops[i].port <= 65535);
        for (size_t k = 0; k < hops[i].ip.len; k++)
            ASSERT(hops[i].ip.ptr[k] > ' ' && hops[i].ip.ptr[k] < 0x7f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct forwarded_hop hops[FORWARDED_HOPS_MAX];
    struct str text = str_n((const char *)data, size);
    look(hops, forwarded_list(text, hops));
    look(hops, forwarded_elements(text, &arena, hops));
    arena_done(&arena);
    return 0;
}
