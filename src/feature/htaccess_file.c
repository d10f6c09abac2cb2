// SPDX-License-Identifier: Apache-2.0
// htaccess_file -- see htaccess_file.h.
#include "feature/htaccess_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "feature/htaccess.h"
#include "os/file.h"
#include "os/look.h"

static bool is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
}

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

// 0 or -errno. Where nothing can be opened at the moment, not even what is not there, a look still
// tells whether it is.
static int read_text(const char *file, struct buf *out)
{
    struct look look;
    int rc = file_read_all(file, out);
    int seen = is_shortage(-rc) ? look_at(file, &look) : 0;
    return seen < 0 ? seen : rc;
}

bool htaccess_file_look(struct str dir, struct htaccess_finding *out)
{
    struct buf path = {0};
    struct buf text = {.ceiling_bytes = HTACCESS_FILE_BYTES_MAX};
    buf_fmt(&path, "%.*s/.htaccess%c", STR_ARG(dir), '\0');
    const char *file = buf_view(&path).ptr;
    unsigned line = 0;
    struct str what = {0};
    int rc = read_text(file, &text);
    if (rc < 0 && !is_absent(-rc)) {
        line = 1;
        what = rc == -EINVAL ? STR("it is no regular file") : str_c(strerrordesc_np(-rc));
    } else if (rc == 0) {
        (void)htaccess_find_protective(buf_view(&text), &line, &what);
    }
    if (line > 0) {
        out->line = line;
        out->is_passing = is_shortage(-rc);
        (void)snprintf(out->file, sizeof out->file, "%s", file);
        (void)snprintf(out->what, sizeof out->what, "%.*s", STR_ARG(what));
    }
    buf_done(&text);
    buf_done(&path);
    return line > 0;
}
