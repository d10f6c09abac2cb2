// SPDX-License-Identifier: Apache-2.0
// config_verify -- see config_verify.h. A walk over all directives, with a check for those that
// name something outside.
#include "main/config_verify.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "conf/key.h"
#include "core/site_conf.h"
#include "keeper/log_file.h"
#include "os/proc.h"

static void check_dir(const char *path, const char *what, struct tree_pos pos, struct err *err)
{
    struct stat st;
    const char *why = NULL;
    if (stat(path, &st) < 0) {
        why = strerror(errno);
    } else if (!S_ISDIR(st.st_mode)) {
        why = "it is no directory";
    }
    if (why)
        tree_error(err, pos, "%s is %s, a directory that exists was expected: %s", what, path, why);
}

static void check_root(const struct tree_node *node, struct arena *a, struct err *err)
{
    struct str path = site_conf_fixed_root(key_path(node, node->args[0], a));
    check_dir(arena_dup(a, path).ptr, "root", node->arg_pos[0], err);
}

static void check_password_file(const struct tree_node *node, struct arena *a, struct err *err)
{
    struct stat st;
    struct str path = key_path(node, node->args[0], a);
    const char *why = NULL;
    if (stat(path.ptr, &st) < 0) {
        why = strerror(errno);
    } else if (!S_ISREG(st.st_mode)) {
        why = "it is no file";
    }
    if (why) {
        tree_error(err, node->arg_pos[0], "auth_file is %s, a file that exists was expected: %s",
                   path.ptr, why);
    }
}

static void check_log(const struct tree_node *node, struct arena *a, struct err *err)
{
    struct str name = node->args[0];
    if (str_eq(name, STR("stdout")) || str_eq(name, STR("stderr")) || str_eq(name, STR("off")))
        return;
    const char *path = arena_dup(a, key_path(node, name, a)).ptr;
    size_t slash = str_rfind(str_c(path), '/');
    int errors_before = err->count;
    if (path[slash] == '/')
        check_dir(arena_dup(a, str_n(path, slash ? slash : 1)).ptr, "the directory of the log",
                  node->arg_pos[0], err);
    struct err why = {0};
    if (err->count == errors_before && !log_file_check(path, &why))
        tree_error(err, node->arg_pos[0], "%s", err_text(&why));
    err_done(&why);
}

static void check_user(const struct tree_node *node, struct arena *a, struct err *err)
{
    struct proc_user user;
    char room[64];
    const char *name = arena_cstr(a, node->args[0]);
    const char *group = node->arg_count > 1 ? arena_cstr(a, node->args[1]) : NULL;
    if (geteuid() != 0) {
        tree_error(
            err, node->pos,
            "user can only be chosen by root: no user, or a start by root, was expected (this is %s)",
            proc_user_name(geteuid(), room));
    } else if (!name || !proc_user_find(name, NULL, &user)) {
        tree_error(err, node->arg_pos[0], "user is %.*s, a user of this machine was expected",
                   STR_ARG(node->args[0]));
    } else if (group && !proc_user_find(name, group, &user)) {
        tree_error(err, node->arg_pos[1], "group is %s, a group of this machine was expected",
                   group);
    }
}

static const struct {
    const char *name;
    void (*check)(const struct tree_node *node, struct arena *a, struct err *err);
} CHECKS[] = {
    {"root", check_root},     {"auth_file", check_password_file},
    {"error_log", check_log}, {"access_log", check_log},
    {"user", check_user},
};

static void check_node(const struct tree_node *node, struct arena *a, struct err *err)
{
    for (size_t i = 0; node->arg_count && i < ARRAY_LEN(CHECKS); i++) {
        if (str_eq(node->name, str_c(CHECKS[i].name)))
            CHECKS[i].check(node, a, err);
    }
}

bool config_verify(const struct tree_node *first, struct arena *a, struct err *err)
{
    const struct tree_node *outer[TREE_DEPTH_MAX];
    unsigned depth = 0;
    int errors_before = err->count;
    const struct tree_node *node = first;
    while (node || depth) {
        if (!node) {
            node = outer[--depth]->next;
            continue;
        }
        check_node(node, a, err);
        if (node->has_block) {
            ASSERT(depth < TREE_DEPTH_MAX);
            outer[depth++] = node;
            node = node->first_child;
        } else {
            node = node->next;
        }
    }
    return err->count == errors_before;
}
