// SPDX-License-Identifier: Apache-2.0
// ask -- one exchange without a protocol: asked with a method, a path and header lines, answered
// into a struct. Stands for a front.
#pragma once

#include "base/buf.h"
#include "core/exchange.h"
#include "stage.h"

struct ask {
    struct exchange *ex;
    bool answered;
    int status;
    char headers[4096]; // "Name: value\n" of each
    struct buf body;
};

// ask_begin starts an exchange: `path` is decoded, `headers` is "Name: value\n..." or NULL.
void ask_begin(struct ask *a, struct stage *stage, enum http_method method, const char *path,
               const char *headers);

// ask_end reads what was answered, if it was, and ends the exchange.
void ask_end(struct ask *a);

// ask is both of a GET; the status is returned. ask_done frees.
int ask(struct ask *a, struct stage *stage, const char *path, const char *headers);

// ask_header is the value of an answered header, "" when absent. Valid until the next call.
const char *ask_header(const struct ask *a, const char *name);

// ask_body is what was answered, as a C string.
const char *ask_body(struct ask *a);

// ask_done frees.
void ask_done(struct ask *a);
