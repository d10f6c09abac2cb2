// SPDX-License-Identifier: Apache-2.0
// file_test -- whole files, sealed memory, directories.
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "os/fd.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/file_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

static void a_file_fits_up_to_the_ceiling(void **state)
{
    (void)state;

    static const struct {
        size_t size, ceiling;
        int rc;
    } CASES[] = {
        {0, 0, 0},      {0, 1, 0},           {10, 0, 0},
        {10, 10, 0},    {10, 9, -EFBIG},     {10, 11, 0},
        {100000, 0, 0}, {100000, 100000, 0}, {100000, 99999, -EFBIG},
    };

    char path[96];
    (void)snprintf(path, sizeof path, "%s/file", dir);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct buf bytes = {0};
        size_t room;
        char *to = buf_room(&bytes, CASES[i].size, &room);
        if (CASES[i].size)
            memset(to, 'x', CASES[i].size);
        buf_added(&bytes, CASES[i].size);
        int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
        assert_int_equal(fd_write_all(fd, buf_view(&bytes)), 0);
        struct buf whole = {.ceiling_bytes = CASES[i].ceiling};
        struct buf again = {.ceiling_bytes = CASES[i].ceiling};
        assert_int_equal(file_read_all(path, &whole), CASES[i].rc);
        assert_int_equal(file_read_fd(fd, &again), CASES[i].rc);
        if (CASES[i].rc == 0) {
            assert_true(str_eq(buf_view(&whole), buf_view(&bytes)));
            assert_true(str_eq(buf_view(&again), buf_view(&bytes)));
        }
        fd_close(&fd);
        buf_done(&again);
        buf_done(&whole);
        buf_done(&bytes);
    }
    assert_int_equal(unlink(path), 0);
}

static void what_has_no_size_is_read_to_its_end(void **state)
{
    (void)state;
    struct buf text = {0};
    assert_int_equal(file_read_all("/proc/self/status", &text), 0);
    assert_true(str_starts(buf_view(&text), STR("Name:")));
    buf_done(&text);
    assert_int_equal(file_read_all(dir, &text), -EISDIR);
    assert_int_equal(file_read_all("/no/such/file", &text), -ENOENT);
    char pipe[sizeof dir + 8];
    (void)snprintf(pipe, sizeof pipe, "%s/pipe", dir);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(file_read_all(pipe, &text), -EINVAL); // and nobody waits for a writer
    assert_int_equal(file_read_all("/dev/zero", &text), -EINVAL);
    assert_int_equal(unlink(pipe), 0);
    buf_done(&text);
}

static void a_memory_file_does_not_change(void **state)
{
    (void)state;
    int fd = file_memfd("test", STR("settings"));
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_int_equal(ftruncate(fd, 100), -1);
    struct buf text = {0};
    assert_int_equal(file_read_fd(fd, &text), 0);
    assert_true(str_eq(buf_view(&text), STR("settings")));
    buf_done(&text);
    fd_close(&fd);
}

static void shared_memory_is_shared_and_keeps_its_size(void **state)
{
    (void)state;
    int fd = file_shared("test", 4096);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 8192), -1);
    char *writer = file_map(fd, 4096, true);
    const char *reader = file_map(fd, 4096, false);
    assert_non_null(writer);
    assert_non_null(reader);
    assert_int_equal(reader[4095], 0);
    writer[4095] = 'x';
    assert_int_equal(reader[4095], 'x');
    file_unmap(writer, 4096);
    file_unmap((void *)(uintptr_t)reader, 4096);
    file_unmap(NULL, 4096);
    assert_null(file_map(FD_NONE, 4096, true));
    fd_close(&fd);
}

static void a_file_without_a_name_is_private(void **state)
{
    (void)state;
    int fd = file_unnamed(dir);
    struct stat st;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_nlink, 0);
    fd_close(&fd);
    assert_int_equal(file_unnamed("/no/such/dir"), -ENOENT);
}

static void directories_are_made_with_their_parents(void **state)
{
    (void)state;
    char path[96];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/a/b/c/", dir);
    for (int round = 0; round < 2; round++)
        assert_int_equal(file_make_dirs(path, 0700), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(file_make_dirs("", 0700), -ENOENT);
    assert_int_equal(file_make_dirs("/dev/null/x", 0700), -ENOTDIR);
    assert_int_equal(file_make_dirs("/dev/null", 0700), -ENOTDIR);
    assert_int_equal(file_make_dirs("/", 0700), 0);
    static const char *const MADE[] = {"a/b/c", "a/b", "a"};
    for (size_t i = 0; i < ARRAY_LEN(MADE); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, MADE[i]);
        assert_int_equal(rmdir(path), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_fits_up_to_the_ceiling),
        cmocka_unit_test(what_has_no_size_is_read_to_its_end),
        cmocka_unit_test(a_memory_file_does_not_change),
        cmocka_unit_test(shared_memory_is_shared_and_keeps_its_size),
        cmocka_unit_test(a_file_without_a_name_is_private),
        cmocka_unit_test(directories_are_made_with_their_parents),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
