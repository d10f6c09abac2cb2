// SPDX-License-Identifier: Apache-2.0
// htaccess_test -- which files protect, what they protect, and that edits are seen.
#include "feature/htaccess.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "../core/ask.h"
#include "base/compiler.h"
#include "feature/index.h"
#include "feature/static.h"

static struct stage stage;

static void lines_protect_or_not(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        unsigned line; // 0: harmless
        const char *what;
    } CASES[] = {
        {"", 0, NULL},
        {"\n\n# Deny from all\n", 0, NULL},
        {"# joined \\\nDeny from all\n", 0, NULL},
        {"ExpiresActive On\nExpiresByType image/png \"access plus 1 month\"\n", 0, NULL},
        {"ExpiresDefault A300", 0, NULL},
        {"<IfModule mod_expires.c>\n\tExpiresActive on\n</IfModule>\n", 0, NULL},
        {"<ifmodule mod_deflate.c>\r\n  SetOutputFilter DEFLATE\r\n</ifmodule>\r\n", 0, NULL},
        {"AddOutputFilterByType DEFLATE text/html text/css", 0, NULL},
        {"BrowserMatch ^Mozilla/4 gzip-only-text/html", 0, NULL},
        {"AddType image/svg+xml .svg\nAddCharset UTF-8 .html\nAddDefaultCharset utf-8", 0, NULL},
        {"DirectoryIndex index.php index.html\nErrorDocument 404 /404.html\nFileETag None", 0,
         NULL},
        {"Header set Cache-Control \"max-age=3600\"", 0, NULL},
        {"Header always append Vary Accept", 0, NULL},
        {"Header unset ETag", 0, NULL},
        {"\xef\xbb\xbf# a mark in front\n", 0, NULL},
        // MediaWiki's own, in words.
        {"Deny from all\n", 1, "Deny from all"},
        {"Require all denied", 1, "Require all denied"},
        {"<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>", 2, "Deny from all"},
        {"<IfModule mod_authz_core.c>\n  Require all denied\n</IfModule>", 2, "Require all denied"},
        {"# Protect against bug\n<IfModule rewrite_module>\n\tRewriteEngine On\n", 3,
         "RewriteEngine On"},
        {"php_flag engine off", 1, "php_flag engine off"},
        {"php_admin_flag engine off\n", 1, NULL},
        {"Options -Indexes", 1, NULL},
        {"Options +FollowSymLinks", 1, NULL},
        {"<FilesMatch \"\\.(php|phtml)$\">\nSetHandler None\n</FilesMatch>", 1, NULL},
        {"<Files wp-config.php>\norder allow,deny\ndeny from all\n</Files>", 1, NULL},
        {"<Limit POST>\n", 1, NULL},
        {"order allow,deny", 1, NULL},
        {"Allow from 192.0.2.1", 1, NULL},
        {"AuthType Basic\nAuthUserFile /x\nRequire valid-user", 1, "AuthType Basic"},
        {"SetHandler none", 1, NULL},
        {"RemoveHandler .php", 1, NULL},
        {"ForceType text/plain", 1, NULL},
        {"AddType text/plain .html .htm .shtml", 1, NULL},
        {"AddType text/html .php .phtml", 1, NULL},
        {"Header set X-Frame-Options DENY", 1, NULL},
        {"Header edit Cache-Control a b", 1, NULL},
        {"ExpiresActive On\n\n  DENY\tfrom all \r\n", 3, "DENY\tfrom all"},
        {"Ex\\\npiresActive On\nDeny from all", 1, "Ex\\"},
        {"ExpiresByType image/png \\\n A1\nDeny from all", 3, "Deny from all"},
        {"SomethingNew on", 1, "SomethingNew on"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        unsigned line = 0;
        struct str what = {0};
        bool found = htaccess_find_protective(str_c(CASES[i].text), &line, &what);
        if (found != (CASES[i].line != 0) || line != CASES[i].line)
            fail_msg("%s: line %u", CASES[i].text, line);
        if (CASES[i].what && !str_eq(what, str_c(CASES[i].what)))
            fail_msg("%s: what is '%.*s'", CASES[i].text, STR_ARG(what));
    }
}

static int get(const char *path)
{
    struct ask a;
    ask(&a, &stage, path, NULL);
    ask_done(&a);
    return a.status;
}

