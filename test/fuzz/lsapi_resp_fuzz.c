// SPDX-License-Identifier: Apache-2.0
// lsapi_resp_fuzz -- an app's bytes, cut at an arbitrary place, end in the same state as whole.
#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "wire/lsapi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
    size_t events, data_bytes, log_bytes, lines;
    bool failed;
};

static void feed(struct lsapi_resp *parser, struct str in, struct sums *sums)
{
    while (!sums->failed) {
        struct lsapi_event event = lsapi_resp_next(parser, &in);
        struct lsapi_pair line;
        size_t at = 0;
        if (event.type == LSAPI_EVENT_AGAIN) {
            ASSERT(!in.len);
            return;
        }
        if (event.type == LSAPI_EVENT_DATA)
            sums->data_bytes += event.bytes.len;
        else if (event.type == LSAPI_EVENT_STDERR)
            sums->log_bytes += event.bytes.len;
        else
            sums->events++;
        if (event.type == LSAPI_EVENT_HEAD)
            while (lsapi_head_next(event.head, &at, &line))
                sums->lines += line.name.len + line.value.len;
        sums->failed = event.type == LSAPI_EVENT_FAILED;
    }
}

static struct sums run(struct str bytes, size_t cut)
{
    struct lsapi_resp *parser = mem_alloc(lsapi_resp_size());
    struct buf hold = {0};
    struct sums sums = {0};
    lsapi_resp_reset(parser, &hold);
    feed(parser, str_slice(bytes, 0, cut), &sums);
    feed(parser, str_skip(bytes, cut), &sums);
    mem_free(parser);
    buf_done(&hold);
    return sums;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct str bytes = str_n((const char *)data + 1, size - 1);
    struct sums whole = run(bytes, bytes.len);
    struct sums cut = run(bytes, data[0]);
    ASSERT(whole.events == cut.events && whole.lines == cut.lines);
    ASSERT(whole.data_bytes == cut.data_bytes && whole.log_bytes == cut.log_bytes);
    ASSERT(whole.failed == cut.failed);
    return 0;
}
