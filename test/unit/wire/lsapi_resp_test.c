// SPDX-License-Identifier: Apache-2.0
// lsapi_resp_test -- an app's answer gives the same events however it is cut; rubbish is refused.
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
#include "base/compiler.h"
#include "base/mem.h"
#include "guard.h"
#include "lsapi_example.h"
#include "wire/lsapi.h"

// The story of an answer as text: one word per event, runs of data joined.
struct story {
    struct lsapi_resp *parser;
    struct buf hold, text, log;
    bool in_data, in_log;
};

static void tell_head(struct story *s, const struct lsapi_event *event)
{
    struct lsapi_pair line;
    size_t at = 0;
    buf_fmt(&s->text, "head %d", event->status);
    while (lsapi_head_next(event->head, &at, &line))
        buf_fmt(&s->text, " [%.*s=%.*s]", STR_ARG(line.name), STR_ARG(line.value));
    buf_fmt(&s->text, "; ");
}

static void tell(struct story *s, const struct lsapi_event *event)
{
    bool data = event->type == LSAPI_EVENT_DATA, log = event->type == LSAPI_EVENT_STDERR;
    if ((s->in_data && !data) || (s->in_log && !log))
        buf_fmt(&s->text, "; ");
    if ((data && !s->in_data) || (log && !s->in_log))
        buf_fmt(&s->text, data ? "data " : "log ");
    s->in_data = data;
    s->in_log = log;
    switch (event->type) {
    case LSAPI_EVENT_AGAIN:
        return;
    case LSAPI_EVENT_RECEIVED:
        buf_fmt(&s->text, "received; ");
        return;
    case LSAPI_EVENT_PID:
        buf_fmt(&s->text, "pid %d; ", event->pid);
        return;
    case LSAPI_EVENT_HEAD:
        tell_head(s, event);
        return;
    case LSAPI_EVENT_DATA:
    case LSAPI_EVENT_STDERR:
        assert_true(event->bytes.len > 0);
        assert_true(buf_put(&s->text, event->bytes));
        return;
    case LSAPI_EVENT_END:
        buf_fmt(&s->text, "end; ");
        return;
    case LSAPI_EVENT_CLOSE:
        buf_fmt(&s->text, "close; ");
        return;
    case LSAPI_EVENT_FAILED:
        buf_fmt(&s->text, "failed: %s", event->why);
        return;
    }
}

// Feeds one piece; false once the parser has failed.
static bool feed(struct story *s, struct str piece)
{
    struct str in = guard_copy(piece);
    for (;;) {
        struct lsapi_event event = lsapi_resp_next(s->parser, &in);
        if (event.type == LSAPI_EVENT_AGAIN) {
            assert_int_equal(in.len, 0);
            return true;
        }
        tell(s, &event);
        if (event.type == LSAPI_EVENT_FAILED) {
            assert_int_equal(lsapi_resp_next(s->parser, &in).type, LSAPI_EVENT_FAILED);
            return false;
        }
    }
}

static void story_start(struct story *s)
{
    *s = (struct story){.parser = mem_alloc(lsapi_resp_size())};
    lsapi_resp_reset(s->parser, &s->hold);
}

static void story_check(struct story *s, const char *expected)
{
    struct lsapi_event nothing = {.type = LSAPI_EVENT_AGAIN};
    tell(s, &nothing);
    struct str text = buf_view(&s->text);
    if (!str_eq(text, str_c(expected)))
        fail_msg("got      %.*s\nexpected %s", STR_ARG(text), expected);
    mem_free(s->parser);
    buf_done(&s->hold);
    buf_done(&s->text);
}

// Feeds `bytes` whole, cut in two at every place, and byte by byte.
static void check(struct str bytes, const char *expected)
{
    struct story s;
    for (size_t cut = 0; cut <= bytes.len; cut++) {
        story_start(&s);
        if (feed(&s, str_slice(bytes, 0, cut)))
            feed(&s, str_skip(bytes, cut));
        story_check(&s, expected);
    }
    story_start(&s);
    for (size_t i = 0; i < bytes.len && feed(&s, str_slice(bytes, i, i + 1)); i++)
        continue;
    story_check(&s, expected);
}

