// SPDX-License-Identifier: Apache-2.0
// spool -- takes in a whole request body before an app is bothered with it: in memory, beyond
// body_memory in a temporary file without a name. The result can be read more than once. Does not
// answer the client: the caller does.
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "core/body.h"
#include "core/exchange.h"
#include "core/module.h"
#include "core/spool_file.h"

extern struct module spool_module; // directives body_max, body_memory, spool_dir, spool_max

enum spool_result {
    SPOOL_WAIT,      // more is to come: on_done will be called
    SPOOL_DONE,      // complete
    SPOOL_TOO_LARGE, // over body_max: answer 413
    SPOOL_NEVER,     // over spool_max or the app's share, whatever others use: answer 413
    SPOOL_CUT,       // the client broke off, sent nonsense or was too slow: answer 400
    SPOOL_NO_ROOM,   // spool_max or the app's share is used up: answer 503
    SPOOL_DISK_FULL, // the disk is: answer 507
    SPOOL_FAILED     // the temporary file could not be made or written: answer 500
};

struct spool;

typedef void spool_done_fn(struct exchange *ex, void *arg, enum spool_result result);

// spool_start reads ex->req.body to its end. SPOOL_WAIT: on_done(ex, arg, result) comes later,
// once, never from within spool_start. Anything else: on_done does not come. *out_spool (written in
// each case) lives until the exchange ends.
MUST_USE enum spool_result spool_start(struct exchange *ex, struct spool_share share,
                                       spool_done_fn *on_done, void *arg, struct spool **out_spool);

// spool_stop takes the call of on_done back (the exchange is aborted). Fine when it is over.
void spool_stop(struct spool *s);

// spool_length is how many bytes a complete spool holds.
int64_t spool_length(const struct spool *s);

// spool_body makes a source of a complete spool's bytes from the first one, of exact length; as
// often as wanted. Memory of the exchange. NULL when no descriptor can be had.
struct body *spool_body(struct spool *s);

// spool_is_too_large tells whether the request's Content-Length exceeds body_max.
bool spool_is_too_large(const struct exchange *ex);

// spool_refuse answers the exchange for a result that is neither SPOOL_WAIT nor SPOOL_DONE; `s`
// NULL: it was not spooled.
void spool_refuse(struct exchange *ex, const struct spool *s, enum spool_result result);

// spool_dir and spool_max are the values of these directives for the exchange's path. The directory
// lives as long as the exchange's snapshot.
const char *spool_dir(const struct exchange *ex);
int64_t spool_max(const struct exchange *ex);
