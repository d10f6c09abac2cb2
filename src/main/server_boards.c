// SPDX-License-Identifier: Apache-2.0
// server_boards -- see server_boards.h. An app keeps its board over reloads: the mapping is kept
// with it.
#include "main/server_boards.h"

#include <string.h>
#include <sys/stat.h>

#include "app/pool.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/file.h"
#include "wire/scoreboard.h"

struct board {
    struct list_node node;
    int fd;
    ino_t inode;
    void *memory; // NULL: not mapped
    size_t name_len;
    char name[];
};

void server_boards_init(struct server_boards *b)
{
    list_init(&b->offered);
    list_init(&b->in_force);
}

static struct str name_of(const struct board *b)
{
    return str_n(b->name, b->name_len);
}

static void forget(struct board *b)
{
    list_remove(&b->node);
    file_unmap(b->memory, SCOREBOARD_BYTES);
    fd_close(&b->fd);
    mem_free(b);
}

void server_boards_offer(struct server_boards *all, struct str app, int fd)
{
    struct stat st;
    struct board *b = mem_alloc(sizeof *b + app.len);
    memcpy(b->name, app.ptr, app.len);
    b->name_len = app.len;
    b->fd = fd;
    b->inode = fstat(fd, &st) == 0 ? st.st_ino : 0;
    list_push_back(&all->offered, &b->node);
}

void server_boards_abandon(struct server_boards *all)
{
    list_foreach(&all->offered, struct board, node, b)
        forget(b);
}

static struct board *find(struct list *list, struct str name)
{
    list_foreach(list, struct board, node, b)
        if (str_eq(name_of(b), name))
            return b;
    return NULL;
}

void server_boards_commit(struct server_boards *all)
{
    struct list old;
    struct list_node *node;
    list_init(&old);
    while ((node = list_pop_front(&all->in_force)) != NULL)
        list_push_back(&old, node);
    while ((node = list_pop_front(&all->offered)) != NULL) {
        struct board *b = CONTAINER_OF(node, struct board, node);
        struct board *have = find(&old, name_of(b));
        list_push_back(&all->in_force, node);
        if (have && have->inode == b->inode) {
            b->memory = have->memory;
            have->memory = NULL;
        } else {
            b->memory = file_map(b->fd, SCOREBOARD_BYTES, false);
        }
        pool_board(name_of(b), b->memory);
    }
    list_foreach(&old, struct board, node, b) {
        if (!find(&all->in_force, name_of(b)))
            pool_board(name_of(b), NULL);
        forget(b);
    }
}
