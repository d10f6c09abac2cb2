// SPDX-License-Identifier: Apache-2.0
// target_test -- what URL paths name below a root, and for how long a look at the files is trusted.
#include "core/target.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "ask.h"
#include "base/compiler.h"
#include "core/site_conf.h"
#include "core/target_cache.h"

static struct stage stage;

static bool runs_php(const struct exchange *ex, struct str file_name)
{
    (void)ex;
    return str_ends(file_name, STR(".php"));
}

// Keeps what was found.
static struct target found;
static char file[256];
static char script_name[256];
static char path_info[256];

static enum phase_result handle(struct exchange *ex)
{
    (void)target_need(ex);
    found = ex->target;
    (void)snprintf(file, sizeof file, "%.*s", STR_ARG(found.file));
    (void)snprintf(script_name, sizeof script_name, "%.*s", STR_ARG(found.script_name));
    (void)snprintf(path_info, sizeof path_info, "%.*s", STR_ARG(found.path_info));
    if (found.kind != TARGET_UNKNOWN)
        assert_int_equal(found.file.ptr[found.file.len], '\0');
    return PHASE_NEXT;
}

static struct module finder = {
    .name = "finder",
    .hooks = {[PHASE_HANDLE] = handle},
    .runs_script = runs_php,
};

static enum target_kind find(const char *path)
{
    struct ask a;
    ask(&a, &stage, path, NULL);
    ask_done(&a);
    return found.kind;
}

static void link_to(const char *to, const char *from)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s/%s", stage.dir, from);
    (void)unlink(full);
    assert_int_equal(symlink(to, full), 0);
}

