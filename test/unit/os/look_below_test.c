// SPDX-License-Identifier: Apache-2.0
// look_below_test -- which symbolic links below a root are followed, and how the same is opened.
#define _XOPEN_SOURCE 700
#include "os/look_below.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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
#include "os/fd.h"

#define OTHER_UID 65534

static char base[64];
static char room[512];

static const char *path_of(const char *name)
{
    (void)snprintf(room, sizeof room, "%s/%s", base, name);
    return room;
}

static void make_file(const char *name, const char *text)
{
    int fd = open(path_of(name), O_CREAT | O_WRONLY | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void make_link(const char *to, const char *name)
{
    assert_int_equal(symlink(to, path_of(name)), 0);
}

static const struct {
    const char *path; // below base; the root is base/root, base/rooted leads there
    int follow, owner, off;
} CASES[] = {
    {"root/a", 'a', 'a', 'a'},
    {"root//a", 'a', 'a', 'a'},
    {"root/dir/b", 'b', 'b', 'b'},
    {"root/./dir/b", 'b', 'b', 'b'},
    {"root/dir", 0, 0, 0},
    {"root/dir/", 0, 0, 0},
    {"root", 0, 0, 0},
    {"root/", 0, 0, 0},
    {"root/none", -ENOENT, -ENOENT, -ENOENT},
    {"root/a/", -ENOTDIR, -ENOTDIR, -ENOTDIR},
    {"root/a/b", -ENOTDIR, -ENOTDIR, -ENOTDIR},
    {"root/own", 'a', 'a', -ELOOP},
    {"root/own/", -ENOTDIR, -ENOTDIR, -ELOOP},
    {"root/own-dir/b", 'b', 'b', -ELOOP},
    {"root/own-dir", 0, 0, -ELOOP},
    {"root/out", 'o', 'o', -ELOOP},
    {"root/out-dir/o", 'o', 'o', -ELOOP},
    {"root/dangling", -ENOENT, -ENOENT, -ELOOP},
    {"root/ring", -ELOOP, -ELOOP, -ELOOP},
    {"root/foreign", 'a', -ELOOP, -ELOOP}, // not the owner's of what it leads to
    {"root/foreign-dir/b", 'b', -ELOOP, -ELOOP},
    {"rooted/a", 'a', 'a', 'a'}, // the root itself is taken as it is
    {"rooted/own", 'a', 'a', -ELOOP},
};

static void check(const char *name, enum look_links links, int expected)
{
    struct look look;
    size_t root_len = strlen(base) + strcspn(name, "/") + 1;
    int rc = look_below_at(path_of(name), root_len, links, &look);
    int fd = look_below_open(path_of(name), root_len, links);
    if (rc != (expected < 0 ? expected : 0) || (expected < 0 ? fd != expected : fd < 0))
        fail_msg("%s, %d: %d, %d", name, (int)links, rc, fd);
    if (expected >= 0)
        assert_int_equal(look.kind, expected ? LOOK_FILE : LOOK_DIR);
    char first = 0;
    if (expected > 0)
        assert_int_equal(fd_read(fd, &first, 1), 1);
    assert_int_equal(first, expected > 0 ? expected : 0);
    fd_close(&fd);
}

static void links_are_followed_as_asked(void **state)
{
    (void)state;
    bool is_root = geteuid() == 0;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        check(CASES[i].path, LOOK_LINKS_FOLLOW, CASES[i].follow);
        check(CASES[i].path, LOOK_LINKS_OFF, CASES[i].off);
        // Only root can make links that belong to others: for others these are their own.
        bool is_foreign = strstr(CASES[i].path, "foreign") != NULL;
        check(CASES[i].path, LOOK_LINKS_OWNER,
              is_foreign && !is_root ? CASES[i].follow : CASES[i].owner);
    }
}

static void pipes_hold_nobody_up(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path_of("root/pipe"), 0600), 0);
    for (enum look_links links = LOOK_LINKS_FOLLOW; links <= LOOK_LINKS_OFF; links++) {
        struct look look;
        int fd = look_below_open(path_of("root/pipe"), strlen(base) + 5, links);
        assert_true(fd >= 0);
        assert_int_equal(look_behind(fd, &look), 0);
        assert_int_equal(look.kind, LOOK_OTHER);
        fd_close(&fd);
    }
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/godwit-look-XXXXXX");
    assert_non_null(mkdtemp(base));
    assert_int_equal(mkdir(path_of("root"), 0755), 0);
    assert_int_equal(mkdir(path_of("root/dir"), 0755), 0);
    assert_int_equal(mkdir(path_of("outside"), 0755), 0);
    make_file("root/a", "a");
    make_file("root/dir/b", "b");
    make_file("outside/o", "o");
    make_link("a", "root/own");
    make_link("dir", "root/own-dir");
    make_link("../outside/o", "root/out");
    make_link("../outside", "root/out-dir");
    make_link("nowhere", "root/dangling");
    make_link("ring", "root/ring");
    make_link("a", "root/foreign");
    make_link("dir", "root/foreign-dir");
    make_link("root", "rooted");
    if (geteuid() == 0) {
        assert_int_equal(lchown(path_of("root/foreign"), OTHER_UID, OTHER_UID), 0);
        assert_int_equal(lchown(path_of("root/foreign-dir"), OTHER_UID, OTHER_UID), 0);
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_followed_as_asked),
        cmocka_unit_test(pipes_hold_nobody_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
