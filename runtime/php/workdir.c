// SPDX-License-Identifier: Apache-2.0
// workdir -- the working directory of a script is its own, as under Apache. Changing it costs a
// system call that resolves a path, so it is left out when the last script stood in the same place
// and has not moved. A directory's name may come to mean another one (a swapped link): it is not
// trusted for longer than a second. See php_runtime.h.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "php_runtime.h"

static struct {
    char *path; // "" at first: unknown
    size_t len, size;
    time_t entered_s;
    bool moved; // by the script itself
} dir;

static zif_handler real_chdir;

static ZEND_FUNCTION(watched_chdir)
{
    dir.moved = true;
    real_chdir(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void workdir_watch(void)
{
    zend_function *function =
        zend_hash_str_find_ptr(CG(function_table), "chdir", sizeof "chdir" - 1);
    if (!function)
        return;
    real_chdir = function->internal_function.handler;
    function->internal_function.handler = ZEND_FN(watched_chdir);
}

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

void workdir_enter(const char *script)
{
    const char *slash = strrchr(script, '/');
    size_t len = slash ? (size_t)(slash - script) : 0;
    time_t now = now_s();
    if (!slash)
        return;
    if (!dir.moved && dir.entered_s == now && dir.len == len && dir.path
        && memcmp(dir.path, script, len) == 0)
        return;
    if (!dir.path || dir.size < len + 2) {
        dir.size = len + 256;
        dir.path = realloc(dir.path, dir.size);
        if (!dir.path)
            abort();
    }
    memcpy(dir.path, script, len);
    dir.path[len] = 0;
    dir.len = len;
    dir.entered_s = now;
    dir.moved = chdir(len ? dir.path : "/") < 0; // then it is tried again next time
}
