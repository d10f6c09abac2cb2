// SPDX-License-Identifier: Apache-2.0
// server_boards -- the apps' scoreboards that the keeper has passed, mapped to be read. Control
// thread.
#pragma once

#include "base/list.h"
#include "base/str.h"

struct server_boards {
    struct list offered, in_force;
};

// server_boards_init makes it empty.
void server_boards_init(struct server_boards *b);

// server_boards_offer takes `fd` over, the board of `app` in the generation that is being prepared.
void server_boards_offer(struct server_boards *all, struct str app, int fd);

// server_boards_abandon forgets what was offered.
void server_boards_abandon(struct server_boards *all);

// server_boards_commit hands what was offered to the pools, after these know their apps.
void server_boards_commit(struct server_boards *all);
