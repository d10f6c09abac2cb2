// SPDX-License-Identifier: Apache-2.0
// sink_test -- lines of many threads arrive whole and in order; a stuck reader costs lines, not
// time.
#include "log/sink.h"

#include <fcntl.h>
#include <pthread.h>
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

#include "base/buf.h"
#include "os/fd.h"
#include "os/file.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/sink_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

// A file for the sink and a descriptor to read what came, without a name.
static int open_file(int *out_reader)
{
    int fd = file_unnamed(dir);
    assert_true(fd >= 0);
    *out_reader = dup(fd);
    return fd;
}

static void check_file(int *reader, const char *expected)
{
    struct buf text = {0};
    assert_int_equal(file_read_fd(*reader, &text), 0);
    assert_true(str_eq(buf_view(&text), str_c(expected)));
    buf_done(&text);
    fd_close(reader);
}

static void a_flush_brings_all_lines_to_the_file(void **state)
{
    (void)state;
    int reader;
    struct sink *s = sink_new(open_file(&reader));
    assert_true(sink_write(s, STR("one")));
    assert_true(sink_write(s, STR("")));
    sink_flush(s);
    assert_true(sink_write(s, STR("three")));
    sink_flush(s);
    struct buf text = {0};
    assert_int_equal(file_read_fd(reader, &text), 0);
    assert_true(str_eq(buf_view(&text), STR("one\n\nthree\n")));
    buf_done(&text);
    assert_true(sink_write(s, STR("four")));
    sink_free(s);
    check_file(&reader, "one\n\nthree\nfour\n");
    sink_free(NULL);
}

static void a_swap_divides_the_lines(void **state)
{
    (void)state;
    int readers[3];
    struct sink *s = sink_new(open_file(&readers[0]));
    assert_true(sink_write(s, STR("one")));
    sink_swap(s, open_file(&readers[1]));
    assert_true(sink_write(s, STR("two")));
    sink_swap(s, open_file(&readers[2]));
    assert_true(sink_write(s, STR("three")));
    sink_free(s);
    check_file(&readers[0], "one\n");
    check_file(&readers[1], "two\n");
    check_file(&readers[2], "three\n");
}

static void a_swap_closes_the_old_descriptor(void **state)
{
    (void)state;
    int pipes[2];
    int reader;
    char room[16];
    assert_int_equal(fd_pipe(pipes), 0);
    struct sink *s = sink_new(pipes[1]);
    assert_true(sink_write(s, STR("one")));
    sink_swap(s, open_file(&reader));
    assert_int_equal(fd_read(pipes[0], room, sizeof room), 4);
    assert_int_equal(fd_read(pipes[0], room, sizeof room), 0);
    fd_close(&pipes[0]);
    sink_free(s);
    check_file(&reader, "");
}

#define LINE_LEN 99 // and the newline

static void a_full_pipe_drops_and_counts_and_holds_up_no_other(void **state)
{
    (void)state;
    int pipes[2];
    int reader;
    char line[LINE_LEN];
    uint64_t kept = 0;
    uint64_t refused = 0;
    assert_int_equal(fd_pipe(pipes), 0);
    memset(line, 'x', sizeof line);
    struct sink *stuck = sink_new(pipes[1]);
    struct sink *other = sink_new(open_file(&reader));
    while (refused < 1000) {
        if (sink_write(stuck, str_n(line, sizeof line)))
            kept++;
        else
            refused++;
    }
    assert_true(kept >= SINK_RING_BYTES / (LINE_LEN + 1));
    assert_int_equal(sink_dropped(stuck), refused);
    assert_true(sink_write(other, STR("alive")));
    sink_flush(other);
    sink_free(other);
    check_file(&reader, "alive\n");

    // A reader that comes back gets every line that was kept, whole.
    for (uint64_t left = kept * (LINE_LEN + 1); left > 0;) {
        char room[LINE_LEN + 1];
        ssize_t got =
            fd_read(pipes[0], room, left % sizeof room ? left % sizeof room : sizeof room);
        assert_true(got > 0);
        left -= (uint64_t)got;
        assert_int_equal(room[got - 1] == '\n', left % sizeof room == 0);
    }
    assert_true(sink_write(stuck, STR("again")));
    sink_free(stuck);
    char room[16];
    assert_int_equal(fd_read(pipes[0], room, sizeof room), 6);
    assert_int_equal(fd_read(pipes[0], room, sizeof room), 0);
    fd_close(&pipes[0]);
}

