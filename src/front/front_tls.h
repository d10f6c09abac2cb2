// SPDX-License-Identifier: Apache-2.0
// front_tls -- the directives certificate and key. Their files are read by who loads the
// configuration, with the rights for that; here they come as texts behind the paths.
#pragma once

#include "base/compiler.h"
#include "base/str.h"
#include "conf/tree.h"
#include "core/module.h"
#include "core/snapshot.h"
#include "net/stream.h"

extern struct module front_tls_module;

struct front_tls_file {
    struct str path; // absolute; empty: not given
    struct str text; // what it holds; empty before it was read
    struct tree_pos pos;
};

struct front_tls_conf {
    struct front_tls_file certificate, key;
    struct tls_context *context; // NULL: the files were not read yet, or not given
};

// front_tls_conf returns a snapshot's.
const struct front_tls_conf *front_tls_conf(const struct snapshot *s);

// front_tls_start makes a plain stream speak TLS with the certificate in force. False: there is
// none, or no memory.
MUST_USE bool front_tls_start(struct stream *s);
