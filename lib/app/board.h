// SPDX-License-Identifier: Apache-2.0
// board -- this process's record on the app's scoreboard, if it has one. Without one nothing
// happens.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "wire/scoreboard.h"

// board_map maps the scoreboard behind `fd`, which it closes. 0 or -errno.
int board_map(int *fd);

// board_take empties record `index` for the worker `pid`: this process, or one that it stands for.
void board_take(uint32_t index, uint32_t worker_id, pid_t pid);

// board_leave forgets the record, which another process keeps.
void board_leave(void);

// board_begin notes a request that begins.
void board_begin(struct str method, struct str url);

// board_set changes the state.
void board_set(enum scoreboard_state state);
