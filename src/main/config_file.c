// SPDX-License-Identifier: Apache-2.0
// config_file -- see config_file.h.
#include "main/config_file.h"

#include <errno.h>
#include <glob.h>
#include <string.h>

#include "conf/key.h"
#include "os/file.h"

#define FILE_BYTES_MAX ((size_t)(4 * 1024 * 1024)) // of one file

static const char *dir_of(struct arena *a, const char *path)
{
    size_t slash = str_rfind(str_c(path), '/');
    return arena_dup(a, str_n(path, slash ? slash : 1)).ptr;
}

// Parses one file with source->dir set for it. What can't be read is told by the errno.
static int parse_file(struct tree_source *source, const char *path, struct tree_node ***tail,
                      struct err *err)
{
    struct buf text = {.ceiling_bytes = FILE_BYTES_MAX};
    int rc = file_read_pipe(path, &text);
    if (rc == 0) {
        const char *dir = source->dir;
        source->dir = dir_of(source->arena, path);
        (void)!tree_parse(source, path, buf_view(&text), tail, err); // err tells
        source->dir = dir;
    }
    buf_done(&text);
    return rc;
}

// A directory on the way that is not there only means that nothing matches; one that can't be read
// is an error.
static int on_glob_error(const char *path, int code)
{
    (void)path;
    return code != ENOENT && code != ENOTDIR;
}

static bool include(struct tree_source *source, struct str pattern, struct tree_pos pos,
                    struct tree_node ***tail, struct err *err)
{
    struct tree_node here = {.dir = source->dir};
    const char *path = arena_cstr(source->arena, key_path(&here, pattern, source->arena));
    if (!path || !pattern.len)
        return tree_error(err, pos, "include has an empty name, a file or a pattern was expected");
    bool is_pattern = strpbrk(path, "*?[") != NULL;
    glob_t found = {0};
    int errors_before = err->count;
    int status = glob(path, is_pattern ? 0 : GLOB_NOCHECK | GLOB_NOESCAPE, on_glob_error, &found);
    if (status && status != GLOB_NOMATCH)
        tree_error(err, pos, "cannot look for %s, a directory that can be read was expected", path);
    for (size_t i = 0; !status && i < found.gl_pathc; i++) {
        const char *file = arena_dup(source->arena, str_c(found.gl_pathv[i])).ptr;
        int rc = parse_file(source, file, tail, err);
        if (rc < 0) {
            tree_error(err, pos, "cannot include %s, a file that can be read was expected: %s",
                       file, strerror(-rc));
        }
    }
    globfree(&found);
    return err->count == errors_before;
}

bool config_file_read(const char *path, struct arena *a, struct tree_node **out_first,
                      struct err *err)
{
    struct tree_source source = {.arena = a, .include = include};
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    int errors_before = err->count;
    int rc = parse_file(&source, path, &tail, err);
    if (rc < 0)
        return err_set(err, "cannot read the configuration %s: %s", path, strerror(-rc));
    if (err->count != errors_before)
        return false;
    *out_first = first;
    return true;
}
