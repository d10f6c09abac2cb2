// SPDX-License-Identifier: Apache-2.0
// config_dir -- see config_dir.h. PHP is looked for in the whole tree (bounded), since the source
// of a script must never be sent as a file; kinds of apps that we do not run yet are named.
#include "main/config_dir.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/proc.h"

#define DEPTH_MAX   8     // directories below DIR that are looked into
#define ENTRIES_MAX 50000 // files and directories looked at

static const struct {
    const char *file, *what;
} FOREIGN[] = {
    {"config.ru", "a Ruby app (config.ru)"},       {"manage.py", "a Django app (manage.py)"},
    {"wsgi.py", "a Python app (wsgi.py)"},         {"asgi.py", "a Python app (asgi.py)"},
    {"package.json", "a Node app (package.json)"},
};

static bool has_file(struct arena *a, const char *dir, const char *name)
{
    struct stat st;
    return stat(arena_fmt(a, "%s/%s", dir, name).ptr, &st) == 0 && S_ISREG(st.st_mode);
}

// Looks through the tree; true at the first script.
static bool has_php(struct arena *a, const char *dir)
{
    char *root = arena_alloc(a, strlen(dir) + 1);
    char *roots[] = {memcpy(root, dir, strlen(dir)), NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    bool found = false;
    FTSENT *entry;
    for (int seen = 0; tree && !found && seen < ENTRIES_MAX && (entry = fts_read(tree)); seen++) {
        struct str name = str_n(entry->fts_name, entry->fts_namelen);
        found = entry->fts_info != FTS_D && str_ends(name, STR(".php"));
        bool skip = entry->fts_level >= DEPTH_MAX || (entry->fts_level > 0 && name.ptr[0] == '.');
        if (entry->fts_info == FTS_D && skip)
            (void)fts_set(tree, entry, FTS_SKIP);
    }
    if (tree)
        (void)fts_close(tree);
    return found;
}

// As root nothing is run as root: the directory's owner, or else www-data. NULL for an ordinary
// user.
static const char *user_for(struct arena *a, const struct stat *dir)
{
    char room[64];
    struct proc_user user;
    if (geteuid() != 0)
        return NULL;
    const char *owner = proc_user_name(dir->st_uid, room);
    if (dir->st_uid != 0 && proc_user_find(owner, NULL, &user))
        return arena_dup(a, str_c(owner)).ptr;
    return "www-data";
}

static const char *foreign_app(struct arena *a, const char *dir)
{
    for (size_t i = 0; i < ARRAY_LEN(FOREIGN); i++) {
        if (has_file(a, dir, FOREIGN[i].file))
            return FOREIGN[i].what;
    }
    return NULL;
}

static void write_text(struct buf *out, const char *root, unsigned port, bool is_php,
                       const char *user)
{
    buf_fmt(out, "development on;\nlisten 127.0.0.1:%u;\naccess_log stdout;\n", port);
    if (user)
        buf_fmt(out, "user %s;\n", user);
    buf_fmt(out, "site _ {\n    root ");
    tree_quote(str_c(root), out);
    buf_fmt(out, ";\n");
    if (is_php && user) {
        buf_fmt(out, "    index index.php index.html;\n    app php {\n        user %s;\n    }\n",
                user);
    } else if (is_php) {
        buf_fmt(out, "    index index.php index.html;\n    app php {\n    }\n");
    }
    buf_fmt(out, "}\n");
}

bool config_dir_read(const char *dir, unsigned port, struct arena *a, struct tree_node **out_first,
                     struct err *err)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return err_set(err, "cannot serve %s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(err, "cannot serve %s: it is no directory", dir);
    const char *root = dir;
    if (!has_file(a, dir, "index.php") && has_file(a, dir, "public/index.php"))
        root = arena_fmt(a, "%s/public", dir).ptr;
    bool is_php = has_php(a, root);
    const char *foreign = foreign_app(a, dir);
    if (!is_php && foreign && !has_file(a, dir, "index.html")) {
        return err_set(err,
                       "%s looks like %s, which this version does not run, and has no index.html",
                       dir, foreign);
    }
    struct tree_source source = {.arena = a, .dir = dir};
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    struct buf text = {0};
    write_text(&text, root, port, is_php, user_for(a, &st));
    const char *name = arena_fmt(a, "(made for %s)", dir).ptr;
    bool ok = tree_parse(&source, name, buf_view(&text), &tail, err);
    buf_done(&text);
    if (ok)
        *out_first = first;
    return ok;
}
