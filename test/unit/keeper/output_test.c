// SPDX-License-Identifier: Apache-2.0
// output_test -- lines are handed on whole, the last bytes are kept.
#include "keeper/output.h"

#include <stdio.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

// clang-format on

#include "base/buf.h"
#include "os/fd.h"

struct fixture {
    struct loop *loop;
    struct output output;
    struct buf told; // each call's lines, with "|" behind
    int writer;
};

static void on_lines(struct output *o, struct str lines)
{
    struct fixture *f = CONTAINER_OF(o, struct fixture, output);
    assert_true(buf_put(&f->told, lines) && buf_put(&f->told, STR("|")));
}

static void open_fixture(struct fixture *f)
{
    int rc;
    int pipe[2];
    *f = (struct fixture){.output.on_lines = on_lines};
    f->loop = loop_new(&rc);
    assert_non_null(f->loop);
    assert_int_equal(fd_pipe(pipe), 0);
    assert_int_equal(output_open(&f->output, f->loop, pipe[0]), 0);
    f->writer = pipe[1];
}

static void close_fixture(struct fixture *f)
{
    output_close(&f->output);
    fd_close(&f->writer);
    loop_free(f->loop);
    buf_done(&f->told);
}

static void write_to(struct fixture *f, const char *text)
{
    assert_int_equal(fd_write_all(f->writer, str_c(text)), 0);
    output_drain(&f->output);
}

static void assert_str(struct str got, const char *want)
{
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
}

static void lines_come_whole(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    write_to(&f, "one");
    assert_str(buf_view(&f.told), "");
    write_to(&f, " line\ntwo\nthr");
    assert_str(buf_view(&f.told), "one line\ntwo|");
    assert_str(output_tail(&f.output), "one line\ntwo\nthr");
    fd_close(&f.writer);
    loop_turn(f.loop, 1000);
    assert_str(buf_view(&f.told), "one line\ntwo|thr|");
    assert_str(output_tail(&f.output), "one line\ntwo\nthr");
    assert_int_equal(output_release(&f.output), FD_NONE);
    close_fixture(&f);
}

static void release_gives_the_rest_away(void **state)
{
    (void)state;
    struct fixture f;
    char room[8];
    open_fixture(&f);
    write_to(&f, "half");
    int fd = output_release(&f.output);
    assert_str(buf_view(&f.told), "half|");
    assert_int_equal(fd_write_all(f.writer, STR("other")), 0);
    assert_int_equal(fd_read(fd, room, sizeof room), 5);
    fd_close(&fd);
    close_fixture(&f);
}

// Long lines come in parts; nothing is lost or told twice, and the end is kept.
static void much_is_bounded(void **state)
{
    (void)state;
    struct fixture f;
    struct buf written = {0};
    open_fixture(&f);
    for (unsigned i = 0; i < 4000; i++) {
        char piece[16];
        int len = snprintf(piece, sizeof piece, "%u,", i);
        assert_true(buf_put(&written, str_n(piece, (size_t)len)));
        write_to(&f, piece);
    }
    write_to(&f, "\n");
    struct str told = buf_view(&f.told);
    struct str all = buf_view(&written);
    size_t at = 0;
    for (size_t i = 0; i < told.len; i++) {
        if (told.ptr[i] == '|')
            continue;
        assert_int_equal(told.ptr[i], all.ptr[at]);
        at++;
    }
    assert_int_equal(at, all.len);
    struct str tail = output_tail(&f.output);
    assert_int_equal(tail.len, OUTPUT_KEPT_BYTES);
    assert_memory_equal(tail.ptr, all.ptr + all.len - (tail.len - 1), tail.len - 1);
    buf_done(&written);
    close_fixture(&f);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(lines_come_whole),
        cmocka_unit_test(release_gives_the_rest_away),
        cmocka_unit_test(much_is_bounded),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
