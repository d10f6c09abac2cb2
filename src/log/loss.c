// SPDX-License-Identifier: Apache-2.0
// loss -- see loss.h.
#include "log/loss.h"

enum loss_news loss_look(struct loss *l, const struct sink_losses *now, uint64_t now_us,
                         uint64_t *out_new, uint64_t *out_untold)
{
    uint64_t new_lines = now->lines - l->seen;
    uint64_t untold = now->lines - l->told;
    bool is_over = l->is_open && new_lines == 0 && !now->is_failing;
    bool is_due = untold > 0 && (l->told_us == 0 || now_us - l->told_us >= LOSS_PAUSE_US);
    *out_new = new_lines;
    l->seen = now->lines;
    if (!is_over && !is_due)
        return LOSS_NOTHING;
    *out_untold = untold;
    l->told = now->lines;
    l->is_open = !is_over;
    if (is_over)
        return LOSS_OVER;
    l->told_us = now_us;
    return LOSS_LINES;
}
