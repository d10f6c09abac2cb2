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
        {"Range: bytes=0-5,4-9", 200, "0123456789", ""}, // more than all
        {"Range: bytes=20-,4-5", 206, "45", "bytes 4-5/10"},
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

static void several_ranges_are_parts(void **state)
{
    (void)state;
    static const char *const PATHS[] = {"/a.html", "/large.bin"};
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        struct ask a;
        char expected[1024];
        assert_int_equal(ask(&a, &stage, PATHS[i], "Range: bytes=0-1,-2"), 206);
        assert_string_equal(ask_header(&a, "Content-Range"), "");
        struct str type = str_c(ask_header(&a, "Content-Type"));
        assert_true(str_starts(type, STR("multipart/byteranges; boundary=")));
        char boundary[64];
        (void)snprintf(boundary, sizeof boundary, "%s", type.ptr + str_rfind(type, '=') + 1);
        bool is_large = i == 1;
        const char *part_type = is_large ? "application/octet-stream" : "text/html; charset=utf-8";
        (void)snprintf(expected, sizeof expected,
                       "--%s\r\nContent-Type: %s\r\nContent-Range: bytes 0-1/%s\r\n\r\n%s"
                       "\r\n--%s\r\nContent-Type: %s\r\nContent-Range: bytes %s\r\n\r\n%s"
                       "\r\n--%s--\r\n",
                       boundary, part_type, is_large ? "100000" : "10", is_large ? "ll" : "01",
                       boundary, part_type, is_large ? "99998-99999/100000" : "8-9/10",
                       is_large ? "ll" : "89", boundary);
        assert_string_equal(ask_body(&a), expected);
        ask_done(&a);
    }
}

static void compressed_files_stand_in(void **state)
{
    (void)state;

    static const struct {
        const char *path, *headers, *body, *coding, *type;
        bool varies;
    } CASES[] = {
        {"/p.js", NULL, "plain", "", "text/javascript; charset=utf-8", true},
        {"/p.js", "Accept-Encoding: gzip", "as gzip", "gzip", "text/javascript; charset=utf-8",
         true},
        {"/p.js", "Accept-Encoding: gzip, br", "as br", "br", "text/javascript; charset=utf-8",
         true},
        {"/p.js", "Accept-Encoding: gzip;q=0.9, br;q=0.5", "as gzip", "gzip",
         "text/javascript; charset=utf-8", true},
        {"/p.js", "Accept-Encoding: gzip;q=0, zstd", "plain", "", "text/javascript; charset=utf-8",
         true},
        {"/p.js", "Accept-Encoding: identity, gzip;q=0.5", "plain", "",
         "text/javascript; charset=utf-8", true},
        {"/p.js", "Accept-Encoding: *", "as br", "br", "text/javascript; charset=utf-8", true},
        {"/p.js", "Accept-Encoding: gzip\nRange: bytes=3-", "gzip", "gzip",
         "text/javascript; charset=utf-8", true},
        {"/a.html", "Accept-Encoding: gzip", "0123456789", "", "text/html; charset=utf-8", false},
        {"/p.js.gz", "Accept-Encoding: gzip", "as gzip", "", "application/gzip", false},
    };

    stage_config(&stage, "file_check 0; precompressed br zstd gzip; site _ { root $D; }");
    stage_file(&stage, "p.js", "plain");
    stage_file(&stage, "p.js.gz", "as gzip");
    stage_file(&stage, "p.js.br", "as br");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        (void)ask(&a, &stage, CASES[i].path, CASES[i].headers);
        if (strcmp(ask_body(&a), CASES[i].body) != 0)
            fail_msg("case %zu: %s", i, ask_body(&a));
        assert_string_equal(ask_header(&a, "Content-Encoding"), CASES[i].coding);
        assert_string_equal(ask_header(&a, "Content-Type"), CASES[i].type);
        assert_string_equal(ask_header(&a, "Vary"), CASES[i].varies ? "Accept-Encoding" : "");
        ask_done(&a);
    }
}

static void each_coding_has_its_tag(void **state)
{
    (void)state;
    stage_config(&stage, "precompressed gzip; site _ { root $D; }");
    stage_file(&stage, "t.css", "plain");
    stage_file(&stage, "t.css.gz", "as gzip");
    struct ask a;
    char plain[128];
    assert_int_equal(ask(&a, &stage, "/t.css", NULL), 200);
    (void)snprintf(plain, sizeof plain, "If-None-Match: %s", ask_header(&a, "ETag"));
    ask_done(&a);
    assert_int_equal(ask(&a, &stage, "/t.css", plain), 304);
    assert_string_equal(ask_header(&a, "Vary"), "Accept-Encoding");
    ask_done(&a);
    char zipped[256];
    (void)snprintf(zipped, sizeof zipped, "%s\nAccept-Encoding: gzip", plain);
    assert_int_equal(ask(&a, &stage, "/t.css", zipped), 200);
    ask_done(&a);
}

