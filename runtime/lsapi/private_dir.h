// SPDX-License-Identifier: Apache-2.0
// private_dir -- a directory that nobody else can enter, for the moment in which a program needs
// names in the file system: the address of its socket, a file of settings.
#pragma once

#include "base/compiler.h"
#include "base/str.h"

#define PRIVATE_DIR_BYTES 64

struct private_dir {
    char path[PRIVATE_DIR_BYTES]; // empty: none
};

// private_dir_open makes it: in memory if the system has such a place. 0 or -errno.
MUST_USE int private_dir_open(struct private_dir *dir);

// private_dir_write puts a file into it. 0 or -errno.
MUST_USE int private_dir_write(const struct private_dir *dir, const char *name, struct str text);

// private_dir_listen makes a listening Unix socket there. *out_address is a descriptor of its file:
// the way to connect that stays when the name is gone (private_dir_connect). Descriptor or -errno.
MUST_USE int private_dir_listen(const struct private_dir *dir, const char *name, int *out_address);

// private_dir_connect connects to the socket of private_dir_listen. Descriptor or -errno.
MUST_USE int private_dir_connect(int address);

// private_dir_close removes it with its files.
void private_dir_close(struct private_dir *dir);