static void lines_that_can_not_be_written_are_counted(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(fd_pipe(pipes), 0);
    fd_close(&pipes[0]);
    struct sink *s = sink_new(pipes[1]);
    for (int i = 0; i < 10; i++)
        assert_true(sink_write(s, STR("nobody reads")));
    sink_flush(s);
    assert_int_equal(sink_dropped(s), 10);
    sink_free(s);

    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    s = sink_new(full);
    assert_true(sink_write(s, STR("no space")));
    sink_flush(s);
    assert_int_equal(sink_dropped(s), 1);
    sink_free(s);
}

static void a_line_longer_than_the_ring_is_dropped(void **state)
{
    (void)state;
    static char big[SINK_RING_BYTES];
    int reader;
    struct sink *s = sink_new(open_file(&reader));
    memset(big, 'x', sizeof big);
    assert_false(sink_write(s, str_n(big, sizeof big)));
    assert_true(sink_write(s, str_n(big, sizeof big - 1)));
    assert_int_equal(sink_dropped(s), 1);
    sink_free(s);
    struct stat st;
    assert_int_equal(fstat(reader, &st), 0);
    assert_int_equal(st.st_size, sizeof big);
    fd_close(&reader);
}

#define WRITERS 4
#define LINES   20000

struct author {
    struct sink *sink;
    char name;
    int refused;
};

static void *write_lines(void *arg)
{
    struct author *a = arg;
    for (int i = 0; i < LINES; i++) {
        char line[32];
        int len = snprintf(line, sizeof line, "%c %d", a->name, i);
        // With a full ring, wait for room as no server would.
        while (!sink_write(a->sink, str_n(line, (size_t)len))) {
            a->refused++;
            sink_flush(a->sink);
        }
    }
    return NULL;
}

static void lines_of_many_threads_stay_whole_and_in_order(void **state)
{
    (void)state;
    int reader;
    struct sink *s = sink_new(open_file(&reader));
    struct author authors[WRITERS];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        authors[i] = (struct author){.sink = s, .name = (char)('A' + i)};
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, &authors[i]), 0);
    }
    uint64_t refused = 0;
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        refused += (uint64_t)authors[i].refused;
    }
    assert_int_equal(sink_dropped(s), refused);
    sink_free(s);
    struct buf text = {0};
    assert_int_equal(file_read_fd(reader, &text), 0);
    fd_close(&reader);
    uint64_t next[WRITERS] = {0};
    struct str rest = buf_view(&text);
    for (int i = 0; i < WRITERS * LINES; i++) {
        struct str line = str_cut(&rest, '\n');
        uint64_t number;
        assert_true(line.len > 2 && line.ptr[0] >= 'A' && line.ptr[0] < 'A' + WRITERS);
        assert_true(str_to_u64(str_skip(line, 2), &number));
        assert_int_equal(number, next[line.ptr[0] - 'A']++);
    }
    assert_true(rest.ptr && rest.len == 0);
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flush_brings_all_lines_to_the_file),
        cmocka_unit_test(a_swap_divides_the_lines),
        cmocka_unit_test(a_swap_closes_the_old_descriptor),
        cmocka_unit_test(a_full_pipe_drops_and_counts_and_holds_up_no_other),
        cmocka_unit_test(lines_that_can_not_be_written_are_counted),
        cmocka_unit_test(a_line_longer_than_the_ring_is_dropped),
        cmocka_unit_test(lines_of_many_threads_stay_whole_and_in_order),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
