// SPDX-License-Identifier: Apache-2.0
// scoreboard_test -- records are read whole and bounded, whatever a worker left there.
#include "wire/scoreboard.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

static struct scoreboard_record board[SCOREBOARD_RECORDS_MAX];

static void a_worker_shows_its_life(void **state)
{
    (void)state;
    struct scoreboard_record rec;
    scoreboard_reset(board, 3, 77, 1234, 1000, 4096);
    assert_true(scoreboard_get(board, 3, &rec));
    assert_int_equal(rec.state, SCOREBOARD_BOOTING);
    assert_int_equal(rec.worker_id, 77);
    assert_int_equal(rec.pid, 1234);
    assert_int_equal(rec.anon_kib_at_fork, 4096);

    scoreboard_begin(board, 3, STR("GET"), STR("/x?y=1"), 2000);
    assert_true(scoreboard_get(board, 3, &rec));
    assert_int_equal(rec.state, SCOREBOARD_READING);
    assert_int_equal(rec.requests, 1);
    assert_int_equal(rec.since_us, 2000);
    assert_true(str_eq(str_n(rec.url, rec.url_len), STR("GET /x?y=1")));

    scoreboard_set(board, 3, SCOREBOARD_IDLE, 3000);
    assert_true(scoreboard_get(board, 3, &rec));
    assert_int_equal(rec.state, SCOREBOARD_IDLE);
    assert_int_equal(rec.since_us, 3000);
    assert_int_equal(rec.requests, 1);
    assert_int_equal(rec.busy_us, 1000);

    scoreboard_begin(board, 3, STR("GET"), STR("/"), 5000);
    scoreboard_set(board, 3, SCOREBOARD_RUNNING, 5300);
    scoreboard_set(board, 3, SCOREBOARD_IDLE, 5500);
    assert_true(scoreboard_get(board, 3, &rec));
    assert_int_equal(rec.busy_us, 1500);
}

static void a_long_url_is_cut(void **state)
{
    (void)state;
    char url[2 * SCOREBOARD_URL_MAX];
    struct scoreboard_record rec;
    memset(url, 'u', sizeof url);
    scoreboard_begin(board, 0, STR("GET"), str_n(url, sizeof url), 1);
    assert_true(scoreboard_get(board, 0, &rec));
    assert_int_equal(rec.url_len, SCOREBOARD_URL_MAX);
    assert_memory_equal(rec.url, "GET uuuu", 8);
    scoreboard_begin(board, 0, str_n(url, sizeof url), STR("/"), 1);
    assert_true(scoreboard_get(board, 0, &rec));
    assert_int_equal(rec.url_len, SCOREBOARD_URL_MAX);
}

static void rubbish_is_bounded(void **state)
{
    (void)state;
    struct scoreboard_record rec;
    memset(&board[5], 0xfe, sizeof board[5]); // an even sequence
    assert_true(scoreboard_get(board, 5, &rec));
    assert_int_equal(rec.state, SCOREBOARD_FREE);
    assert_int_equal(rec.url_len, SCOREBOARD_URL_MAX);
    assert_false(scoreboard_get(board, SCOREBOARD_RECORDS_MAX, &rec));
}

static void a_writer_that_died_inside_is_noticed_and_replaced(void **state)
{
    (void)state;
    struct scoreboard_record rec = {.pid = 42};
    atomic_store(&board[6].sequence, 9);
    assert_false(scoreboard_get(board, 6, &rec));
    assert_int_equal(rec.pid, 42);
    scoreboard_reset(board, 6, 1, 2, 3, 4);
    assert_true(scoreboard_get(board, 6, &rec));
    assert_int_equal(rec.pid, 2);
}

static void states_have_words(void **state)
{
    (void)state;
    assert_string_equal(scoreboard_state_text(SCOREBOARD_IDLE), "idle");
    assert_string_equal(scoreboard_state_text(SCOREBOARD_LEAVING), "leaving");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_shows_its_life),
        cmocka_unit_test(a_long_url_is_cut),
        cmocka_unit_test(rubbish_is_bounded),
        cmocka_unit_test(a_writer_that_died_inside_is_noticed_and_replaced),
        cmocka_unit_test(states_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