static void paths_name_things(void **state)
{
    (void)state;

    static const struct {
        const char *path;
        enum target_kind kind;
        const char *file, *script_name, *path_info; // NULL: not looked at
        bool slash_missing;
    } CASES[] = {
        {"/a.html", TARGET_FILE, "/w/a.html", "/a.html", "", false},
        {"/", TARGET_DIR, "/w/", "/", "", false},
        {"/dir", TARGET_DIR, "/w/dir", "/dir", "", true},
        {"/dir/", TARGET_DIR, "/w/dir/", "/dir/", "", false},
        {"/dir/pic.jpg", TARGET_FILE, "/w/dir/pic.jpg", "/dir/pic.jpg", "", false},
        {"//dir//pic.jpg", TARGET_FILE, "/w/dir/pic.jpg", "/dir/pic.jpg", "", false},
        {"/i.php", TARGET_FILE, "/w/i.php", "/i.php", "", false},
        {"/i.php/", TARGET_SCRIPT, "/w/i.php", "/i.php", "/", false},
        {"/i.php/a/b", TARGET_SCRIPT, "/w/i.php", "/i.php", "/a/b", false},
        {"/i.php/.NET/x", TARGET_SCRIPT, "/w/i.php", "/i.php", "/.NET/x", false},
        {"/dir/j.php/k.php", TARGET_SCRIPT, "/w/dir/j.php", "/dir/j.php", "/k.php", false},
        // A picture runs nothing, whatever stands behind it.
        {"/dir/pic.jpg/x.php", TARGET_NONE, NULL, NULL, NULL, false},
        {"/a.html/", TARGET_NONE, NULL, NULL, NULL, false},
        {"/none", TARGET_NONE, NULL, NULL, NULL, false},
        {"/none/i.php", TARGET_NONE, NULL, NULL, NULL, false},
        {"/.htaccess", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/.git/config", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/.not-there", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/dir/.hidden/x", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/dir/.k.php/x", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/.well-known/acme", TARGET_FILE, "/w/.well-known/acme", NULL, "", false},
        {"/.well-known/.secret", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/dir/.well-known/acme", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/pipe", TARGET_DENIED, NULL, NULL, NULL, false},
        {"/pipe/x.php", TARGET_NONE, NULL, NULL, NULL, false},
        {"/link.html", TARGET_FILE, "/w/link.html", "/link.html", "", false},
        {"/out/o.html", TARGET_FILE, "/w/out/o.html", "/out/o.html", "", false},
        {"/dangling", TARGET_NONE, NULL, NULL, NULL, false},
        {"/ring", TARGET_NONE, NULL, NULL, NULL, false},
        {"/odd\x01\xff name", TARGET_FILE, "/w/odd\x01\xff name", NULL, "", false},
        // A root of a path takes the place of its prefix.
        {"/wiki", TARGET_DIR, "/m", "/wiki", "", true},
        {"/wiki/", TARGET_DIR, "/m/", "/wiki/", "", false},
        {"/wiki/load.php/x", TARGET_SCRIPT, "/m/load.php", "/wiki/load.php", "/x", false},
        {"/wikix", TARGET_NONE, NULL, NULL, NULL, false},
    };

    // The first pass looks, the second remembers.
    for (size_t i = 0; i < 2 * ARRAY_LEN(CASES); i++) {
        size_t at = i % ARRAY_LEN(CASES);
        if (find(CASES[at].path) != CASES[at].kind)
            fail_msg("%s is of kind %d", CASES[at].path, found.kind);
        if (CASES[at].file)
            assert_string_equal(file + strlen(stage.dir), CASES[at].file);
        if (CASES[at].script_name)
            assert_string_equal(script_name, CASES[at].script_name);
        if (CASES[at].path_info)
            assert_string_equal(path_info, CASES[at].path_info);
        assert_int_equal(found.slash_missing, CASES[at].slash_missing);
    }
}

static void long_path_info_is_found(void **state)
{
    (void)state;
    static char path[8000];
    memset(path, 'x', sizeof path - 1);
    memcpy(path, "/i.php/", 7);
    assert_int_equal(find(path), TARGET_SCRIPT);
    assert_string_equal(script_name, "/i.php");
    memcpy(path, "/n.php/", 7);
    assert_int_equal(find(path), TARGET_NONE);
}

static void looks_are_trusted_for_a_while(void **state)
{
    (void)state;
    stage_config(&stage, "file_check 1h; site _ { root $D/w; }");
    assert_int_equal(find("/late.html"), TARGET_NONE);
    stage_file(&stage, "w/late.html", "x");
    assert_int_equal(find("/late.html"), TARGET_NONE);

    stage_config(&stage, "file_check 0; site _ { root $D/w; }");
    assert_int_equal(find("/late.html"), TARGET_FILE);
    assert_int_equal(found.size, 1);
    stage_file(&stage, "w/late.html", "longer");
    assert_int_equal(find("/late.html"), TARGET_FILE);
    assert_int_equal(found.size, 6);

    // A short time passes: then files are looked at again.
    stage_config(&stage, "file_check 10ms; site _ { root $D/w; }");
    assert_int_equal(find("/soon.html"), TARGET_NONE);
    stage_file(&stage, "w/soon.html", "x");
    for (int i = 0; i < 100 && find("/soon.html") == TARGET_NONE; i++)
        stage_turn(&stage, 1);
    assert_int_equal(find("/soon.html"), TARGET_FILE);
}

static void a_swapped_link_serves_the_new_files(void **state)
{
    (void)state;
    stage_file(&stage, "r1/v.html", "1");
    stage_file(&stage, "r2/v.html", "22");
    link_to("r1", "current");
    stage_config(&stage, "file_check 0; site _ { root $D/current; }");
    assert_int_equal(find("/v.html"), TARGET_FILE);
    assert_int_equal(found.size, 1);
    link_to("r2", "current");
    assert_int_equal(find("/v.html"), TARGET_FILE);
    assert_int_equal(found.size, 2);
}

static void strangers_cannot_fill_the_memory(void **state)
{
    (void)state;
    stage_config(&stage, "file_check 1h; site _ { root $D/w; }");
    assert_int_equal(find("/a.html"), TARGET_FILE);
    char full[256];
    (void)snprintf(full, sizeof full, "%s/w/a.html", stage.dir);
    assert_int_equal(unlink(full), 0);
    for (int i = 0; i < 3 * TARGET_CACHE_ABSENT_MAX; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/n%d", i);
        assert_int_equal(find(path), TARGET_NONE);
    }
    // What is there was not pushed out by what is not.
    assert_int_equal(find("/a.html"), TARGET_FILE);
}

static void no_root_names_nothing(void **state)
{
    (void)state;
    stage_config(&stage, "site _ { }");
    assert_int_equal(find("/a.html"), TARGET_UNKNOWN);
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&finder};
    static const char *const FILES[] = {
        "w/a.html",
        "w/dir/pic.jpg",
        "w/i.php",
        "w/dir/j.php",
        "w/.htaccess",
        "w/.git/config",
        "w/dir/.hidden/x",
        "w/dir/.k.php",
        "w/.well-known/acme",
        "w/.well-known/.secret",
        "w/dir/.well-known/acme",
        "w/odd\x01\xff name",
        "m/load.php",
        "outside/o.html",
    };
    char full[256];
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    for (size_t i = 0; i < ARRAY_LEN(FILES); i++)
        stage_file(&stage, FILES[i], "content");
    link_to("a.html", "w/link.html");
    link_to("../outside", "w/out");
    link_to("nowhere", "w/dangling");
    link_to("ring", "w/ring");
    (void)snprintf(full, sizeof full, "%s/w/pipe", stage.dir);
    assert_int_equal(mkfifo(full, 0600), 0);
    stage_config(&stage, "site _ { root $D/w; path /wiki/ { root $D/m; } }");
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
        cmocka_unit_test(paths_name_things),
        cmocka_unit_test(long_path_info_is_found),
        cmocka_unit_test(looks_are_trusted_for_a_while),
        cmocka_unit_test(a_swapped_link_serves_the_new_files),
        cmocka_unit_test(strangers_cannot_fill_the_memory),
        cmocka_unit_test(no_root_names_nothing),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
