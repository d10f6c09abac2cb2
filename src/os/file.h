// SPDX-License-Identifier: Apache-2.0
// file -- whole files, memory files and directories. May block: not for a loop's thread unless
// said.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"

// file_read_all appends the file at `path` to `out`. 0, -errno, or -EFBIG when the ceiling of `out`
// forbids; after a failure `out` may hold a part. -EINVAL: it is a pipe, a socket or a device,
// which could keep us waiting.
MUST_USE int file_read_all(const char *path, struct buf *out);

// file_read_pipe is file_read_all that takes those, too, and waits for them: for files that only
// who may do everything puts there.
MUST_USE int file_read_pipe(const char *path, struct buf *out);

// file_read_fd appends what descriptor `fd` holds from offset 0 (a regular or memory file).
MUST_USE int file_read_fd(int fd, struct buf *out);

// file_memfd makes a sealed, read-only memory file that holds `bytes`. Descriptor or -errno.
MUST_USE int file_memfd(const char *name, struct str bytes);

// file_shared makes a memory file of `size` bytes for mapping shared, which can't shrink or grow.
// Descriptor or -errno.
MUST_USE int file_shared(const char *name, size_t size);

// file_map maps `size` bytes of `fd` shared; NULL on failure (errno stays). Unmap with file_unmap.
MUST_USE void *file_map(int fd, size_t size, bool writable);

// file_unmap ends a mapping of file_map; NULL is fine.
void file_unmap(void *ptr, size_t size);

// file_unnamed opens a file without a name in directory `dir` (O_TMPFILE), mode 0600.
// Descriptor or -errno.
MUST_USE int file_unnamed(const char *dir);

// file_make_dirs makes the directory and its missing parents with `mode` (less the umask). 0 or
// -errno.
MUST_USE int file_make_dirs(const char *path, mode_t mode);
