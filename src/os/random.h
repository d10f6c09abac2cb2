// SPDX-License-Identifier: Apache-2.0
// random -- bytes from the kernel's generator.
#pragma once

#include <stddef.h>
#include <stdint.h>

// random_bytes fills `room`. Never fails (ends the process if the kernel refuses). Any thread.
void random_bytes(void *room, size_t size);

// random_u64 is eight of them.
uint64_t random_u64(void);
