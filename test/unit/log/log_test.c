// SPDX-License-Identifier: Apache-2.0
// log_test -- one event is one line, in the form that was asked for; quoting keeps strangers out.
#include "log/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "log/sink.h"
#include "os/fd.h"

static int pipes[2];
static char line[16384];

static int set_up(void **state)
{
    (void)state;
    return fd_pipe(pipes);
}

static int tear_down(void **state)
{
    (void)state;
    fd_close(&pipes[0]);
    fd_close(&pipes[1]);
    return 0;
}

static const char *written(void)
{
    ssize_t got = fd_read(pipes[0], line, sizeof line - 1);
    assert_true(got > 0);
    line[got] = '\0';
    return line;
}

static void a_plain_line_has_time_level_event_and_scope(void **state)
{
    (void)state;

    static const struct {
        enum log_level level;
        const char *scope, *tail;
    } CASES[] = {
        {LOG_ERROR, "", " error server.died message 42\n"},
        {LOG_WARN, "app blog", " warn server.died [app blog] message 42\n"},
        {LOG_INFO, "req 6f3a", " info server.died [req 6f3a] message 42\n"},
    };

    log_init(LOG_INFO, LOG_PLAIN, pipes[1]);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        log_write(CASES[i].level, CASES[i].scope, "server.died", "message %d", 42);
        static const char SHAPE[] = "dddd-dd-ddTdd:dd:dd.dddZ";
        const char *text = written();
        for (size_t at = 0; at < sizeof SHAPE - 1; at++) {
            bool digit = text[at] >= '0' && text[at] <= '9';
            assert_true(SHAPE[at] == 'd' ? digit : text[at] == SHAPE[at]);
        }
        assert_string_equal(text + sizeof SHAPE - 1, CASES[i].tail);
    }
}

static void journald_gets_a_priority_and_no_time(void **state)
{
    (void)state;
    log_init(LOG_DEBUG, LOG_JOURNALD, pipes[1]);
    log_error("", "server.died", "a");
    log_warn("app x", "server.died", "b");
    log_info("", "server.died", "c");
    log_debug("", "server.died", "d");
    assert_string_equal(written(), "<3>server.died a\n<4>server.died [app x] b\n"
                                   "<6>server.died c\n<7>server.died d\n");
}

static void the_level_decides(void **state)
{
    (void)state;
    log_init(LOG_WARN, LOG_JOURNALD, pipes[1]);
    log_info("", "server.died", "hidden");
    log_set_level(LOG_INFO);
    log_info("", "server.died", "shown");
    assert_string_equal(written(), "<6>server.died shown\n");
    assert_int_equal(log_level_find(STR("error")), LOG_ERROR);
    assert_int_equal(log_level_find(STR("debug")), LOG_DEBUG);
    assert_int_equal(log_level_find(STR("Debug")), -1);
    assert_int_equal(log_level_find(STR("")), -1);
}

static void whatever_it_holds_it_is_one_line(void **state)
{
    (void)state;
    char text[20000];
    log_init(LOG_INFO, LOG_JOURNALD, pipes[1]);
    log_info("", "server.died", "a\nb\r\tc\x7f");
    assert_string_equal(written(), "<6>server.died a b  c \n");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_info("", "server.died", "%s", text);
    size_t len = strlen(written());
    assert_true(len > 8000 && len < 8193);
    assert_string_equal(line + len - 6, "xx...\n");
    assert_ptr_equal(memchr(line, '\n', len), line + len - 1);
}

static void lines_go_to_the_sink_while_there_is_one(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
    log_init(LOG_INFO, LOG_JOURNALD, pipes[1]);
    struct sink *sink = sink_new(pair[1]);
    log_to_sink(sink);
    log_info("", "server.died", "one");
    log_to_sink(NULL);
    sink_free(sink);
    log_info("", "server.died", "two");
    ssize_t got = fd_read(pair[0], line, sizeof line);
    assert_true(str_eq(str_n(line, (size_t)got), STR("<6>server.died one\n")));
    assert_string_equal(written(), "<6>server.died two\n");
    fd_close(&pair[0]);
}

static void lost_lines_are_told_when_there_is_room_again(void **state)
{
    (void)state;
    size_t kept_bytes = 0;
    log_init(LOG_INFO, LOG_JOURNALD, 2);
    // A full pipe from the start, so that the writer makes no room while we count.
    assert_int_equal(fd_set_nonblock(pipes[1], true), 0);
    ssize_t filled;
    while ((filled = fd_write(pipes[1], str_n(line, 4096))) > 0)
        kept_bytes += (size_t)filled;
    assert_int_equal(filled, -EAGAIN);
    struct sink *sink = sink_new(pipes[1]);
    pipes[1] = FD_NONE;
    log_to_sink(sink);
    static const char LINE[] = "<6>server.died filling\n";
    while (sink_dropped(sink) < 3) {
        uint64_t before = sink_dropped(sink);
        log_info("", "server.died", "filling");
        if (sink_dropped(sink) == before)
            kept_bytes += sizeof LINE - 1;
    }
    for (size_t left = kept_bytes; left > 0;) {
        ssize_t got = fd_read(pipes[0], line, left < sizeof line ? left : sizeof line);
        assert_true(got > 0);
        left -= (size_t)got;
    }
    log_info("", "server.died", "room again");
    log_info("", "server.died", "and more");
    log_to_sink(NULL);
    sink_free(sink);
    assert_string_equal(written(), "<6>server.died room again\n"
                                   "<4>log.dropped 3 lines of this log were lost\n"
                                   "<6>server.died and more\n");
}

static void quoted_text_is_printable_and_fits(void **state)
{
    (void)state;

    static const struct {
        struct str in;
        size_t size;
        const char *out;
    } CASES[] = {
        {STR_INIT(""), 6, "\"\""},
        {STR_INIT("abc"), 64, "\"abc\""},
        {STR_INIT("a\"b\\c"), 64, "\"a\\x22b\\x5cc\""},
        {STR_INIT("\n\0\x7f\x80\xff~ "), 64, "\"\\x0a\\x00\\x7f\\x80\\xff~ \""},
        {STR_INIT("abc"), 6, "\"abc\""},  // just fits
        {STR_INIT("abcd"), 6, "\"...\""}, // does not
        {STR_INIT("abcdefgh"), 10, "\"abcd...\""},
        {STR_INIT("abc\ndefg"), 10, "\"abc...\""}, // no half escapes
        {STR_INIT("\n"), 7, "\"\\x0a\""},
        {STR_INIT("\n"), 6, "\"...\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char room[65];
        memset(room, '#', sizeof room);
        assert_string_equal(log_quote(CASES[i].in, room, CASES[i].size), CASES[i].out);
        assert_int_equal(room[CASES[i].size], '#');
    }
}

static void events_have_names_and_meanings_in_order(void **state)
{
    (void)state;
    const struct log_event *event;
    const char *last = "";
    for (size_t i = 0; (event = log_event_at(i)) != NULL; i++) {
        assert_true(strcmp(last, event->name) < 0);
        assert_non_null(strchr(event->name, '.'));
        assert_true(strlen(event->meaning) > 10);
        last = event->name;
    }
    assert_string_not_equal(last, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_plain_line_has_time_level_event_and_scope, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(journald_gets_a_priority_and_no_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_level_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whatever_it_holds_it_is_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_go_to_the_sink_while_there_is_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lost_lines_are_told_when_there_is_room_again, set_up,
                                        tear_down),
        cmocka_unit_test(quoted_text_is_printable_and_fits),
        cmocka_unit_test(events_have_names_and_meanings_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
