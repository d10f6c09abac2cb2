// SPDX-License-Identifier: Apache-2.0
// cgi_env -- the variables and headers that an application sees of a request: what Apache's mod_php
// sets, made once per exchange and shared by every CGI-like backend. Encodes nothing, sends
// nothing. Source: RFC 3875 and the behaviour of Apache 2.4.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/exchange.h"
#include "wire/lsapi.h"

// What runs, as the handler has found it. All borrowed for the exchange's life.
struct cgi_env_script {
    struct str document_root;
    struct str context_root;   // the root in force, which a path may have of its own; empty: none
    struct str context_prefix; // what of the URL path that root stands for
    struct str file;           // SCRIPT_FILENAME
    struct str name;           // SCRIPT_NAME: URL path without path info
    struct str path_info;      // empty: none
};

// The pairs are in the form that the LSAPI codec takes; other codecs walk them.
struct cgi_env {
    struct lsapi_pair *vars;
    size_t var_count;
    struct header *headers; // one per name
    size_t header_count;
};

// cgi_env_make fills *out from the exchange; memory is the exchange's arena. Headers: hop-by-hop
// ones, Proxy, Proxy-Authorization, Expect and names with other characters than letters, digits and
// "-" are left out (each could pose as another variable); equal names are joined with ", " (Cookie:
// "; "). `body_bytes` is the exact length of the request's body, -1 when there is none: it decides
// Content-Length whatever the client wrote, or 0 when the client wrote one without a body.
void cgi_env_make(struct exchange *ex, const struct cgi_env_script *script, int64_t body_bytes,
                  struct cgi_env *out);

// cgi_env_find returns the value of a variable, the empty slice when it is not set.
struct str cgi_env_find(const struct cgi_env *env, struct str name);
