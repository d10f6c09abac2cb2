// SPDX-License-Identifier: Apache-2.0
// boards -- the scoreboard memory of each app (wire/scoreboard.h) and which of its places are
// taken. An app keeps its board over reloads that change it, as long as workers of the old and the
// new settings live side by side. Does not look into the memory.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "wire/scoreboard.h"

struct board {
    struct list_node node;
    char *name; // of the app
    int fd;
    unsigned refs;
    uint64_t taken[SCOREBOARD_RECORDS_MAX / 64]; // one bit a place
};

struct boards {
    struct list all;
};

// boards_init makes an empty table.
void boards_init(struct boards *b);

// boards_open gives the board of the app, made now if there is none. NULL: `err` says why. Undone
// by boards_unref.
MUST_USE struct board *boards_open(struct boards *b, struct str app, struct err *err);

// boards_ref takes one more reference; returns `board`.
struct board *boards_ref(struct board *board);

// boards_unref gives it back; the last one frees the memory.
void boards_unref(struct board *board);

// boards_take takes the lowest free place. False: all are taken.
MUST_USE bool boards_take(struct board *board, uint32_t *out_index);

// boards_leave makes the place free again.
void boards_leave(struct board *board, uint32_t index);
