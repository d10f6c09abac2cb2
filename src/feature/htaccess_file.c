// SPDX-License-Identifier: Apache-2.0
// htaccess_file -- see htaccess_file.h.
#include "feature/htaccess_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "feature/htaccess.h"
#include "os/file.h"

static bool is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
}

bool htaccess_file_look(struct str dir, struct htaccess_finding *out)
{
    struct buf path = {0};
    struct buf text = {.ceiling_bytes = HTACCESS_FILE_BYTES_MAX};
    buf_fmt(&path, "%.*s/.htaccess%c", STR_ARG(dir), '\0');
    const char *file = buf_view(&path).ptr;
    unsigned line = 0;
    struct str what = {0};
    int rc = file_read_all(file, &text);
    if (rc < 0 && !is_absent(-rc)) {
        line = 1;
        what = rc == -EINVAL ? STR("it is no regular file") : str_c(strerrordesc_np(-rc));
    } else if (rc == 0) {
        (void)htaccess_find_protective(buf_view(&text), &line, &what);
    }
    if (line > 0) {
        out->line = line;
        (void)snprintf(out->file, sizeof out->file, "%s", file);
        (void)snprintf(out->what, sizeof out->what, "%.*s", STR_ARG(what));
    }
    buf_done(&text);
    buf_done(&path);
    return line > 0;
}
