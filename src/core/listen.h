// SPDX-License-Identifier: Apache-2.0
// listen -- the directive that says where connections come in. Opens nothing: the keeper does.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "conf/tree.h"
#include "core/module.h"
#include "core/snapshot.h"

struct sock_addr;

extern struct module listen_module;

struct listen_address {
    struct str text; // form of sock_addr_text, NUL-terminated behind
    uint32_t mode;   // of a Unix socket's file; 0: the default
    bool tls;
    bool proxy_protocol; // connections begin with a header that says who the client is
    struct tree_pos pos;
};

// listen_addresses returns the addresses in the order of the file; *out_count of them.
const struct listen_address *listen_addresses(const struct snapshot *s, size_t *out_count);

// listen_find returns the address of that text; NULL: there is none.
const struct listen_address *listen_find(const struct snapshot *s, struct str text);

// listen_believes tells whether a peer may say who the client is (proxy_protocol_from).
bool listen_believes(const struct snapshot *s, const struct sock_addr *peer);
