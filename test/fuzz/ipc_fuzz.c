// SPDX-License-Identifier: Apache-2.0
// ipc_fuzz -- whatever decodes must encode to the same bytes.
#include "wire/ipc.h"

#include <string.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char room[IPC_BYTES_MAX];
    struct ipc_msg msg;
    if (!ipc_decode(str_n((const char *)data, size), &msg))
        return 0;
    size_t len = ipc_encode(&msg, room);
    if (len) // zero: name and text exceed what we send
        ASSERT(len == size && memcmp(room, data, size) == 0);
    return 0;
}
