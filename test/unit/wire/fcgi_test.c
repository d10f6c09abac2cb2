// SPDX-License-Identifier: Apache-2.0
// fcgi_test -- FastCGI records, written and read, cut at every place.
#include "wire/fcgi.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define STDOUT_ABC "\1\6\0\1\0\3\5\0abc.....\1\6\0\1\0\0\0\0" // padded; then the stream's end
#define STDERR_NO  "\1\7\0\1\0\2\0\0no"
#define END        "\1\3\0\1\0\10\0\0\0\0\0\7\0\0\0\0"

static void a_request_is_written(void **state)
{
    (void)state;
    char room[FCGI_BEGIN_BYTES + FCGI_HEAD_BYTES];
    struct wr w = {.ptr = room, .size = sizeof room};
    fcgi_put_begin(&w);
    fcgi_put_head(&w, FCGI_STDIN, 0x1234);
    assert_true(wr_ok(&w));
    assert_memory_equal(room, "\1\1\0\1\0\10\0\0\0\1\0\0\0\0\0\0\1\5\0\1\x12\x34\0\0", sizeof room);
    w.len = 0;
    fcgi_put_head(&w, FCGI_GET_VALUES, 0);
    assert_memory_equal(room, "\1\11\0\0\0\0\0\0", FCGI_HEAD_BYTES);
}

static void lengths_have_two_forms(void **state)
{
    (void)state;
    char value[128];
    memset(value, 'v', sizeof value);
    struct buf out = {0};
    assert_true(fcgi_put_pair(&out, STR("ab"), str_n(value, 127)));
    assert_memory_equal(buf_view(&out).ptr, "\2\177abv", 5);
    buf_done(&out);
    assert_true(fcgi_put_pair(&out, STR("ab"), str_n(value, 128)));
    assert_memory_equal(buf_view(&out).ptr,
                        "\2\x80\0\0\x80"
                        "abv",
                        8);
    assert_int_equal(buf_len(&out), 5 + 2 + 128);
    buf_done(&out);
}

static void params_are_cut_into_records(void **state)
{
    (void)state;
    static char pairs[FCGI_CONTENT_MAX + 1];
    struct buf out = {0};
    assert_true(fcgi_put_params(&out, str_n(pairs, sizeof pairs)));
    assert_int_equal(buf_len(&out), sizeof pairs + 3 * FCGI_HEAD_BYTES);
    assert_memory_equal(buf_view(&out).ptr, "\1\4\0\1\xff\xff\0\0", FCGI_HEAD_BYTES);
    const char *rest = buf_view(&out).ptr + FCGI_HEAD_BYTES + FCGI_CONTENT_MAX;
    assert_memory_equal(rest, "\1\4\0\1\0\1\0\0\0\1\4\0\1\0\0\0\0", 2 * FCGI_HEAD_BYTES + 1);
    buf_done(&out);
    out.ceiling_bytes = 100;
    assert_false(fcgi_put_params(&out, str_n(pairs, 100)));
    buf_done(&out);
}

// What came of some bytes: "out", "err" and what ended it.
struct sum {
    char out[64], err[64];
    size_t out_len, err_len;
    const char *why;
    bool ended;
};

static void feed(struct fcgi_resp *p, struct str in, struct sum *s)
{
    while (!s->why) {
        struct fcgi_event e = fcgi_resp_next(p, &in);
        switch (e.type) {
        case FCGI_EVENT_AGAIN:
            assert_int_equal(in.len, 0);
            return;
        case FCGI_EVENT_STDOUT:
            memcpy(s->out + s->out_len, e.bytes.ptr, e.bytes.len);
            s->out_len += e.bytes.len;
            break;
        case FCGI_EVENT_STDERR:
            memcpy(s->err + s->err_len, e.bytes.ptr, e.bytes.len);
            s->err_len += e.bytes.len;
            break;
        case FCGI_EVENT_END:
            s->ended = true;
            break;
        case FCGI_EVENT_FAILED:
            s->why = e.why;
            break;
        }
    }
}

static void answers_are_read_at_every_cut(void **state)
{
    static const struct {
        struct str bytes;
        const char *out, *err, *why; // why: a word of it
        bool ended;
    } CASES[] = {
        {STR_INIT(STDOUT_ABC END), "abc", "", NULL, true},
        {STR_INIT(STDERR_NO STDOUT_ABC STDERR_NO END), "abc", "nono", NULL, true},
        {STR_INIT(STDOUT_ABC STDOUT_ABC), "abcabc", "", NULL, false},
        {STR_INIT(END "more, which is nothing"), "", "", "speak", true},
        {STR_INIT("HTTP/1.1 200 OK"), "", "", "speak", false},
        {STR_INIT("\1\6\0\2\0\0\0\0"), "", "", "another", false},
        {STR_INIT("\1\4\0\1\0\0\0\0"), "", "", "no answer", false},
        {STR_INIT("\1\3\0\1\0\7\0\0"), "", "", "length", false},
        {STR_INIT("\1\3\0\1\0\10\0\0\0\0\0\0\1\0\0\0"), "", "", "refused", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        for (size_t cut = 0; cut <= CASES[i].bytes.len; cut++) {
            struct fcgi_resp p = {0};
            struct sum s = {0};
            feed(&p, str_slice(CASES[i].bytes, 0, cut), &s);
            feed(&p, str_skip(CASES[i].bytes, cut), &s);
            assert_string_equal(s.out, CASES[i].out);
            assert_string_equal(s.err, CASES[i].err);
            assert_int_equal(s.ended, CASES[i].ended);
            assert_int_equal(s.why != NULL, CASES[i].why != NULL);
            if (s.why)
                assert_non_null(strstr(s.why, CASES[i].why));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_written),
        cmocka_unit_test(lengths_have_two_forms),
        cmocka_unit_test(params_are_cut_into_records),
        cmocka_unit_test(answers_are_read_at_every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
