// SPDX-License-Identifier: Apache-2.0
// log_file_test -- logs in directories of all kinds, opened by root; what others get is little.
#include <fcntl.h>
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

#include "keeper/log_file.h"
#include "os/fd.h"

#define USER 65534

static char base[64];

static const char *at(const char *name)
{
    static char paths[2][256];
    static unsigned turn;
    char *path = paths[turn++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", base, name);
    return path;
}

static void make_dir(const char *name, uid_t owner, mode_t mode)
{
    assert_int_equal(mkdir(at(name), 0755), 0);
    assert_int_equal(chown(at(name), owner, owner), 0);
    assert_int_equal(chmod(at(name), mode), 0);
}

static void make_file(const char *name, uid_t owner)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, owner, owner), 0);
    fd_close(&fd);
}

static void make_link(const char *target, const char *name, uid_t owner)
{
    assert_int_equal(symlink(at(target), at(name)), 0);
    assert_int_equal(lchown(at(name), owner, owner), 0);
}

static int setup(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(base, sizeof base, "%.40s/logs-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(base));
    if (geteuid() != 0)
        return 0;
    assert_int_equal(chmod(base, 0755), 0);
    make_dir("root", 0, 0755);
    make_dir("user", USER, 0755);
    make_dir("group", 0, 0775);
    make_dir("all", 0, 01777);
    make_dir("theirs", USER, 0777);
    make_dir("user/below", 0, 0755);
    make_file("root/secret", 0);
    make_file("group/roots.log", 0);
    make_file("group/users.log", USER);
    make_file("user/roots.log", 0);
    make_file("user/old.log", USER);
    make_link("root/secret", "user/link.log", USER);
    make_link("root", "user/dir", USER);
    make_link("root", "root/dir", 0);
    make_link("user/linked.log", "root/user.log", 0);
    make_link("root/loop", "root/loop", 0);
    assert_int_equal(symlink("/dev/stderr", at("root/err")), 0);
    assert_int_equal(link(at("root/secret"), at("user/hard.log")), 0);
    assert_int_equal(link(at("group/roots.log"), at("group/hard.log")), 0);
    assert_int_equal(mkfifo(at("user/fifo"), 0600), 0);
    assert_int_equal(chown(at("user/fifo"), USER, USER), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "user/below/log",
        "user/below",
        "user/fifo",
        "user/hard.log",
        "user/dir",
        "user/link.log",
        "user/old.log",
        "user/new.log",
        "user/linked.log",
        "user/roots.log",
        "user",
        "group/roots.log",
        "group/users.log",
        "group/hard.log",
        "group/new.log",
        "group",
        "all",
        "theirs",
        "root/secret",
        "root/dir",
        "root/user.log",
        "root/loop",
        "root/err",
        "root/new.log",
        "root",
        "new.log",
        "other.log",
    };
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        remove(at(NAMES[i]));
    return rmdir(base);
}

static const struct row {
    const char *name;
    const char *why;  // NULL: opens
    const char *made; // if not what was named
    uid_t owner;
} ROWS[] = {
    {"root/new.log", NULL, NULL, 0},
    {"root/dir/../new.log", NULL, "new.log", 0},
    {"root/dir/dir/new.log", NULL, "root/new.log", 0},
    {"user/new.log", NULL, NULL, USER},
    {"user/old.log", NULL, NULL, USER},
    {"user/below/log", NULL, NULL, 0},
    {"root/user.log", NULL, "user/linked.log", USER},
    {"group/new.log", NULL, NULL, 0},
    {"user/link.log", "a symbolic link is on the way", NULL, 0},
    {"user/dir/new.log", "a symbolic link is on the way", NULL, 0},
    {"user/roots.log", "Permission denied", NULL, 0},
    {"user/hard.log", "Permission denied", NULL, 0},
    {"user/fifo", "No such device or address", NULL, 0},
    {"user/none/log", "No such file or directory", NULL, 0},
    {"root/loop", "Too many levels of symbolic links", NULL, 0},
    {"root/", "Is a directory", NULL, 0},
    {"group/users.log", "does not belong to the owner", NULL, 0},
    {"group/hard.log", "more than one name", NULL, 0},
    {"all/new.log", "everybody may write to its directory", NULL, 0},
    {"theirs/new.log", "everybody may write to its directory", NULL, 0},
};

static void try(const struct row *row)
{
    struct err err = {0};
    struct stat st;
    struct stat opened;
    assert_int_equal(log_file_check(at(row->name), &err), row->why == NULL);
    bool was_there = stat(at(row->made ? row->made : row->name), &st) == 0;
    int fd = log_file_open(at(row->name), &err);
    assert_int_equal(geteuid(), 0);
    if (row->why) {
        assert_true(fd < 0);
        if (!strstr(err_text(&err), row->why))
            fail_msg("%s: %s", row->name, err_text(&err));
    } else {
        if (fd < 0)
            fail_msg("%s: %s", row->name, err_text(&err));
        assert_int_equal(fstat(fd, &opened), 0);
        assert_int_equal(stat(at(row->made ? row->made : row->name), &st), 0);
        assert_int_equal(st.st_ino, opened.st_ino);
        assert_int_equal(st.st_uid, row->owner);
        assert_true(was_there || (st.st_mode & 07777 & ~0640u) == 0);
        assert_true((fcntl(fd, F_GETFL) & (O_NONBLOCK | O_APPEND)) == O_APPEND);
    }
    fd_close(&fd);
    err_done(&err);
}

static void root_is_led_nowhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS) && geteuid() == 0; i++)
        try(&ROWS[i]);
}

static void names_of_open_descriptors(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"stderr", "/dev/stderr", "stdout", "/dev/stdout"};
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        int fd = log_file_open(NAMES[i], &err);
        struct stat st;
        struct stat opened;
        assert_int_equal(fstat(fd, &opened), 0);
        assert_int_equal(fstat(log_file_standard(NAMES[i]), &st), 0);
        assert_int_equal(st.st_ino, opened.st_ino);
        fd_close(&fd);
    }
    assert_int_equal(log_file_standard("/var/log/stdout"), FD_NONE);
    assert_true(log_file_open("relative.log", &err) < 0);
    err_done(&err);
}

static void devices_are_fine(void **state)
{
    (void)state;
    struct err err = {0};
    int fd = log_file_open("/dev/null", &err);
    assert_true(fd >= 0);
    fd_close(&fd);
    if (geteuid() == 0) {
        fd = log_file_open(at("root/err"), &err); // a link to /dev/stderr
        assert_true(fd >= 0);
        fd_close(&fd);
    }
}

static void checks_make_nothing(void **state)
{
    (void)state;
    struct err err = {0};
    assert_true(log_file_check(at("other.log"), &err));
    assert_int_not_equal(access(at("other.log"), F_OK), 0);
    int fd = log_file_open(at("other.log"), &err);
    assert_true(fd >= 0);
    fd_close(&fd);
    assert_true(log_file_check(at("other.log"), &err));
    assert_false(log_file_check(base, &err)); // a directory
    err_done(&err);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(root_is_led_nowhere),
        cmocka_unit_test(names_of_open_descriptors),
        cmocka_unit_test(devices_are_fine),
        cmocka_unit_test(checks_make_nothing),
    };
    return cmocka_run_group_tests(TESTS, setup, teardown);
}
