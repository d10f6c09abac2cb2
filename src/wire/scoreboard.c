// SPDX-License-Identifier: Apache-2.0
// scoreboard -- see scoreboard.h. A sequence lock with one writer per record: the writer makes the
// number odd, writes, makes it even again; a reader that saw an odd or changed number tries again.
#include "wire/scoreboard.h"

#include <string.h>

#include "base/assert.h"

#define READ_TRIES_MAX 100 // a writer is inside for some nanoseconds, or dead

STATIC_ASSERT(sizeof(struct scoreboard_record) == 512);
STATIC_ASSERT(SCOREBOARD_URL_MAX <= UINT16_MAX);

static struct scoreboard_record *record_need(struct scoreboard_record *board, uint32_t index)
{
    ASSERT(index < SCOREBOARD_RECORDS_MAX);
    return &board[index];
}

// A worker that was killed while writing leaves an odd number behind; the next one starts from it.
static void write_begin(struct scoreboard_record *rec)
{
    uint32_t sequence = atomic_load_explicit(&rec->sequence, memory_order_relaxed);
    atomic_store_explicit(&rec->sequence, sequence | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void write_end(struct scoreboard_record *rec)
{
    uint32_t sequence = atomic_load_explicit(&rec->sequence, memory_order_relaxed);
    atomic_store_explicit(&rec->sequence, sequence + 1, memory_order_release);
}

void scoreboard_reset(struct scoreboard_record *board, uint32_t index, uint32_t worker_id,
                      uint32_t pid, uint64_t now_us, uint64_t anon_kib)
{
    struct scoreboard_record *rec = record_need(board, index);
    write_begin(rec);
    rec->state = SCOREBOARD_BOOTING;
    rec->pid = pid;
    rec->worker_id = worker_id;
    rec->since_us = now_us;
    rec->requests = 0;
    rec->anon_kib_at_fork = anon_kib;
    rec->busy_us = 0;
    rec->url_len = 0;
    write_end(rec);
}

void scoreboard_set(struct scoreboard_record *board, uint32_t index, enum scoreboard_state state,
                    uint64_t now_us)
{
    struct scoreboard_record *rec = record_need(board, index);
    write_begin(rec);
    if (rec->state == SCOREBOARD_READING || rec->state == SCOREBOARD_RUNNING)
        rec->busy_us += now_us - rec->since_us;
    rec->state = state;
    rec->since_us = now_us;
    write_end(rec);
}

static size_t append(char *url, size_t at, struct str s)
{
    size_t len = s.len < SCOREBOARD_URL_MAX - at ? s.len : SCOREBOARD_URL_MAX - at;
    if (len)
        memcpy(url + at, s.ptr, len);
    return at + len;
}

void scoreboard_begin(struct scoreboard_record *board, uint32_t index, struct str method,
                      struct str url, uint64_t now_us)
{
    struct scoreboard_record *rec = record_need(board, index);
    write_begin(rec);
    rec->state = SCOREBOARD_READING;
    rec->since_us = now_us;
    rec->requests++;
    size_t len = append(rec->url, 0, method);
    len = append(rec->url, len, STR(" "));
    len = append(rec->url, len, url);
    rec->url_len = (uint16_t)len;
    write_end(rec);
}

bool scoreboard_get(const struct scoreboard_record *board, uint32_t index,
                    struct scoreboard_record *out)
{
    if (index >= SCOREBOARD_RECORDS_MAX)
        return false;
    const struct scoreboard_record *rec = &board[index];
    struct scoreboard_record copy;
    for (int tries = 0; tries < READ_TRIES_MAX; tries++) {
        uint32_t before = atomic_load_explicit(&rec->sequence, memory_order_acquire);
        if (before & 1)
            continue;
        memcpy((char *)&copy + sizeof copy.sequence, (const char *)rec + sizeof rec->sequence,
               sizeof copy - sizeof copy.sequence);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&rec->sequence, memory_order_relaxed) != before)
            continue;
        atomic_init(&copy.sequence, before);
        if (copy.state > SCOREBOARD_LEAVING)
            copy.state = SCOREBOARD_FREE;
        if (copy.url_len > SCOREBOARD_URL_MAX)
            copy.url_len = SCOREBOARD_URL_MAX;
        *out = copy;
        return true;
    }
    return false;
}

const char *scoreboard_state_text(enum scoreboard_state state)
{
    switch (state) {
    case SCOREBOARD_FREE:
        return "free";
    case SCOREBOARD_BOOTING:
        return "booting";
    case SCOREBOARD_IDLE:
        return "idle";
    case SCOREBOARD_READING:
        return "reading";
    case SCOREBOARD_RUNNING:
        return "running";
    case SCOREBOARD_DETACHED:
        return "detached";
    case SCOREBOARD_LEAVING:
        return "leaving";
    }
    return "free";
}
