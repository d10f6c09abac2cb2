// SPDX-License-Identifier: Apache-2.0
// metrics -- see metrics.h.
#include "core/metrics.h"

#include "base/compiler.h"

static const struct metrics_row ROWS[] = {
#define METRICS_ROW(name, help) {#name, help},
    METRICS(METRICS_ROW)
#undef METRICS_ROW
};

const struct metrics_row *metrics_rows(unsigned *out_count)
{
    *out_count = ARRAY_LEN(ROWS);
    return ROWS;
}

void metrics_sum(const struct metrics *m, int64_t *sums)
{
    unsigned at = 0;
#define METRICS_SUM(name, help) sums[at++] += atomic_load_explicit(&m->name, memory_order_relaxed);
    METRICS(METRICS_SUM)
#undef METRICS_SUM
}
