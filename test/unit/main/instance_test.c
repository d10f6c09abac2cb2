// SPDX-License-Identifier: Apache-2.0
// instance_test -- names of instances, their directories, and which of them run.
#include "main/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

#include "os/fd.h"
#include "os/sock.h"

static struct arena arena;

static int reset(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void names_that_are_given(void **state)
{
    (void)state;

    static const struct {
        const char *name;
        bool good;
    } ROWS[] = {
        {"blog", true},
        {"a.b_c-D9", true},
        {"", false},
        {".hidden", false},
        {"a/b", false},
        {"a b", false},
        {"\xc3\xa4", false},
        {"123456789-123456789-123456789-123456789-12345678", true},
        {"123456789-123456789-123456789-123456789-123456789", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct err err = {0};
        const char *name = instance_name(&arena, ROWS[i].name, &err);
        if (ROWS[i].good)
            assert_string_equal(name, ROWS[i].name);
        else
            assert_null(name);
        assert_int_equal(err.count, !ROWS[i].good);
        err_done(&err);
    }
}

static void names_that_are_derived(void **state)
{
    (void)state;
    assert_string_equal(instance_name_of_file(&arena, "/etc/godwit/blog.conf"), "blog");
    assert_string_equal(instance_name_of_file(&arena, "/etc/godwit/a.b.conf"), "a.b");
    assert_string_equal(instance_name_of_file(&arena, "/etc/godwit/plain"), "plain");
    assert_string_equal(instance_name_of_file(&arena, "/etc/godwit/.conf"), "conf");
    assert_string_equal(instance_name_of_dir(&arena, "/srv/my site", "80"), "my-site-80");
    assert_string_equal(instance_name_of_dir(&arena, "/", "80"), "root-80");
    const char *name = instance_name_of_dir(
        &arena, "/a-directory-whose-name-is-longer-than-what-fits-into-a-name", "65535");
    struct err err = {0};
    assert_non_null(instance_name(&arena, name, &err));
    assert_non_null(strstr(name, "-65535"));
}

static void where_instances_are(void **state)
{
    (void)state;
    struct err err = {0};
    assert_string_equal(instance_base(&arena, "/given", &err), "/given");
    const char *relative = instance_base(&arena, "given", &err);
    assert_int_equal(relative[0], '/');
    assert_non_null(strstr(relative, "/given"));
    setenv("XDG_RUNTIME_DIR", "/xdg", 1);
    assert_string_equal(instance_base(&arena, NULL, &err),
                        geteuid() == 0 ? "/run/godwit" : "/xdg/godwit");
    assert_int_equal(err.count, 0);
}

#define NOBODY 64231 // a user without anything

static int expect_own_place(const char *part)
{
    struct err err = {0};
    const char *base = instance_base(&arena, NULL, &err);
    const char *got = base ? base : err_text(&err);
    bool good = strstr(got, part) != NULL;
    if (!good)
        fprintf(stderr, "\"%s\" in place of \"%s\"\n", got, part);
    err_done(&err);
    return good ? 0 : 1;
}

static int try_own_places(void)
{
    static const char PLACE[] = "/dev/shm/godwit-64231";
    struct stat st;
    unsetenv("XDG_RUNTIME_DIR");
    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 1;
    setenv("HOME", "/root", 1);
    int bad = expect_own_place(PLACE);
    bad += lstat(PLACE, &st) < 0 || (st.st_mode & 07777) != 0700 || st.st_uid != NOBODY;
    unsetenv("HOME");
    bad += expect_own_place(PLACE);
    chmod(PLACE, 0755);
    bad += expect_own_place("its mode is not 0700");
    rmdir(PLACE);
    bad += symlink("/dev/shm", PLACE) < 0 || expect_own_place("it is no directory");
    unlink(PLACE);
    setenv("HOME", "/dev/shm", 1); // where anybody may make directories
    bad += expect_own_place("/dev/shm/.local/state/godwit");
    return bad;
}

// Only root can become somebody who has nothing.
static void users_without_a_home(void **state)
{
    (void)state;
    static const char PLACE[] = "/dev/shm/godwit-64231";
    int status;
    if (geteuid() != 0)
        return;
    pid_t child = fork();
    if (child == 0)
        _exit(try_own_places());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    // Made by somebody else before.
    assert_int_equal(mkdir(PLACE, 0700), 0);
    child = fork();
    if (child == 0) {
        unsetenv("XDG_RUNTIME_DIR");
        unsetenv("HOME");
        _exit(setuid(NOBODY) < 0 || expect_own_place("it belongs to another user"));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(rmdir(PLACE), 0);
    assert_int_equal(status, 0);
}

static int listen_at(const char *base, const char *name)
{
    char text[128];
    struct sock_addr addr;
    snprintf(text, sizeof text, "%s/%s", base, name);
    assert_int_equal(mkdir(text, 0700), 0);
    snprintf(text, sizeof text, "unix:%s/%s/control.sock", base, name);
    assert_true(sock_addr_parse(str_c(text), &addr));
    int fd = sock_listen(&addr, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void remove_at(const char *base, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s/control.sock", base, name);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s", base, name);
    rmdir(path);
}

static void expect_error(const char *base, const char *name, const char *part)
{
    struct err err = {0};
    assert_null(instance_find(&arena, base, name, &err));
    if (!strstr(err_text(&err), part))
        fail_msg("\"%s\" is not in \"%s\"", part, err_text(&err));
    err_done(&err);
}

static void running_ones_are_found(void **state)
{
    (void)state;
    struct err err = {0};
    char base[] = "/tmp/instance-XXXXXX";
    assert_non_null(mkdtemp(base));
    expect_error(base, NULL, "no instance runs");
    expect_error("/nowhere", NULL, "no instance runs (looked in /nowhere)");
    int one = listen_at(base, "one");
    int dead = listen_at(base, "dead");
    fd_close(&dead); // its file stays
    const char *found = instance_find(&arena, base, NULL, &err);
    assert_non_null(strstr(found, "/one/control.sock"));
    int two = listen_at(base, "two");
    expect_error(base, NULL, "2 instances run: ");
    expect_error(base, NULL, "say which one with -n NAME");
    expect_error(base, "dead", "no instance named \"dead\" runs");
    found = instance_find(&arena, base, "two", &err);
    assert_non_null(strstr(found, "/two/control.sock"));
    fd_close(&one);
    fd_close(&two);
    remove_at(base, "one");
    remove_at(base, "two");
    remove_at(base, "dead");
    assert_int_equal(rmdir(base), 0);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test_teardown(names_that_are_given, reset),
        cmocka_unit_test_teardown(names_that_are_derived, reset),
        cmocka_unit_test_teardown(where_instances_are, reset),
        cmocka_unit_test_teardown(users_without_a_home, reset),
        cmocka_unit_test_teardown(running_ones_are_found, reset),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