static void the_worked_example_is_read(void **state)
{
    (void)state;
    check(str_n((const char *)LSAPI_EXAMPLE_ANSWER, sizeof LSAPI_EXAMPLE_ANSWER),
          "received; head 200 [Content-type=text/plain;charset=UTF-8]; data id=7\n; end; ");
}

#define HEAD0    "LS\3\0\x10\0\0\0\0\0\0\0\0\0\0\0"
#define END      "LS\5\0\x8\0\0\0"
#define CLOSE    "LS\x8\0\x8\0\0\0"
#define RECEIVED "LS\7\0\x8\0\0\0"

static const struct {
    struct str bytes;
    const char *story;
} CASES[] = {
    {STR_INIT(HEAD0 END), "head 0; end; "},
    {STR_INIT(HEAD0 END CLOSE), "head 0; end; close; "},
    {STR_INIT(HEAD0 CLOSE END), "head 0; close; end; "},
    {STR_INIT(CLOSE), "close; "},
    {STR_INIT(RECEIVED RECEIVED HEAD0 RECEIVED END RECEIVED),
     "received; received; head 0; received; end; received; "},
    // pid notice, and a log text of the same length
    {STR_INIT("LS\6\0\x10\0\0\0\0PID\x39\x30\0\0" HEAD0 END), "pid 12345; head 0; end; "},
    {STR_INIT("LS\6\0\x10\0\0\0eightchr" HEAD0 END), "log eightchr; head 0; end; "},
    {STR_INIT("LS\6\0\x0b\0\0\0abc" HEAD0 "LS\6\0\x0c\0\0\0warn" END),
     "log abc; head 0; log warn; end; "},
    // empty streams say nothing
    {STR_INIT(HEAD0 "LS\4\0\x8\0\0\0LS\4\0\xa\0\0\0hi" END), "head 0; data hi; end; "},
    // bare colon, spaces, no colon
    {STR_INIT("LS\3\0\x29\0\0\0\3\0\0\0\x94\1\0\0\4\0\7\0\x8\0X:y\0A: b \t\0nocolon\0"),
     "head 404 [X=y] [A=b] [=nocolon]; "},
    // the other byte order; then with a flag that hides it: the first length gives it away
    {STR_INIT("LS\3\1\0\0\0\x16\0\0\0\1\0\0\0\xc8\0\4X:y\0LS\4\1\0\0\0\x9zLS\5\1\0\0\0\x8"),
     "head 200 [X=y]; data z; end; "},
    {STR_INIT("LS\7\0\0\0\0\x8LS\3\0\0\0\0\x16\0\0\0\1\0\0\0\xc8\0\4X:y\0LS\4\0\0\0\0\x9z"),
     "received; head 200 [X=y]; data z; "},
    {STR_INIT("LS\7\1\x8\0\0\0LS\3\1\x16\0\0\0\1\0\0\0\xc8\0\0\0\4\0X:y\0LS\4\1\x9\0\0\0z"),
     "received; head 200 [X=y]; data z; "},

    {STR_INIT("XS\7\0\x8\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LX\7\0\x8\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LS\0\0\x8\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LS\1\0\x8\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LS\x0a\0\x8\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LS\7\0\7\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LS\7\0\x9\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LS\3\0\x0f\0\0\0"), "failed: malformed packet"},
    {STR_INIT("LS\3\0\1\0\4\0"), "failed: malformed packet"},
    {STR_INIT("LS\4\0\0\0\0\0"), "failed: malformed packet"},
    {STR_INIT(HEAD0 "LS\5\0\x9\0\0\0"), "head 0; failed: malformed packet"},
    {STR_INIT("LS\x9\0\x8\0\0\0"), "failed: the app reports an internal error"},
    {STR_INIT(END), "failed: end without a response head"},
    {STR_INIT("LS\4\0\x9\0\0\0x"), "failed: response body before its head"},
    {STR_INIT(HEAD0 HEAD0), "head 0; failed: second response head"},
    {STR_INIT(HEAD0 END HEAD0), "head 0; end; failed: packet after the end of the response"},
    {STR_INIT(HEAD0 END "LS\6\0\x10\0\0\0eightchr"),
     "head 0; end; failed: packet after the end of the response"},
    {STR_INIT("LS\3\0\x10\0\0\0\0\x10\0\0\0\0\0\0"), "failed: too many response headers"},
    {STR_INIT("LS\3\0\x10\0\0\0\1\0\0\0\0\0\0\0"), "failed: too many response headers"},
    {STR_INIT("LS\3\0\x10\0\0\0\xff\xff\xff\xff\0\0\0\0"), "failed: too many response headers"},
    {STR_INIT("LS\3\0\x10\0\0\0\0\0\0\0\x63\0\0\0"), "failed: status out of range"},
    {STR_INIT("LS\3\0\x10\0\0\0\0\0\0\0\xe8\3\0\0"), "failed: status out of range"},
    {STR_INIT("LS\3\0\x10\0\0\0\0\0\0\0\xff\xff\xff\xff"), "failed: status out of range"},
    {STR_INIT("LS\3\0\x16\0\0\0\1\0\0\0\0\0\0\0\4\0X:yz"), "failed: malformed response header"},
    {STR_INIT("LS\3\0\x16\0\0\0\1\0\0\0\0\0\0\0\0\0X:y\0"), "failed: malformed response header"},
    {STR_INIT("LS\3\0\x16\0\0\0\1\0\0\0\0\0\0\0\5\0X:y\0"), "failed: malformed response header"},
    {STR_INIT("LS\3\0\x17\0\0\0\1\0\0\0\0\0\0\0\4\0X:y\0\0"),
     "failed: response head of a wrong length"},
};