static void types_can_be_said(void **state)
{
    (void)state;

    static const struct {
        const char *config, *path, *type;
    } CASES[] = {
        {"mime .HTML application/x-own;", "/a.html", "application/x-own"},
        {"mime html text/x-own;", "/a.html", "text/x-own; charset=utf-8"},
        {"mime html \"text/x-own;charset=x\";", "/a.html", "text/x-own;charset=x"},
        {"mime html text/x-own; charset koi8-r;", "/a.html", "text/x-own; charset=koi8-r"},
        {"charset off;", "/a.html", "text/html"},
        {"charset off;", "/large.bin", "application/octet-stream"},
        {"charset latin1;", "/large.bin", "application/octet-stream"},
        {"charset latin1;", "/sub/s.js", "text/javascript; charset=latin1"},
        {"mime js text/x-js; path /sub { mime css a/b; }", "/sub/s.js", "text/x-js; charset=utf-8"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char config[256];
        (void)snprintf(config, sizeof config, "site _ { root $D; %s }", CASES[i].config);
        stage_config(&stage, config);
        struct ask a;
        assert_int_equal(ask(&a, &stage, CASES[i].path, NULL), 200);
        assert_string_equal(ask_header(&a, "Content-Type"), CASES[i].type);
        ask_done(&a);
    }
}

static void large_files_stay_open(void **state)
{
    (void)state;
    static char large[LARGE_BYTES + 1];
    memset(large, 'g', LARGE_BYTES);

    // Removed behind our back: only who has it open still has it.
    static const struct {
        const char *config;
        int status;
    } CASES[] = {
        {"file_check 1h; file_cache_open 8; site _ { root $D; }", 200},
        {"file_check 1h; file_cache_open 0; site _ { root $D; }", 404},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char name[32];
        char full[256];
        struct ask a;
        (void)snprintf(name, sizeof name, "/held-%zu.bin", i);
        (void)snprintf(full, sizeof full, "%s%s", stage.dir, name);
        stage_config(&stage, CASES[i].config);
        stage_file(&stage, name + 1, large);
        assert_int_equal(ask(&a, &stage, name, NULL), 200);
        ask_done(&a);
        assert_int_equal(unlink(full), 0);
        assert_int_equal(ask(&a, &stage, name, NULL), CASES[i].status);
        if (CASES[i].status == 200)
            assert_int_equal(buf_len(&a.body), LARGE_BYTES);
        ask_done(&a);
    }
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void open_files_are_bounded(void **state)
{
    (void)state;
    static char large[LARGE_BYTES + 1];
    memset(large, 'b', LARGE_BYTES);
    stage_config(&stage, "file_check 1h; file_cache_open 3; site _ { root $D; }");
    unsigned before = 0;
    for (int i = 0; i < 12; i++) {
        char name[32];
        struct ask a;
        (void)snprintf(name, sizeof name, "/bound-%d.bin", i);
        stage_file(&stage, name + 1, large);
        assert_int_equal(ask(&a, &stage, name, NULL), 200);
        ask_done(&a);
        if (i == 3)
            before = open_descriptors();
    }
    assert_int_equal(open_descriptors(), before);
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

// Clocks of other machines: Last-Modified is not later than now, and neither is what is asked by it
// taken for what is there.
static void no_change_is_to_come(void **state)
{
    (void)state;
    stage_config(&stage, "file_check 0; site _ { root $D; }");
    stage_file(&stage, "future.html", "one");
    char full[256];
    (void)snprintf(full, sizeof full, "%s/future.html", stage.dir);
    int64_t now_s = loop_wall_us(stage.thread.loop) / 1000000;
    struct timespec times[2] = {{.tv_sec = now_s + 86400}, {.tv_sec = now_s + 86400}};
    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
    struct ask a;
    int64_t told_s;
    char since[128];
    assert_int_equal(ask(&a, &stage, "/future.html", NULL), 200);
    assert_true(date_parse(str_c(ask_header(&a, "Last-Modified")), now_s, &told_s));
    assert_true(told_s >= now_s && told_s < now_s + 3600);
    (void)snprintf(since, sizeof since, "If-Modified-Since: %s\n", ask_header(&a, "Last-Modified"));
    ask_done(&a);
    assert_int_equal(ask(&a, &stage, "/future.html", since), 200);
    ask_done(&a);
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
        cmocka_unit_test(files_have_heads),          cmocka_unit_test(conditions_and_ranges),
        cmocka_unit_test(several_ranges_are_parts),  cmocka_unit_test(ranges_of_large_files),
        cmocka_unit_test(other_things_are_refused),  cmocka_unit_test(directories_have_indexes),
        cmocka_unit_test(changed_files_are_seen),    cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(no_change_is_to_come),      cmocka_unit_test(kept_files_need_no_file),
        cmocka_unit_test(compressed_files_stand_in), cmocka_unit_test(each_coding_has_its_tag),
        cmocka_unit_test(types_can_be_said),         cmocka_unit_test(large_files_stay_open),
        cmocka_unit_test(open_files_are_bounded),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
