// SPDX-License-Identifier: Apache-2.0
// fcgi_fuzz -- a FastCGI answer, cut at an arbitrary place, ends in the same state as whole.
#include "wire/fcgi.h"

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
    size_t out_bytes, log_bytes, ends;
    bool failed;
};

static void feed(struct fcgi_resp *p, struct str in, struct sums *sums)
{
    while (!sums->failed) {
        struct fcgi_event event = fcgi_resp_next(p, &in);
        if (event.type == FCGI_EVENT_AGAIN) {
            ASSERT(!in.len);
            return;
        }
        if (event.type == FCGI_EVENT_STDOUT)
            sums->out_bytes += event.bytes.len;
        else if (event.type == FCGI_EVENT_STDERR)
            sums->log_bytes += event.bytes.len;
        else if (event.type == FCGI_EVENT_END)
            sums->ends++;
        sums->failed = event.type == FCGI_EVENT_FAILED;
    }
}

static struct sums run(struct str bytes, size_t cut)
{
    struct fcgi_resp p = {0};
    struct sums sums = {0};
    feed(&p, str_slice(bytes, 0, cut), &sums);
    feed(&p, str_skip(bytes, cut), &sums);
    return sums;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct str bytes = str_n((const char *)data + 1, size - 1);
    struct sums whole = run(bytes, bytes.len);
    struct sums cut = run(bytes, data[0] % (bytes.len + 1));
    ASSERT(whole.out_bytes == cut.out_bytes && whole.log_bytes == cut.log_bytes);
    ASSERT(whole.ends == cut.ends && whole.failed == cut.failed);
    return 0;
}
