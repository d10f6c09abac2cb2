// SPDX-License-Identifier: Apache-2.0
// links_test -- where a path ends that leads through symbolic links, and whether they have changed.
#include "os/links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

#include "base/compiler.h"

static char base[64];
static char room[512];

static const char *path_of(const char *name)
{
    (void)snprintf(room, sizeof room, "%s/%s", base, name);
    return room;
}

static void make_link(const char *target, const char *name)
{
    assert_int_equal(symlink(target, path_of(name)), 0);
}

static int set_up(void **state)
{
    (void)state;
    char made[] = "/tmp/godwit-links-XXXXXX";
    assert_non_null(mkdtemp(made));
    char *real = realpath(made, NULL);
    assert_non_null(real);
    (void)snprintf(base, sizeof base, "%s", real);
    free(real);
    assert_int_equal(mkdir(path_of("one"), 0755), 0);
    assert_int_equal(mkdir(path_of("one/public"), 0755), 0);
    assert_int_equal(mkdir(path_of("two"), 0755), 0);
    make_link("one", "current");
    make_link("current/public", "site");
    make_link("site", "third");
    make_link("loop", "loop");
    char absolute[128];
    (void)snprintf(absolute, sizeof absolute, "%s/two", base);
    make_link(absolute, "absolute");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"current",  "site",       "third", "loop",
                                        "absolute", "one/public", "one",   "two"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        assert_int_equal(remove(path_of(NAMES[i])), 0);
    return rmdir(base);
}

static void paths_end_where_they_lead(void **state)
{
    static const struct {
        const char *name, *resolved; // NULL: as it is
        unsigned links;
    } CASES[] = {
        {"one", NULL, 0},
        {"one/public", NULL, 0},
        {"current", "one", 1},
        {"current/public/", "one/public", 1},
        {"site", "one/public", 2},
        {"absolute", "two", 1},
        {"one/../two", "two", 0},
        {"./one//public/.", "one/public", 0},
        {"site/../public", "one/public", 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct links links;
        char want[512];
        assert_int_equal(links_follow(path_of(CASES[i].name), &links), 0);
        const char *resolved = CASES[i].resolved ? CASES[i].resolved : CASES[i].name;
        (void)snprintf(want, sizeof want, "%s/%s", base, resolved);
        assert_string_equal(links.resolved, want);
        assert_int_equal(links.count, CASES[i].links);
        assert_true(links_are_unchanged(&links));
    }
}

static void the_root_is_a_path(void **state)
{
    (void)state;
    struct links links;
    assert_int_equal(links_follow("/", &links), 0);
    assert_string_equal(links.resolved, "/");
    assert_int_equal(links_follow("/../..", &links), 0);
    assert_string_equal(links.resolved, "/");
}

static void what_cannot_be_followed_is_told(void **state)
{
    (void)state;
    struct links links;
    assert_int_equal(links_follow(path_of("none/x"), &links), -ENOENT);
    assert_int_equal(links_follow("one", &links), -EINVAL);
    assert_int_equal(links_follow(path_of("third"), &links), -ENAMETOOLONG); // three links
    assert_int_equal(links_follow(path_of("loop"), &links), -ENAMETOOLONG);
    char path[1024];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    // Of every length: one byte too much would be seen by the sanitizers.
    for (size_t len = 1; len < sizeof path; len++) {
        path[len] = '\0';
        int rc = links_follow(path, &links);
        assert_int_equal(rc, len == 1 ? 0 : len < LINKS_PATH_BYTES ? -ENOENT : -ENAMETOOLONG);
        path[len] = 'a';
    }
}

static void a_change_is_seen(void **state)
{
    (void)state;
    struct links links;
    assert_int_equal(links_follow(path_of("site"), &links), 0);
    assert_int_equal(remove(path_of("current")), 0);
    assert_false(links_are_unchanged(&links));
    make_link("two", "current");
    assert_false(links_are_unchanged(&links));
    assert_int_equal(remove(path_of("current")), 0);
    make_link("one", "current");
    assert_true(links_are_unchanged(&links));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_end_where_they_lead),
        cmocka_unit_test(the_root_is_a_path),
        cmocka_unit_test(what_cannot_be_followed_is_told),
        cmocka_unit_test(a_change_is_seen),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
