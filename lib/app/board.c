// SPDX-License-Identifier: Apache-2.0
// board -- see board.h.
#include "board.h"

#include <errno.h>

#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/proc.h"

static struct scoreboard_record *board; // NULL: none
static uint32_t place;
static bool taken;

int board_map(int *fd)
{
    board = file_map(*fd, SCOREBOARD_BYTES, true);
    int rc = board ? 0 : -errno;
    fd_close(fd);
    return rc;
}

void board_take(uint32_t index, uint32_t worker_id, pid_t pid)
{
    if (!board || index >= SCOREBOARD_RECORDS_MAX)
        return;
    place = index;
    taken = true;
    scoreboard_reset(board, index, worker_id, (uint32_t)pid, clock_mono_us(), proc_anon_kib(pid));
}

void board_leave(void)
{
    taken = false;
}

void board_begin(struct str method, struct str url)
{
    if (taken)
        scoreboard_begin(board, place, method, url, clock_mono_us());
}

void board_set(enum scoreboard_state state)
{
    if (taken)
        scoreboard_set(board, place, state, clock_mono_us());
}
