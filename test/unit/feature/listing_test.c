// SPDX-License-Identifier: Apache-2.0
// listing_test -- directories as pages: order, escapes, what is left out, pages in pieces.
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
#include "core/exchange.h"
#include "feature/listing.h"

#define TURNS_MAX 1000
#define MANY      3000

static struct stage stage;

static void get(struct ask *a, enum http_method method, const char *path)
{
    ask_begin(a, &stage, method, path, NULL);
    for (int i = 0; i < TURNS_MAX && !a->answered; i++)
        stage_turn(&stage, 100);
    ask_end(a);
    assert_true(a->answered);
}

// The names in the order of the page, with a blank between.
static const char *names_of(struct ask *a)
{
    static char names[1024];
    size_t len = 0;
    names[0] = '\0';
    for (const char *at = ask_body(a); (at = strstr(at, "href=\"./")) != NULL; at++) {
        const char *begin = strchr(at, '>') + 1;
        size_t count = strcspn(begin, "<");
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%.*s", len ? " " : "",
                                (int)count, begin);
    }
    return names;
}

static void entries_are_sorted(void **state)
{
    (void)state;

    static const struct {
        const char *query, *names;
    } CASES[] = {
        {"", "deep/ sub/ a b.txt c"},
        {"?sort=name&order=asc", "deep/ sub/ a b.txt c"},
        {"?order=desc", "sub/ deep/ c b.txt a"},
        {"?sort=size", "deep/ sub/ c a b.txt"},
        {"?sort=size&order=desc", "sub/ deep/ b.txt a c"},
        {"?sort=date", "deep/ sub/ b.txt a c"},
        {"?sort=nonsense&order=", "deep/ sub/ a b.txt c"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        char path[64];
        (void)snprintf(path, sizeof path, "/list/%s", CASES[i].query);
        get(&a, HTTP_GET, path);
        assert_int_equal(a.status, 200);
        assert_string_equal(names_of(&a), CASES[i].names);
        ask_done(&a);
    }
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct ask a;
    get(&a, HTTP_GET, "/odd/");
    assert_int_equal(a.status, 200);
    const char *page = ask_body(&a);
    assert_null(strstr(page, "<b>"));
    assert_non_null(strstr(page,
                           "<a href=\"./%3Cb%3E&amp;%22&#39;.txt\">&lt;b&gt;&amp;&quot;&#39;.txt"
                           "</a>"));
    assert_non_null(strstr(page, "<a href=\"./javascript:x\">javascript:x</a>"));
    assert_non_null(strstr(page, "<title>Index of /odd/</title>"));
    ask_done(&a);
}

static void only_what_may_be_listed(void **state)
{
    (void)state;

    static const struct {
        enum http_method method;
        const char *path;
        int status;
    } CASES[] = {
        {HTTP_GET, "/list/", 200},   {HTTP_HEAD, "/list/", 200}, {HTTP_POST, "/list/", 405},
        {HTTP_GET, "/list", 404},    {HTTP_GET, "/none/", 404},  {HTTP_GET, "/list/a", 404},
        {HTTP_GET, "/closed/", 404}, {HTTP_GET, "/.git/", 404},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        get(&a, CASES[i].method, CASES[i].path);
        if (a.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].path, a.status);
        ask_done(&a);
    }
}

static void large_directories_come_in_pieces(void **state)
{
    (void)state;
    struct ask a;
    get(&a, HTTP_GET, "/many/");
    size_t count = 0;
    struct str rest = buf_view(&a.body);
    assert_true(str_ends(rest, STR("</body></html>\n")));
    while (rest.len)
        count += str_starts(str_cut(&rest, '\n'), STR("<tr><td><a href=\"./"));
    assert_int_equal(count, MANY);
    ask_done(&a);
}

// What nobody would see is not made.
static void heads_have_no_rows(void **state)
{
    (void)state;
    struct ask a;
    get(&a, HTTP_HEAD, "/many/");
    assert_int_equal(a.status, 200);
    assert_string_equal(ask_header(&a, "Content-Type"), "text/html; charset=utf-8");
    assert_int_equal(buf_len(&a.body), 0);
    ask_done(&a);
}

