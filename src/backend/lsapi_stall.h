// SPDX-License-Identifier: Apache-2.0
// lsapi_stall -- a worker that waits for a client because no file may hold the rest of its answer:
// by its own limit, by those of the app and the instance, or because the disk is full. A client
// that reads, however slowly, keeps its worker. One that reads nothing loses it if others wait.
#pragma once

#include <stdbool.h>

#include "backend/lsapi_conv.h"

// lsapi_stall_watch begins to look at the client from time to time, with conv->grace, if its answer
// can't go to a file; false: nothing keeps it from that.
bool lsapi_stall_watch(struct lsapi_conv *conv);

enum lsapi_stall_result {
    LSAPI_STALL_WAIT, // it is looked at again
    LSAPI_STALL_ROOM, // there is room again: reading goes on
    LSAPI_STALL_CUT   // the worker is to be taken from the client
};

// lsapi_stall_look looks, when conv->grace has ended.
enum lsapi_stall_result lsapi_stall_look(struct lsapi_conv *conv);

// lsapi_stall_text says why the answer is cut; in the exchange's arena. While there is a slot.
struct str lsapi_stall_text(const struct lsapi_conv *conv);