static void answers_give_their_story(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        check(CASES[i].bytes, CASES[i].story);
}

static void the_next_exchange_starts_clean_but_keeps_the_byte_order(void **state)
{
    (void)state;
    struct story s;
    story_start(&s);
    assert_true(feed(&s, STR("LS\7\0\0\0\0\x8LS\3\0\0\0\0\x10\0\0")));
    lsapi_resp_reset(s.parser, &s.hold);
    // 0x08000000 would be a fine length for a stream in our order
    assert_true(feed(&s, STR("LS\6\0\0\0\0\x9x")));
    story_check(&s, "received; log x; ");
}

static void a_large_head_is_collected(void **state)
{
    (void)state;
    static char packet[LSAPI_RESP_HEAD_BYTES_MAX];
    static struct lsapi_pair lines[LSAPI_RESP_HEADERS_MAX - 1];
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        lines[i] =
            (struct lsapi_pair){STR("Name"), STR("value of some forty letters, or near it..")};
    struct wr w = {.ptr = packet, .size = sizeof packet};
    assert_true(lsapi_put_head(&w, 200, lines, ARRAY_LEN(lines)));
    assert_true(w.len > 200000);
    struct lsapi_resp *parser = mem_alloc(lsapi_resp_size());
    struct buf hold = {0};
    lsapi_resp_reset(parser, &hold);
    struct str in = str_n(packet, w.len - 1);
    assert_int_equal(lsapi_resp_next(parser, &in).type, LSAPI_EVENT_AGAIN);
    in = str_n(packet + w.len - 1, 1);
    struct lsapi_event event = lsapi_resp_next(parser, &in);
    assert_int_equal(event.type, LSAPI_EVENT_HEAD);
    struct lsapi_pair line;
    size_t at = 0, count = 0;
    for (; lsapi_head_next(event.head, &at, &line); count++)
        assert_true(str_eq(line.value, lines[0].value));
    assert_int_equal(count, ARRAY_LEN(lines));
    mem_free(parser);
    buf_done(&hold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_is_read),
        cmocka_unit_test(answers_give_their_story),
        cmocka_unit_test(the_next_exchange_starts_clean_but_keeps_the_byte_order),
        cmocka_unit_test(a_large_head_is_collected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
