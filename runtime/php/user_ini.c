// SPDX-License-Identifier: Apache-2.0
// user_ini -- settings by the place of the script: .user.ini files from the document root down to
// its directory, and the sections [PATH=] and [HOST=] of php.ini. What files say is kept for
// user_ini.cache_ttl, so that a request normally makes no system call for it. See php_runtime.h.
//
// Applied before the request begins, not within its start as PHP's own CGI does: the limits of
// uploads count from the first byte of the body.
#include <php.h>
#include <php_globals.h>
#include <php_ini.h>
#include <string.h>
#include <time.h>

#include "php_runtime.h"

#define DIRS_MAX 1000 // with more, all are forgotten

struct dir {
    time_t until_s;
    char *root; // the document root that it was read for
    HashTable settings;
};

static HashTable dirs; // directory -> struct dir
static bool is_ready;

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

static void free_dir(zval *item)
{
    struct dir *dir = Z_PTR_P(item);
    zend_hash_destroy(&dir->settings);
    pefree(dir->root, true);
    pefree(dir, true);
}

// Reads the files of all directories from root down to `path`; only of `path` if it is not below
// root. A deeper one comes later and stands above.
static void read_files(struct dir *dir, const char *path, size_t path_len)
{
    size_t root_len = strlen(dir->root);
    char *part = pestrndup(path, path_len, true);
    bool below = root_len > 0 && path_len > root_len && memcmp(path, dir->root, root_len) == 0
                 && path[root_len] == '/';
    for (size_t end = below ? root_len : path_len; end <= path_len; end++) {
        if (end < path_len && path[end] != '/')
            continue;
        part[end] = '\0';
        php_parse_user_ini_file(part, PG(user_ini_filename), &dir->settings);
        part[end] = path[end];
    }
    pefree(part, true);
}

static struct dir *read_dir(const char *path, size_t path_len, const char *root)
{
    struct dir *dir = pemalloc(sizeof *dir, true);
    dir->root = pestrdup(root, true);
    dir->until_s = now_s() + (time_t)PG(user_ini_cache_ttl);
    zend_hash_init(&dir->settings, 8, NULL, config_zval_dtor, true);
    read_files(dir, path, path_len);
    if (zend_hash_num_elements(&dirs) >= DIRS_MAX)
        zend_hash_clean(&dirs);
    zend_hash_str_update_ptr(&dirs, path, path_len, dir);
    return dir;
}

static void apply_files(const char *path, size_t path_len)
{
    const char *root = variables_find("DOCUMENT_ROOT", sizeof "DOCUMENT_ROOT" - 1);
    if (!root)
        root = "";
    if (!is_ready) {
        zend_hash_init(&dirs, 8, NULL, free_dir, true);
        is_ready = true;
    }
    struct dir *dir = zend_hash_str_find_ptr(&dirs, path, path_len);
    if (!dir || dir->until_s <= now_s() || strcmp(dir->root, root) != 0)
        dir = read_dir(path, path_len, root);
    if (zend_hash_num_elements(&dir->settings))
        php_ini_activate_config(&dir->settings, PHP_INI_PERDIR, PHP_INI_STAGE_HTACCESS);
}

static void apply_sections(const char *path, size_t path_len)
{
    if (php_ini_has_per_dir_config()) {
        char *text = pestrndup(path, path_len + 1, true); // with the slash behind
        php_ini_activate_per_dir_config(text, path_len + 1);
        pefree(text, true);
    }
    const char *host = php_ini_has_per_host_config()
                           ? variables_find("SERVER_NAME", sizeof "SERVER_NAME" - 1)
                           : NULL;
    if (host)
        php_ini_activate_per_host_config(host, strlen(host)); // lower case by the server
}

void user_ini_apply(const char *script)
{
    const char *slash = strrchr(script, '/');
    size_t len = slash ? (size_t)(slash - script) : 0;
    if (!len)
        return;
    apply_sections(script, len);
    if (PG(user_ini_filename) && *PG(user_ini_filename))
        apply_files(script, len);
}

void user_ini_stop(void)
{
    if (is_ready)
        zend_hash_destroy(&dirs);
    is_ready = false;
}
