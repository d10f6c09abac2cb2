// SPDX-License-Identifier: Apache-2.0
// control_client -- one request to a running instance over its control socket (HTTP/1.1), waiting
// for the answer. For commands, which have nothing else to do.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"

// control_client_ask sends `method` and `target` to the socket at `path`, sets *out_status and
// appends the answer's body to `out_body`. False: `err` says why there is no answer.
MUST_USE bool control_client_ask(const char *path, const char *method, const char *target,
                                 int *out_status, struct buf *out_body, struct err *err);
