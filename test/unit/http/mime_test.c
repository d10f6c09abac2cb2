// SPDX-License-Identifier: Apache-2.0
// mime_test -- types of file names.
#include "http/mime.h"

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "support/guard.h"

static void names_have_types(void **state)
{
    (void)state;

    static const struct mime_case {
        struct str name;
        const char *type; // NULL: unknown
    } CASES[] = {
        {STR_INIT("index.html"), "text/html"},
        {STR_INIT("/a.b/STYLE.CSS"), "text/css"},
        {STR_INIT("a.min.js"), "text/javascript"},
        {STR_INIT("m.mjs"), "text/javascript"},
        {STR_INIT("x.json"), "application/json"},
        {STR_INIT("x.svg"), "image/svg+xml"},
        {STR_INIT("x.woff2"), "font/woff2"},
        {STR_INIT("x.wasm"), "application/wasm"},
        {STR_INIT("x.avif"), "image/avif"},
        {STR_INIT("x.3gp"), "video/3gpp"},                  // first row
        {STR_INIT("x.zst"), "application/zstd"},            // last row
        {STR_INIT("x.123"), "application/vnd.lotus-1-2-3"}, // of Debian's table: the first row
        {STR_INIT("x.zone"), "text/dns"},                   // and the last
        {STR_INIT("X.SH"), "application/x-sh"},
        {STR_INIT("x.py"), "text/x-python"},
        {STR_INIT("x.zmm"), "application/vnd.HandHeld-Entertainment+xml"},
        {STR_INIT(".html"), "text/html"},
        {STR_INIT("html"), NULL},
        {STR_INIT("a.html/b"), NULL},
        {STR_INIT("a."), NULL},
        {STR_INIT(""), NULL},
        {STR_INIT("a.unknown"), NULL},
        {STR_INIT("a.extensionwithseventeen"), NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct str type = mime_find(guard_copy(CASES[i].name));
        if (!str_eq(type, str_c(CASES[i].type)))
            fail_msg("%.*s: %.*s", STR_ARG(CASES[i].name), STR_ARG(type));
    }
}

// The search needs the rows in order: a name that is out of order would not find its type.
static void each_extension_in_use_is_found(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        ".7z",   ".aac",   ".apng",  ".atom", ".avi",  ".avif", ".bin",  ".bmp",  ".bz2",  ".cjs",
        ".css",  ".csv",   ".cur",   ".deb",  ".doc",  ".docx", ".eot",  ".epub", ".flac", ".gif",
        ".glb",  ".gz",    ".heic",  ".htm",  ".ico",  ".ics",  ".iso",  ".jar",  ".jpe",  ".jpeg",
        ".jpg",  ".js",    ".json",  ".jxl",  ".kml",  ".log",  ".m3u8", ".m4a",  ".m4v",  ".map",
        ".md",   ".mid",   ".mjs",   ".mkv",  ".mov",  ".mp3",  ".mp4",  ".mpd",  ".mpeg", ".odt",
        ".oga",  ".ogg",   ".ogv",   ".opus", ".otf",  ".pdf",  ".png",  ".ppt",  ".pptx", ".ps",
        ".rar",  ".rss",   ".rtf",   ".sql",  ".svg",  ".svgz", ".tar",  ".tgz",  ".tif",  ".tiff",
        ".toml", ".ts",    ".ttf",   ".txt",  ".vcf",  ".vtt",  ".wasm", ".wav",  ".webm", ".webp",
        ".woff", ".woff2", ".xhtml", ".xls",  ".xlsx", ".xml",  ".xsl",  ".xz",   ".yaml", ".zip",
    };
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (!mime_find(str_c(NAMES[i])).len)
            fail_msg("%s", NAMES[i]);
}

static void text_has_a_charset(void **state)
{
    (void)state;
    assert_true(str_eq(mime_content_type(STR("a.html")), STR("text/html; charset=utf-8")));
    assert_true(str_eq(mime_content_type(STR("a.js")), STR("text/javascript; charset=utf-8")));
    assert_true(str_eq(mime_content_type(STR("a.png")), STR("image/png")));
    assert_true(str_eq(mime_content_type(STR("a.py")), STR("text/x-python; charset=utf-8")));
    assert_true(str_eq(mime_content_type(STR("a.json")), STR("application/json")));
    assert_true(str_eq(mime_content_type(STR("a")), STR("application/octet-stream")));
}

static void what_is_text_inside_is_compressible(void **state)
{
    (void)state;
    assert_true(mime_is_compressible(STR("text/html; charset=utf-8")));
    assert_true(mime_is_compressible(STR("Application/JSON")));
    assert_true(mime_is_compressible(STR("image/svg+xml")));
    assert_true(mime_is_compressible(STR("application/ld+json ;x=y")));
    assert_false(mime_is_compressible(STR("text/event-stream")));
    assert_false(mime_is_compressible(STR("image/png")));
    assert_false(mime_is_compressible(STR("font/woff2")));
    assert_false(mime_is_compressible(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_types),
        cmocka_unit_test(each_extension_in_use_is_found),
        cmocka_unit_test(text_has_a_charset),
        cmocka_unit_test(what_is_text_inside_is_compressible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
