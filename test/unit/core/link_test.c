// SPDX-License-Identifier: Apache-2.0
// link_test -- paths go back to the client as they came.
// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "core/link.h"

#include "base/compiler.h"
#include "core/exchange.h"

static void paths_go_back_as_they_came(void **state)
{
    (void)state;

    static const struct {
        const char *target, *path; // as sent; as the server has it
        size_t skip;
        const char *link;
    } CASES[] = {
        {"/a%20b/c", "/a b/c", 0, "/a%20b/c"},
        {"/a%20b/c", "/a b/c", 5, "c"},
        {"/a%2Fb", "/a%2Fb", 0, "/a%2Fb"},
        {"/a%2fb?q=%2F", "/a%2Fb", 0, "/a%2fb"},
        {"/a%252Fb", "/a%2Fb", 0, "/a%252Fb"},
        {"/a%252Fb%2Fc%25%2f", "/a%2Fb%2Fc%%2F", 0, "/a%252Fb%2Fc%25%2f"},
        {"/p%2F/x%252F%20%2F", "/p%2F/x%2F %2F", 6, "x%252F%20%2F"},
        {"//a//b%2F//", "/a/b%2F/", 0, "/a/b%2F/"},
        {"/x/../a/./%2e/b%2F", "/a/b%2F", 0, "/a/b%2F"},
        {"http://h.example/a%2Fb?q", "/a%2Fb", 0, "/a%2Fb"},
        {"/%0d%0a%2F%22", "/\r\n%2F\"", 0, "/%0D%0A%2F%22"},
        // With encoded_slash decode, what is left of "%2F" was text.
        {"/a%252Fb%2Fc", "/a%2Fb/c", 0, "/a%252Fb/c"},
        // A path that the server has put in place of another.
        {"/a%2Fb", "/new%2F", 0, "/new%252F"},
        {"/a%2Fb", "/a%2Fb/index.php", 0, "/a%252Fb/index.php"},
        {"/a%2Fb/c", "/a%2Fb", 0, "/a%252Fb"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct exchange ex = {0};
        struct buf out = {0};
        ex.req.method = HTTP_GET;
        ex.req.target = str_c(CASES[i].target);
        ex.req.path = str_c(CASES[i].path);
        assert_true(link_put_path(&ex, CASES[i].skip, &out));
        assert_true(buf_put(&out, str_n("", 1)));
        assert_string_equal(buf_view(&out).ptr, CASES[i].link);
        buf_done(&out);
        arena_done(&ex.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_go_back_as_they_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
