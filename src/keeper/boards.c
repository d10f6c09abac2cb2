// SPDX-License-Identifier: Apache-2.0
// boards -- see boards.h.
#include "keeper/boards.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/file.h"

STATIC_ASSERT(SCOREBOARD_RECORDS_MAX % 64 == 0);

void boards_init(struct boards *b)
{
    list_init(&b->all);
}

struct board *boards_open(struct boards *b, struct str app, struct err *err)
{
    list_foreach(&b->all, struct board, node, board)
        if (str_eq(str_c(board->name), app))
            return boards_ref(board);
    int fd = file_shared("scoreboard", SCOREBOARD_BYTES);
    if (fd < 0) {
        err_set(err, "cannot make the scoreboard of app %.*s: %s", STR_ARG(app), strerror(-fd));
        return NULL;
    }
    struct board *made = mem_new(struct board);
    made->name = mem_alloc(app.len + 1);
    memcpy(made->name, app.ptr, app.len);
    made->fd = fd;
    made->refs = 1;
    list_push_back(&b->all, &made->node);
    return made;
}

struct board *boards_ref(struct board *board)
{
    board->refs++;
    return board;
}

void boards_unref(struct board *board)
{
    ASSERT(board->refs > 0);
    if (--board->refs > 0)
        return;
    list_remove(&board->node);
    fd_close(&board->fd);
    mem_free(board->name);
    mem_free(board);
}

bool boards_take(struct board *board, uint32_t *out_index)
{
    for (uint32_t word = 0; word < ARRAY_LEN(board->taken); word++) {
        if (board->taken[word] == UINT64_MAX)
            continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~board->taken[word]);
        board->taken[word] |= UINT64_C(1) << bit;
        *out_index = word * 64 + bit;
        return true;
    }
    return false;
}

void boards_leave(struct board *board, uint32_t index)
{
    uint64_t bit = UINT64_C(1) << (index % 64);
    ASSERT(board->taken[index / 64] & bit);
    board->taken[index / 64] &= ~bit;
}
