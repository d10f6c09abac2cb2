// SPDX-License-Identifier: Apache-2.0
// thread_test -- request ids, blocks, what is attached, the date, and counters as a table.
#include "core/thread.h"

#include <errno.h>
#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/arena.h"
#include "base/compiler.h"
#include "core/body.h"
#include "http/date.h"
#include "os/fd.h"
#include "os/sig.h"

static struct loop *loop;

static void ids_differ(void **state)
{
    (void)state;
    struct thread a;
    struct thread b;
    char ids[3][17];
    thread_init(&a, 0, loop, NULL);
    thread_init(&b, 1, loop, NULL);
    thread_request_id(&a, ids[0]);
    thread_request_id(&a, ids[1]);
    thread_request_id(&b, ids[2]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(strspn(ids[i], "0123456789abcdef"), 16);
    assert_memory_equal(ids[0], ids[1], 10);
    assert_string_equal(ids[0] + 10, "000000");
    assert_string_equal(ids[1] + 10, "000001");
    assert_memory_not_equal(ids[0], ids[2], 10);
    thread_done(&a);
    thread_done(&b);
}

static void blocks_are_kept_up_to_a_limit(void **state)
{
    (void)state;
    struct thread t;
    char *blocks[THREAD_BLOCKS_KEPT + 3];
    thread_init(&t, 0, loop, NULL);
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        blocks[i] = thread_block_take(&t);
        memset(blocks[i], 'x', THREAD_BLOCK_BYTES);
    }
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
        thread_block_give(&t, blocks[i]);
    assert_int_equal(t.block_count, THREAD_BLOCKS_KEPT);
    char *again = thread_block_take(&t);
    assert_ptr_equal(again, blocks[THREAD_BLOCKS_KEPT - 1]);
    assert_int_equal(t.block_count, THREAD_BLOCKS_KEPT - 1);
    thread_block_give(&t, again);
    thread_done(&t);
}

static char freed[8];

static void on_free(void *data)
{
    strncat(freed, data, 1);
}

static void what_is_attached_is_freed_in_reverse(void **state)
{
    (void)state;
    static const char OWNERS[2];
    static char a[] = "a";
    static char b[] = "b";
    struct thread t;
    thread_init(&t, 0, loop, NULL);
    assert_null(thread_attached(&t, &OWNERS[0]));
    thread_attach(&t, &OWNERS[0], a, on_free);
    thread_attach(&t, &OWNERS[1], b, on_free);
    assert_ptr_equal(thread_attached(&t, &OWNERS[0]), a);
    assert_ptr_equal(thread_attached(&t, &OWNERS[1]), b);
    thread_done(&t);
    assert_string_equal(freed, "ba");
}

static void on_rest(void *data)
{
    *(int *)data += 1;
}

static void what_is_attached_rests_with_its_thread(void **state)
{
    (void)state;
    static const char OWNERS[2];
    int rests = 0;
    char other[] = "o";
    struct thread t;
    thread_init(&t, 0, loop, NULL);
    thread_attach(&t, &OWNERS[0], other, on_free);
    thread_attach(&t, &OWNERS[1], &rests, on_free);
    thread_on_rest(&t, &OWNERS[1], on_rest);
    thread_rest(&t);
    thread_rest(&t);
    assert_int_equal(rests, 2);
    assert_string_equal(other, "o");
    rests = 0; // an empty text for on_free
    thread_done(&t);
}

static void the_date_is_an_http_date(void **state)
{
    (void)state;
    struct thread t;
    int64_t parsed;
    thread_init(&t, 0, loop, NULL);
    struct str date = thread_date(&t);
    assert_true(date_parse(date, 0, &parsed));
    assert_int_equal(parsed, loop_wall_us(loop) / 1000000);
    assert_ptr_equal(thread_date(&t).ptr, date.ptr);
    thread_done(&t);
}

static void counters_are_summed_by_name(void **state)
{
    (void)state;
    struct thread t;
    unsigned count;
    int64_t sums[128] = {0};
    thread_init(&t, 0, loop, NULL);
    metrics_add(&t.metrics, requests, 3);
    metrics_add(&t.metrics, requests, -1);
    const struct metrics_row *rows = metrics_rows(&count);
    assert_true(count <= ARRAY_LEN(sums));
    metrics_sum(&t.metrics, sums);
    metrics_sum(&t.metrics, sums);
    for (unsigned i = 0; i < count; i++) {
        assert_true(strlen(rows[i].help) > 0);
        assert_int_equal(sums[i], strcmp(rows[i].name, "requests") == 0 ? 4 : 0);
    }
    thread_done(&t);
}

static void bodies_give_pieces_of_the_size_asked_for(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct body_chunk chunk;
    struct body *text = body_text(&arena, STR("abcde"));
    assert_int_equal(text->length, 5);
    assert_int_equal(body_pull(text, 3, &chunk), BODY_DATA);
    assert_true(chunk.file == FD_NONE && str_eq(chunk.bytes, STR("abc")));
    assert_int_equal(body_pull(text, 3, &chunk), BODY_DATA);
    assert_true(str_eq(chunk.bytes, STR("de")));
    assert_int_equal(body_pull(text, 3, &chunk), BODY_END);
    body_close(text);

    int pipe[2];
    assert_int_equal(fd_pipe(pipe), 0);
    struct body *file = body_file(&arena, pipe[0], 10, 7);
    assert_int_equal(body_pull(file, 4, &chunk), BODY_DATA);
    assert_true(chunk.file == pipe[0] && chunk.offset == 10 && chunk.file_bytes == 4);
    assert_int_equal(body_pull(file, 4, &chunk), BODY_DATA);
    assert_true(chunk.offset == 14 && chunk.file_bytes == 3);
    assert_int_equal(body_pull(file, 4, &chunk), BODY_END);
    body_close(file);
    // It has closed what it took over.
    assert_int_equal(fd_write(pipe[1], STR("x")), -EPIPE);
    fd_close(&pipe[1]);
    body_close(NULL);
    arena_done(&arena);
}

static int open_loop(void **state)
{
    int error;
    (void)state;
    sig_ignore_pipe();
    loop = loop_new(&error);
    return loop ? 0 : -1;
}

static int close_loop(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_differ),
        cmocka_unit_test(blocks_are_kept_up_to_a_limit),
        cmocka_unit_test(what_is_attached_is_freed_in_reverse),
        cmocka_unit_test(what_is_attached_rests_with_its_thread),
        cmocka_unit_test(the_date_is_an_http_date),
        cmocka_unit_test(counters_are_summed_by_name),
        cmocka_unit_test(bodies_give_pieces_of_the_size_asked_for),
    };
    return cmocka_run_group_tests(tests, open_loop, close_loop);
}