static void clients_may_leave_at_any_time(void **state)
{
    (void)state;
    struct ask a;
    ask_begin(&a, &stage, HTTP_GET, "/many/", NULL);
    exchange_abort(a.ex);
    ask_end(&a);
    ask_done(&a);
    ask_begin(&a, &stage, HTTP_GET, "/many/", NULL);
    for (int i = 0; i < TURNS_MAX && !a.answered; i++)
        stage_turn(&stage, 100);
    struct body_chunk chunk;
    assert_int_equal(body_pull(a.ex->resp.body, 1, &chunk), BODY_DATA);
    exchange_abort(a.ex);
    ask_end(&a);
    ask_done(&a);
}

static void touch(const char *path, const char *content, int64_t when)
{
    char full[512];
    struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    stage_file(&stage, path, content);
    (void)snprintf(full, sizeof full, "%s/%s", stage.dir, path);
    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

static void make_link(const char *path, const char *target)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s/%s", stage.dir, path);
    assert_int_equal(symlink(target, full), 0);
}

// Neither name nor size nor date of what a link must not lead to.
static void links_are_listed_where_they_are_followed(void **state)
{
    (void)state;

    static const struct {
        const char *path, *names;
    } CASES[] = {
        {"/links/", "dir/ real/ outside own"},
        {"/owner/", "dir/ real/ outside own"}, // all of one owner
        {"/off/", "real/ own"},
        {"/off/real/", "own"},
        {"/linked/", "real/ own"}, // the root may be a link
    };

    make_link("links/dir", "../list");
    make_link("links/outside", "../list/b.txt");
    make_link("links/real/up", "../own");
    make_link("to-links", "links");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct ask a;
        get(&a, HTTP_GET, CASES[i].path);
        assert_int_equal(a.status, 200);
        assert_string_equal(names_of(&a), CASES[i].names);
        ask_done(&a);
    }
}

static int open_stage(void **state)
{
    static struct module *const MODULES[] = {&listing_module};
    (void)state;
    stage_open(&stage, MODULES, ARRAY_LEN(MODULES));
    touch("list/a", "22", 2000);
    touch("list/b.txt", "333", 1000);
    touch("list/c", "1", 3000);
    touch("list/.hidden", "", 1);
    touch("list/sub/x", "x", 1);
    touch("list/deep/x", "x", 1);
    char full[256];
    (void)snprintf(full, sizeof full, "%s/list/pipe", stage.dir);
    assert_int_equal(mkfifo(full, 0600), 0);
    (void)snprintf(full, sizeof full, "%s/list/broken", stage.dir);
    assert_int_equal(symlink("nowhere", full), 0);
    struct timespec same[2] = {{.tv_sec = 5}, {.tv_sec = 5}};
    (void)snprintf(full, sizeof full, "%s/list/sub", stage.dir);
    assert_int_equal(utimensat(AT_FDCWD, full, same, 0), 0);
    (void)snprintf(full, sizeof full, "%s/list/deep", stage.dir);
    assert_int_equal(utimensat(AT_FDCWD, full, same, 0), 0);
    touch("odd/<b>&\"'.txt", "", 1);
    touch("odd/javascript:x", "", 1);
    touch("closed/x", "", 1);
    touch("links/own", "", 1);
    touch("links/real/own", "", 1);
    touch(".git/x", "", 1);
    for (int i = 0; i < MANY; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "many/file-%05d", i);
        touch(name, "", i);
    }
    stage_config(&stage, "site _ { root $D; listing on; path /closed/ { listing off; }"
                         "path /off/ { root $D/links; symlinks off; }"
                         "path /linked/ { root $D/to-links; symlinks off; }"
                         "path /owner/ { root $D/links; symlinks owner; } }");
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
        cmocka_unit_test(entries_are_sorted),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(only_what_may_be_listed),
        cmocka_unit_test(links_are_listed_where_they_are_followed),
        cmocka_unit_test(large_directories_come_in_pieces),
        cmocka_unit_test(heads_have_no_rows),
        cmocka_unit_test(clients_may_leave_at_any_time),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
