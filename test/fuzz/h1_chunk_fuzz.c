// SPDX-License-Identifier: Apache-2.0
// h1_chunk_fuzz -- a body in two parts decodes as in one, and what was decoded can be coded again.
#include "wire/h1_chunk.h"

#include <string.h>

#include "base/assert.h"

enum { BODY_BYTES_MAX = 16384 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct h1_chunk decoder;
    enum h1_chunk_result result;
    char body[BODY_BYTES_MAX];
    size_t len;
    size_t taken;
};

static void feed(struct run *r, struct str in)
{
    size_t before = in.len;
    struct str data;
    while ((r->result = h1_chunk_feed(&r->decoder, &in, &data)) == H1_CHUNK_DATA) {
        ASSERT(data.len && data.len <= sizeof r->body - r->len);
        memcpy(r->body + r->len, data.ptr, data.len);
        r->len += data.len;
    }
    ASSERT(r->result != H1_CHUNK_AGAIN || !in.len);
    r->taken += before - in.len;
}

static void check_round_trip(const struct run *r)
{
    static char room[BODY_BYTES_MAX + 64];
    static struct run again;
    struct wr w = {.ptr = room, .size = sizeof room};
    if (r->len) {
        h1_chunk_put_head(&w, r->len);
        wr_bytes(&w, str_n(r->body, r->len));
        h1_chunk_put_tail(&w);
    }
    h1_chunk_put_last(&w);
    again = (struct run){.result = H1_CHUNK_AGAIN};
    feed(&again, wr_view(&w));
    ASSERT(wr_ok(&w) && again.result == H1_CHUNK_END && again.taken == w.len);
    ASSERT(again.len == r->len && memcmp(again.body, r->body, r->len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run whole, cut;
    if (size < 2 || size > BODY_BYTES_MAX)
        return 0;
    struct str bytes = str_n((const char *)data + 2, size - 2);
    size_t at = (data[0] | (size_t)data[1] << 8) % (bytes.len + 1);
    whole = cut = (struct run){.result = H1_CHUNK_AGAIN};
    feed(&whole, bytes);
    feed(&cut, str_slice(bytes, 0, at));
    if (cut.result == H1_CHUNK_AGAIN)
        feed(&cut, str_skip(bytes, at));
    ASSERT(whole.result == cut.result && whole.taken == cut.taken && whole.len == cut.len);
    ASSERT(memcmp(whole.body, cut.body, whole.len) == 0);
    if (whole.result == H1_CHUNK_END)
        check_round_trip(&whole);
    return 0;
}
