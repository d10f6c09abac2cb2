// SPDX-License-Identifier: Apache-2.0
// closer -- closes descriptors that somebody else has made, where blocking does not matter. The
// last close of a socket that lingers, or of a file on a file system of a user's making, takes as
// long as that one likes; and so does the close of a Unix socket in whose queue such ones stand.
#pragma once

#include <stddef.h>

// closer_close closes the descriptors in a thread of their own and sets them to FD_NONE; those that
// are FD_NONE are left out. If no thread can be had for them they stay open until the next call
// that finds one, with or without descriptors of its own: better than to block.
void closer_close(int *fds, size_t count);

// closer_close_stream closes a connected Unix stream socket that nobody uses any more, here when
// nothing unread stands in it and else like closer_close. FD_NONE is fine.
void closer_close_stream(int *fd);
