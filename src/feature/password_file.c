// SPDX-License-Identifier: Apache-2.0
// password_file -- see password_file.h. Files stay with the thread until it ends: the configuration
// names few of them.
#include "feature/password_file.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/exchange.h"
#include "feature/password.h"
#include "feature/password_cost.h"
#include "http/basic_auth.h"
#include "log/log.h"
#include "os/file.h"
#include "os/look.h"

#define FILES_KEPT_MAX 256

struct user {
    struct str hash;
};

struct password_file {
    struct list_node node;
    uint64_t seen_us;
    struct look look;
    int error;          // 0: read
    struct arena arena; // users
    struct map users;
    struct str any;
    struct str path;
    char room[];
};

struct table {
    struct map map; // path -> file
    struct list files;
};

static const char TABLE_OWNER;

static void forget_users(struct password_file *file)
{
    map_done(&file->users);
    file->users = (struct map){0};
    arena_done(&file->arena);
    file->any = (struct str){0};
}

static void drop(struct table *t, struct password_file *file)
{
    map_remove(&t->map, file->path);
    list_remove(&file->node);
    forget_users(file);
    mem_free(file);
}

static void free_table(void *data)
{
    struct table *t = data;
    list_foreach(&t->files, struct password_file, node, file)
        drop(t, file);
    map_done(&t->map);
    mem_free(t);
}

static struct table *table_of(struct thread *thread)
{
    struct table *t = thread_attached(thread, &TABLE_OWNER);
    if (!t) {
        t = mem_new(struct table);
        list_init(&t->files);
        thread_attach(thread, &TABLE_OWNER, t, free_table);
    }
    return t;
}

static struct password_file *file_of(struct thread *thread, struct str path)
{
    struct table *t = table_of(thread);
    struct password_file *file = map_find(&t->map, path);
    if (file)
        return file;
    struct list_node *oldest = list_first(&t->files);
    if (map_count(&t->map) >= FILES_KEPT_MAX && oldest)
        drop(t, CONTAINER_OF(oldest, struct password_file, node));
    file = mem_alloc(sizeof *file + path.len + 1);
    *file = (struct password_file){.error = -ENOENT};
    memcpy(file->room, path.ptr, path.len + 1);
    file->path = str_n(file->room, path.len);
    map_put(&t->map, file->path, file);
    list_push_back(&t->files, &file->node);
    return file;
}

static void add_user(struct password_file *file, struct str name, struct str hash)
{
    struct user *user = arena_new(&file->arena, struct user);
    user->hash = arena_dup(&file->arena, hash);
    if (!file->any.ptr)
        file->any = user->hash;
    map_put(&file->users, arena_dup(&file->arena, name), user);
}

static void read_users(struct exchange *ex, struct password_file *file, struct str text)
{
    unsigned line = 0;
    unsigned bad_count = 0;
    unsigned bad_line = 0;
    while (text.len) {
        struct str name;
        struct str hash;
        enum basic_auth_line kind = basic_auth_line(str_cut(&text, '\n'), &name, &hash);
        line++;
        if (kind == BASIC_AUTH_USER && password_is_known(hash) && password_cost_is_bearable(hash)) {
            // The first line of a name counts, as with those who wrote such files before.
            if (!map_find(&file->users, name))
                add_user(file, name, hash);
        } else if (kind != BASIC_AUTH_NOTHING && bad_count++ == 0) {
            bad_line = line;
        }
    }
    if (bad_count) {
        log_warn(exchange_scope(ex), "auth.bad_line",
                 "%s:%u: not user:hash with a kind of hash that is known and takes seconds at "
                 "most, and %u further lines; nobody can log in with them",
                 file->path.ptr, bad_line, bad_count - 1);
    }
}

static bool is_same(const struct look *a, const struct look *b)
{
    return a->size == b->size && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns
           && a->inode == b->inode;
}

static void look_again(struct exchange *ex, struct password_file *file)
{
    struct look look = {0};
    struct buf text = {.ceiling_bytes = PASSWORD_FILE_BYTES_MAX};
    int rc = look_at(file->path.ptr, &look);
    if (rc == 0 && file->error == 0 && is_same(&look, &file->look))
        return;
    forget_users(file);
    if (rc == 0 && look.kind != LOOK_FILE)
        rc = -EINVAL;
    if (rc == 0)
        rc = file_read_all(file->path.ptr, &text);
    if (rc == 0)
        read_users(ex, file, buf_view(&text));
    file->look = look;
    file->error = rc;
    buf_done(&text);
}

const struct password_file *password_file_need(struct exchange *ex, struct str path,
                                               uint64_t check_us, int *out_error)
{
    struct password_file *file = file_of(ex->thread, path);
    uint64_t now_us = loop_now_us(ex->thread->loop);
    if (file->error != 0 || now_us - file->seen_us >= check_us) {
        look_again(ex, file);
        file->seen_us = now_us;
    }
    if (file->error == 0)
        return file;
    *out_error = file->error;
    return NULL;
}

struct str password_file_hash(const struct password_file *file, struct str user)
{
    const struct user *found = map_find(&file->users, user);
    return found ? found->hash : (struct str){0};
}

struct str password_file_any(const struct password_file *file)
{
    return file->any;
}
