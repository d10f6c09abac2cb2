// SPDX-License-Identifier: Apache-2.0
// loss_test -- a sink on a full device, then on a file: what is told, and how often.
#include "log/loss.h"

#include <errno.h>
#include <fcntl.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "os/file.h"

static struct loss loss;

static void write_lines(struct sink *s, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(sink_write(s, STR("line")));
    sink_flush(s);
}

static void look(struct sink *s, uint64_t second, enum loss_news news, uint64_t new_lines,
                 uint64_t untold)
{
    struct sink_losses losses = sink_losses(s);
    uint64_t got_new = 0;
    uint64_t got_untold = 0;
    assert_int_equal(loss_look(&loss, &losses, second * 1000000, &got_new, &got_untold), news);
    assert_int_equal(got_new, new_lines);
    if (news != LOSS_NOTHING)
        assert_int_equal(got_untold, untold);
}

static void losses_are_told_once_a_minute_and_so_is_their_end(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    struct sink *s = sink_new(full);
    loss = (struct loss){0};
    look(s, 1, LOSS_NOTHING, 0, 0);
    write_lines(s, 3);
    assert_int_equal(sink_losses(s).error, -ENOSPC);
    look(s, 2, LOSS_LINES, 3, 3);
    look(s, 3, LOSS_NOTHING, 0, 0); // nothing was written since, so it may still fail
    write_lines(s, 2);
    look(s, 61, LOSS_NOTHING, 2, 0);
    write_lines(s, 4);
    look(s, 62, LOSS_LINES, 4, 6);
    write_lines(s, 1);
    int file = file_unnamed("/tmp");
    assert_true(file >= 0);
    sink_swap(s, file);
    look(s, 63, LOSS_NOTHING, 1, 0);
    write_lines(s, 1);
    look(s, 64, LOSS_OVER, 0, 1);
    write_lines(s, 1);
    look(s, 500, LOSS_NOTHING, 0, 0);
    sink_free(s);
}

// Begins again within the minute: told when that is over, and the end only after that.
static void new_losses_wait_for_their_minute(void **state)
{
    (void)state;
    struct sink_losses losses = {.lines = 5};
    uint64_t new_lines;
    uint64_t untold;
    loss = (struct loss){0};
    assert_int_equal(loss_look(&loss, &losses, 1, &new_lines, &untold), LOSS_LINES);
    assert_int_equal(loss_look(&loss, &losses, 2, &new_lines, &untold), LOSS_OVER);
    assert_int_equal(untold, 0);
    losses.lines = 7;
    assert_int_equal(loss_look(&loss, &losses, 3, &new_lines, &untold), LOSS_NOTHING);
    assert_int_equal(new_lines, 2);
    assert_int_equal(loss_look(&loss, &losses, LOSS_PAUSE_US, &new_lines, &untold), LOSS_NOTHING);
    assert_int_equal(loss_look(&loss, &losses, LOSS_PAUSE_US + 1, &new_lines, &untold), LOSS_LINES);
    assert_int_equal(untold, 2);
    assert_int_equal(loss_look(&loss, &losses, LOSS_PAUSE_US + 2, &new_lines, &untold), LOSS_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_told_once_a_minute_and_so_is_their_end),
        cmocka_unit_test(new_losses_wait_for_their_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
