// SPDX-License-Identifier: Apache-2.0
// tls -- TLS on the server's side of a stream, by OpenSSL, which is wrapped here and nowhere else.
// One certificate, TLS 1.2 and newer, ALPN http/1.1. Reads no files: who loads a configuration
// does.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"
#include "event/loop.h"
#include "net/stream.h"

// A certificate with its key, and how TLS is spoken with them. Shared by threads. A stream keeps
// what it began with, also when the context is freed.
struct tls_context;

enum tls_result {
    TLS_OK,
    TLS_BAD_CERTIFICATE, // no certificate in PEM, or one that is too weak
    TLS_BAD_KEY,         // no private key in PEM
    TLS_LOCKED_KEY,      // it needs a password
    TLS_MISMATCH,        // the key is not that of the certificate
    TLS_FAILED,          // OpenSSL lacks something
};

// tls_context_new makes a context of PEM texts: the certificate with those of its issuers behind
// it, and its key. NULL: *out_result says why.
MUST_USE struct tls_context *tls_context_new(struct str certificate, struct str key,
                                             enum tls_result *out_result);

// tls_context_free frees it; NULL is fine.
void tls_context_free(struct tls_context *context);

// tls_result_text says what a result means, as in "FILE holds ...".
const char *tls_result_text(enum tls_result result);

// tls_is_flooded tells that the stream has failed because its peer sent too many records that carry
// no bytes.
bool tls_is_flooded(const struct stream *s);

// tls_start makes a plain stream speak TLS from its next byte on; the handshake is made by reading.
// If the client's first bytes are a request without TLS, reading fails, and the stream is plain
// again (is_misled); those bytes are lost. 0 or -errno; then the stream is as it was.
MUST_USE int tls_start(struct stream *s, struct tls_context *context);
