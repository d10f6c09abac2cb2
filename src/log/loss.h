// SPDX-License-Identifier: Apache-2.0
// loss -- when to tell that a log loses lines, and that it does no more: at most once a minute, so
// that a full disk does not fill what is left of it. Writes no message itself.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/sink.h"

#define LOSS_PAUSE_US UINT64_C(60000000) // between two tellings of losses

// What has been told of a sink. Zeroed: nothing.
struct loss {
    // private
    uint64_t seen, told; // lines
    uint64_t told_us;
    bool is_open; // told of losses, not yet of their end
};

enum loss_news {
    LOSS_NOTHING,
    LOSS_LINES, // so many were lost since the last telling
    LOSS_OVER,  // the log is written again; so many were lost since the last telling
};

// loss_look compares the sink's losses with what is known. *out_new: lines lost since the last
// look; *out_untold: since the last telling, for all but LOSS_NOTHING.
enum loss_news loss_look(struct loss *l, const struct sink_losses *now, uint64_t now_us,
                         uint64_t *out_new, uint64_t *out_untold);
