// SPDX-License-Identifier: Apache-2.0
// static_test -- files as answers: heads, conditions, ranges, methods, what is refused; index files
// and redirects.
#include <fcntl.h>
#include <stdio.h>
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

#include "../core/ask.h"
#include "base/compiler.h"
#include "feature/index.h"
#include "feature/static.h"
#include "http/date.h"

#define LARGE_BYTES ((size_t)100000) // more than is kept in memory

static struct stage stage;
static char etag[128];
static const char *const MODIFIED = "Sun, 06 Nov 1994 08:49:37 GMT";

static void date_back(const char *path)
{
    char full[256];
    int64_t when;
    assert_true(date_parse(str_c(MODIFIED), 0, &when));
    (void)snprintf(full, sizeof full, "%s/%s", stage.dir, path);
    struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

static void files_have_heads(void **state)
{
    (void)state;

    static const struct {
        const char *path, *type;
        size_t len;
    } CASES[] = {
        {"/a.html", "text/html; charset=utf-8", 10},
        {"/large.bin", NULL, LARGE_BYTES},
        {"/empty.css", "text/css; charset=utf-8", 0},
        {"/sub/s.js", NULL, 3},
    };

    // The second time from memory, where it is small enough.
    for (size_t i = 0; i < 2 * ARRAY_LEN(CASES); i++) {
        size_t at = i % ARRAY_LEN(CASES);
        struct ask a;
        assert_int_equal(ask(&a, &stage, CASES[at].path, NULL), 200);
        assert_int_equal(buf_len(&a.body), CASES[at].len);
        assert_string_equal(ask_header(&a, "Last-Modified"), MODIFIED);
        assert_string_equal(ask_header(&a, "Accept-Ranges"), "bytes");
        assert_int_equal(ask_header(&a, "ETag")[0], '"');
        if (CASES[at].type)
            assert_string_equal(ask_header(&a, "Content-Type"), CASES[at].type);
        ask_done(&a);
    }
}

static void conditions_and_ranges(void **state)
{
    (void)state;

    static const struct {
        const char *headers; // %s: the entity tag
        int status;
        const char *body, *content_range;
    } CASES[] = {
        {"If-None-Match: %s", 304, "", ""},
        {"If-None-Match: W/%s", 304, "", ""},
        {"If-None-Match: \"x\", %s", 304, "", ""},
        {"If-None-Match: *", 304, "", ""},
        {"If-None-Match: \"x\"", 200, "0123456789", ""},
        {"If-Match: %s", 200, "0123456789", ""},
        {"If-Match: \"x\"", 412, NULL, ""},
        {"If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 304, "", ""},
        {"If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 200, "0123456789", ""},
        {"If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 412, NULL, ""},
        {"If-None-Match: \"x\"\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 200,
         "0123456789", ""},
        {"Range: bytes=0-3", 206, "0123", "bytes 0-3/10"},
        {"Range: bytes=7-", 206, "789", "bytes 7-9/10"},
        {"Range: bytes=-2", 206, "89", "bytes 8-9/10"},
        {"Range: bytes=5-100", 206, "56789", "bytes 5-9/10"},
        {"Range: bytes=10-", 416, NULL, "bytes */10"},
        {"Range: bytes=x", 200, "0123456789", ""},
        {"Range: lines=1-2", 200, "0123456789", ""},
        {"Range: bytes=0-1,4-5", 200, "0123456789", ""},
        {"Range: bytes=0-3\nIf-Range: %s", 206, "0123", "bytes 0-3/10"},
        {"Range: bytes=0-3\nIf-Range: \"x\"", 200, "0123456789", ""},
        {"Range: bytes=0-3\nIf-None-Match: %s", 304, "", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char headers[512] = "";
        struct str rest = str_c(CASES[i].headers);
        struct str before = str_cut(&rest, '%');
        bool has_tag = rest.ptr != NULL;
        (void)snprintf(headers, sizeof headers, "%.*s%s%.*s", STR_ARG(before), has_tag ? etag : "",
                       STR_ARG(str_skip(rest, has_tag ? 1 : 0)));
        struct ask a;
        if (ask(&a, &stage, "/a.html", headers) != CASES[i].status)
            fail_msg("%s: %d", headers, a.status);
        if (CASES[i].body)
            assert_string_equal(ask_body(&a), CASES[i].body);
        assert_string_equal(ask_header(&a, "Content-Range"), CASES[i].content_range);
        if (a.status == 304)
            assert_string_equal(ask_header(&a, "ETag"), etag);
        ask_done(&a);
    }
}

static void ranges_of_large_files(void **state)
{
    (void)state;
    struct ask a;
    assert_int_equal(ask(&a, &stage, "/large.bin", "Range: bytes=99990-"), 206);
    assert_string_equal(ask_body(&a), "llllllllll");
    ask_done(&a);
}

static void other_things_are_refused(void **state)
{
    (void)state;

    static const struct {
        enum http_method method;
        const char *path;
        int status;
    } CASES[] = {
        {HTTP_POST, "/a.html", 405},  {HTTP_DELETE, "/a.html", 405}, {HTTP_OPTIONS, "/a.html", 405},
        {HTTP_GET, "/none", 404},     {HTTP_POST, "/none", 404},     {HTTP_GET, "/.secret", 403},
        {HTTP_GET, "/a.html/x", 404}, {HTTP_GET, "/code.php", 403},  {HTTP_GET, "/code.PHP", 403},
        {HTTP_GET, "/bare/", 403},    {HTTP_GET, "/only-php/", 403},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        ask_begin(&a, &stage, CASES[i].method, CASES[i].path, NULL);
        ask_end(&a);
        if (a.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].path, a.status);
        if (a.status == 405)
            assert_string_equal(ask_header(&a, "Allow"), "GET, HEAD");
        ask_done(&a);
    }
}

static void directories_have_indexes(void **state)
{
    (void)state;

    static const struct {
        enum http_method method;
        const char *path;
        int status;
        const char *location, *body;
    } CASES[] = {
        {HTTP_GET, "/", 200, "", "home"},
        {HTTP_GET, "/sub/", 200, "", "second"},
        {HTTP_GET, "/sub", 301, "/sub/", NULL},
        {HTTP_HEAD, "/sub", 301, "/sub/", NULL},
        {HTTP_POST, "/sub", 308, "/sub/", NULL},
        {HTTP_GET, "/sub?a=1&b=/", 301, "/sub/?a=1&b=/", NULL},
        {HTTP_GET, "/sub?", 301, "/sub/?", NULL},
        {HTTP_GET, "//sub", 301, "/sub/", NULL},
        {HTTP_GET, "/a b", 301, "/a%20b/", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        ask_begin(&a, &stage, CASES[i].method, CASES[i].path, NULL);
        ask_end(&a);
        if (a.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].path, a.status);
        assert_string_equal(ask_header(&a, "Location"), CASES[i].location);
        if (CASES[i].body)
            assert_string_equal(ask_body(&a), CASES[i].body);
        ask_done(&a);
    }
}

static void changed_files_are_seen(void **state)
{
    (void)state;
    stage_config(&stage, "file_check 0; site _ { root $D; index i.html j.html; }");

    static const char *const CONTENTS[] = {"first", "other", "longer than before"};

    for (size_t i = 0; i < ARRAY_LEN(CONTENTS); i++) {
        struct ask a;
        stage_file(&stage, "change.html", CONTENTS[i]);
        // Twice: the second answer may come from memory.
        for (int turn = 0; turn < 2; turn++) {
            assert_int_equal(ask(&a, &stage, "/change.html", NULL), 200);
            assert_string_equal(ask_body(&a), CONTENTS[i]);
            ask_done(&a);
        }
    }
}

static void memory_is_bounded(void **state)
{
    (void)state;
    stage_config(&stage, "file_cache 20k; file_check 1h; site _ { root $D; }");
    static char content[8001];
    memset(content, 'x', sizeof content - 1);
    unsigned kept = 0;
    // First they are read; then they are gone, and what still comes is what was kept.
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 10; i++) {
            char path[32];
            char full[256];
            struct ask a;
            (void)snprintf(path, sizeof path, "/many-%d.txt", i);
            (void)snprintf(full, sizeof full, "%s%s", stage.dir, path);
            if (turn == 0) {
                stage_file(&stage, path + 1, content);
                date_back(path + 1);
            }
            int status = ask(&a, &stage, path, NULL);
            ask_done(&a);
            if (turn == 0) {
                assert_int_equal(status, 200);
                assert_int_equal(unlink(full), 0);
            }
            kept += turn == 1 && status == 200;
        }
    }
    assert_int_equal(kept, 2);
}

static void kept_files_need_no_file(void **state)
{
    (void)state;
    stage_config(&stage, "file_check 1h; site _ { root $D; }");
    stage_file(&stage, "gone.txt", "still here");
    date_back("gone.txt");
    char full[256];
    struct ask a;
    assert_int_equal(ask(&a, &stage, "/gone.txt", NULL), 200);
    ask_done(&a);
    (void)snprintf(full, sizeof full, "%s/gone.txt", stage.dir);
    assert_int_equal(unlink(full), 0);
    assert_int_equal(ask(&a, &stage, "/gone.txt", NULL), 200);
    assert_string_equal(ask_body(&a), "still here");
    ask_done(&a);
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&index_module, &static_module};
    static const char *const FILES[][2] = {
        {"a.html", "0123456789"}, {"i.html", "home"},  {"sub/j.html", "second"},
        {"sub/s.js", "1+1"},      {"empty.css", ""},   {".secret", "s"},
        {"code.php", "<?php"},    {"code.PHP", "<?"},  {"bare/x", "x"},
        {"a b/i.html", "x"},      {"only-php/x", "x"},
    };
    static char large[LARGE_BYTES + 1];
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    memset(large, 'l', LARGE_BYTES);
    stage_file(&stage, "large.bin", large);
    date_back("large.bin");
    for (size_t i = 0; i < ARRAY_LEN(FILES); i++) {
        stage_file(&stage, FILES[i][0], FILES[i][1]);
        date_back(FILES[i][0]);
    }
    stage_config(&stage, "site _ { root $D; index i.html j.html; }");
    struct ask a;
    assert_int_equal(ask(&a, &stage, "/a.html", NULL), 200);
    (void)snprintf(etag, sizeof etag, "%s", ask_header(&a, "ETag"));
    ask_done(&a);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    stage_close(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_heads),         cmocka_unit_test(conditions_and_ranges),
        cmocka_unit_test(ranges_of_large_files),    cmocka_unit_test(other_things_are_refused),
        cmocka_unit_test(directories_have_indexes), cmocka_unit_test(changed_files_are_seen),
        cmocka_unit_test(memory_is_bounded),        cmocka_unit_test(kept_files_need_no_file),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
