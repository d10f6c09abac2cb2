// SPDX-License-Identifier: Apache-2.0
// mem -- heap memory. Running out ends the process with a message: the keeper restarts it, and no
// caller carries a branch that no test walks.
#pragma once

#include <stddef.h>

#include "base/compiler.h"

// mem_alloc returns `size` zeroed bytes (size 0 is served as 1). Never NULL. The caller frees with
// mem_free.
MUST_USE void *mem_alloc(size_t size);

// mem_array returns zeroed room for `count` elements of `size` bytes; overflow ends the process.
MUST_USE void *mem_array(size_t count, size_t size);

// mem_grow resizes as realloc does; new bytes are not zeroed. Never NULL.
MUST_USE void *mem_grow(void *ptr, size_t size);

// mem_free frees what this module gave; NULL is fine.
void mem_free(void *ptr);

// mem_trim gives free memory of the heap back to the system. Takes milliseconds.
void mem_trim(void);

// mem_new is a zeroed `type` on the heap.
#define mem_new(type) ((type *)mem_alloc(sizeof(type)))