static void what_is_below_is_refused(void **state)
{
    (void)state;

    static const struct {
        const char *path;
        int status;
    } CASES[] = {
        {"/open.txt", 200},        {"/harmless/f.txt", 200},   {"/closed/f.txt", 403},
        {"/closed/", 403},         {"/closed", 403},           {"/closed/deep/er/f.txt", 403},
        {"/closed/none.txt", 403}, {"/closedness/f.txt", 200}, {"/none/a/b/c", 404},
        {"/closed/none/a", 403},
    };

    stage_config(&stage, "site _ { root $D/w; }");
    long long before = stage_metric(&stage, "htaccess_refused");
    long long refused = 0;
    for (size_t i = 0; i < 2 * ARRAY_LEN(CASES); i++) {
        size_t at = i % ARRAY_LEN(CASES);
        int status = get(CASES[at].path);
        if (status != CASES[at].status)
            fail_msg("%s: %d", CASES[at].path, status);
        refused += status == 403;
    }
    assert_int_equal(stage_metric(&stage, "htaccess_refused"), before + refused);
}

static void it_can_be_ignored(void **state)
{
    (void)state;
    stage_config(&stage, "site _ { root $D/w; path /closed/ { htaccess ignore; } }");
    assert_int_equal(get("/closed/f.txt"), 200);
    stage_config(&stage,
                 "htaccess ignore; site _ { root $D/w; path /closed/ { htaccess refuse; } }");
    assert_int_equal(get("/closed/f.txt"), 403);
    stage_config(&stage, "site _ { root $D/w/closed/deep; }");
    assert_int_equal(get("/er/f.txt"), 200);
}

static void edits_are_seen(void **state)
{
    (void)state;
    stage_config(&stage, "file_check 0; site _ { root $D/w; }");
    assert_int_equal(get("/edit/f.txt"), 200);
    stage_file(&stage, "w/edit/.htaccess", "Require all denied\n");
    assert_int_equal(get("/edit/f.txt"), 403);
    stage_file(&stage, "w/edit/.htaccess", "# Require all denied\n");
    assert_int_equal(get("/edit/f.txt"), 200);

    stage_config(&stage, "file_check 10ms; site _ { root $D/w; }");
    assert_int_equal(get("/edit/f.txt"), 200);
    stage_file(&stage, "w/edit/.htaccess", "Require all denied\n");
    for (int i = 0; i < 100 && get("/edit/f.txt") == 200; i++)
        stage_turn(&stage, 1);
    assert_int_equal(get("/edit/f.txt"), 403);
}

// Has the process open nothing more than it has.
static struct rlimit forbid_files(void)
{
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return usual;
}

static void want_of_descriptors_is_no_verdict(void **state)
{
    (void)state;
    stage_config(&stage, "file_check 0; site _ { root $D/w; }");
    struct rlimit usual = forbid_files();
    int open_status = get("/bare/f.txt");
    int closed_status = get("/closed/f.txt");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(open_status, 500); // the file's own, which cannot be opened either
    assert_int_equal(closed_status, 503);
    assert_int_equal(get("/bare/f.txt"), 200);
    assert_int_equal(get("/closed/f.txt"), 403);
}

struct findings {
    unsigned count;
    char last[512];
};

static void on_found(void *arg, const char *file, unsigned line, const char *what)
{
    struct findings *f = arg;
    f->count++;
    (void)snprintf(f->last, sizeof f->last, "%s:%u: %s", file, line, what);
}

static void check_lists_them(void **state)
{
    (void)state;
    struct findings f = {0};
    char expected[256];
    // Two sites with one root: told once. Who ignores is not told.
    stage_config(&stage, "site a { root $D/w; } site b { root $D/w; } "
                         "site c { root $D/other; htaccess ignore; }");
    stage_file(&stage, "w/edit/.htaccess", "");
    struct snapshot *s = snapshot_current();
    htaccess_scan(s, on_found, &f);
    snapshot_unref(s);
    assert_int_equal(f.count, 1);
    (void)snprintf(expected, sizeof expected, "%s/w/closed/.htaccess:2: Deny from all", stage.dir);
    assert_string_equal(f.last, expected);
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&htaccess_module, &index_module, &static_module};
    static const char *const FILES[][2] = {
        {"w/open.txt", "x"},
        {"w/harmless/f.txt", "x"},
        {"w/harmless/.htaccess", "ExpiresActive On\n"},
        {"w/closed/f.txt", "x"},
        {"w/closed/.htaccess", "# nobody\nDeny from all\n"},
        {"w/closed/deep/er/f.txt", "x"},
        {"w/closedness/f.txt", "x"},
        {"w/bare/f.txt", "x"},
        {"w/edit/f.txt", "x"},
        {"other/.htaccess", "Deny from all\n"},
    };
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    for (size_t i = 0; i < ARRAY_LEN(FILES); i++)
        stage_file(&stage, FILES[i][0], FILES[i][1]);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    stage_close(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_protect_or_not),
        cmocka_unit_test(what_is_below_is_refused),
        cmocka_unit_test(it_can_be_ignored),
        cmocka_unit_test(edits_are_seen),
        cmocka_unit_test(want_of_descriptors_is_no_verdict),
        cmocka_unit_test(check_lists_them),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
