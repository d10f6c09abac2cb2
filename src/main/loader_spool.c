// SPDX-License-Identifier: Apache-2.0
// loader_spool -- see loader_spool.h.
#include "main/loader_spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "conf/key.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/proc.h"

static int make_file(void *arg)
{
    const struct str *dir = arg;
    int fd = file_unnamed(dir->ptr);
    if (fd < 0)
        return fd;
    fd_close(&fd);
    return 0;
}

// What passes by itself must not keep an instance from starting.
static bool is_passing(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
        return true;
    default:
        return false;
    }
}

static bool check(const struct tree_node *node, const struct plan *plan, struct arena *a,
                  struct err *err)
{
    struct str dir = arena_dup(a, key_path(node, node->args[0], a));
    char room[64];
    int rc = proc_try(plan->has_user ? &plan->user : NULL, make_file, &dir);
    if (rc == 0 || is_passing(-rc))
        return true;
    return tree_error(err, node->arg_pos[0],
                      "spool_dir is %.*s, a directory where %s can make temporary files was "
                      "expected: %s",
                      STR_ARG(dir),
                      proc_user_name(plan->has_user ? plan->user.uid : geteuid(), room),
                      strerrordesc_np(-rc));
}

bool loader_spool_check(const struct tree_node *tree, const struct plan *plan, struct arena *a,
                        struct err *err)
{
    bool ok = true;
    for (const struct tree_node *node = tree; node; node = node->next)
        if (str_eq(node->name, STR("spool_dir")) && node->arg_count == 1)
            ok = check(node, plan, a, err) && ok;
    return ok;
}
