// SPDX-License-Identifier: Apache-2.0
// listen -- the directive that says where connections come in. Opens nothing: the keeper does.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "conf/tree.h"
#include "core/module.h"
#include "core/snapshot.h"

extern struct module listen_module;

struct listen_address {
    struct str text; // form of sock_addr_text, NUL-terminated behind
    uint32_t mode;   // of a Unix socket's file; 0: the default
    struct tree_pos pos;
};

// listen_addresses returns the addresses in the order of the file; *out_count of them.
const struct listen_address *listen_addresses(const struct snapshot *s, size_t *out_count);
