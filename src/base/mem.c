// SPDX-License-Identifier: Apache-2.0
// mem -- see mem.h. The only file that may call malloc.
#include "base/mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

NORETURN static void out_of_memory(size_t size)
{
    (void)fprintf(stderr, "godwit: out of memory (wanted %zu bytes)\n", size);
    abort();
}

void *mem_alloc(size_t size)
{
    return mem_array(1, size);
}

void *mem_array(size_t count, size_t size)
{
    void *ptr = calloc(count ? count : 1, size ? size : 1);
    if (!ptr)
        out_of_memory(size);
    return ptr;
}

void *mem_grow(void *ptr, size_t size)
{
    void *grown = realloc(ptr, size ? size : 1);
    if (!grown)
        out_of_memory(size);
    return grown;
}

void mem_free(void *ptr)
{
    free(ptr);
}

void mem_trim(void)
{
    (void)malloc_trim(0);
}
