// SPDX-License-Identifier: Apache-2.0
// talk -- one request to a FastCGI program over a connection of its own, and its answer to the
// client.
#pragma once

#include "base/compiler.h"
#include "godwit_app.h"

enum talk_result {
    TALK_DONE,   // answered in full
    TALK_LEFT,   // nobody listens any more: the program may still be busy
    TALK_FAILED, // the program broke off, or does not speak FastCGI; *out_why says so
};

// talk_run sends the request to the blocking connection `fd` and passes the answer on. `program` is
// the program's pidfd: its end ends the talk, whoever else has the connection by then.
MUST_USE enum talk_result talk_run(int fd, int program, struct godwit_app_request *req,
                                   const char **out_why);
