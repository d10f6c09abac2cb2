// SPDX-License-Identifier: Apache-2.0
// cgi_env_test -- the variables are those of Apache's mod_php; no header can pose as another one.
#include "backend/cgi_env.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

static struct exchange ex;
static struct peer peer;
static struct cgi_env_script script;
static struct cgi_env env;

static int reset(void **state)
{
    (void)state;
    arena_done(&ex.arena);
    ex = (struct exchange){.peer = &peer};
    ex.req.headers.arena = &ex.arena;
    ex.req.version = 11;
    ex.req.method_text = STR("GET");
    ex.req.target = STR("/w/index.php/A%20B?x=1");
    ex.req.query = STR("x=1");
    ex.req.host = STR("wiki.example");
    peer = (struct peer){.ip = "192.0.2.7", .local_ip = "192.0.2.1", .port = 4711};
    peer.local_port = 8080;
    script = (struct cgi_env_script){
        .document_root = STR("/srv/www"),
        .file = STR("/srv/www/w/index.php"),
        .name = STR("/w/index.php"),
        .path_info = STR("/A B"),
    };
    return 0;
}

static void make(void)
{
    cgi_env_make(&ex, &script, -1, &env);
}

static void assert_var(const char *name, const char *value)
{
    struct str found = cgi_env_find(&env, str_c(name));
    if (!str_eq(found, str_c(value)))
        fail_msg("%s is \"%.*s\", not \"%s\"", name, STR_ARG(found), value);
}

static bool has_var(const char *name)
{
    for (size_t i = 0; i < env.var_count; i++)
        if (str_eq(env.vars[i].name, str_c(name)))
            return true;
    return false;
}

static void an_ordinary_request(void **state)
{
    (void)state;
    static const char *const WANTED[][2] = {
        {"GATEWAY_INTERFACE", "CGI/1.1"},
        {"SERVER_SOFTWARE", "godwit"},
        {"SERVER_NAME", "wiki.example"},
        {"SERVER_ADDR", "192.0.2.1"},
        {"SERVER_PORT", "8080"},
        {"REMOTE_ADDR", "192.0.2.7"},
        {"REMOTE_PORT", "4711"},
        {"DOCUMENT_ROOT", "/srv/www"},
        {"REQUEST_METHOD", "GET"},
        {"REQUEST_URI", "/w/index.php/A%20B?x=1"},
        {"QUERY_STRING", "x=1"},
        {"SCRIPT_NAME", "/w/index.php"},
        {"SCRIPT_FILENAME", "/srv/www/w/index.php"},
        {"PATH_INFO", "/A B"},
        {"PATH_TRANSLATED", "/srv/www/A B"},
        {"SERVER_PROTOCOL", "HTTP/1.1"},
        {"REQUEST_SCHEME", "http"},
    };
    make();
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++)
        assert_var(WANTED[i][0], WANTED[i][1]);
    assert_int_equal(env.var_count, ARRAY_LEN(WANTED));
}

static void what_depends_on_the_request(void **state)
{
    (void)state;
    script.path_info = STR("");
    script.context_root = STR("/usr/share/wiki");
    script.context_prefix = STR("/wiki");
    ex.req.host_port = 9000;
    make();
    assert_var("CONTEXT_DOCUMENT_ROOT", "/usr/share/wiki");
    assert_var("CONTEXT_PREFIX", "/wiki");
    assert_false(has_var("PATH_INFO"));
    assert_false(has_var("PATH_TRANSLATED"));
    assert_false(has_var("HTTPS"));
    assert_false(has_var("REDIRECT_STATUS"));
    assert_var("SERVER_PORT", "9000"); // as the client wrote it

    peer.is_tls = true;
    ex.req.host = STR("");
    ex.req.host_port = 0;
    ex.req.version = 10;
    ex.facts.user = STR("ann");
    make();
    assert_var("HTTPS", "on");
    assert_var("REQUEST_SCHEME", "https");
    assert_var("SERVER_NAME", "192.0.2.1");
    assert_var("SERVER_PORT", "8080");
    assert_var("SERVER_PROTOCOL", "HTTP/1.0");
    assert_var("REMOTE_USER", "ann");
    assert_var("AUTH_TYPE", "Basic");
}

static void what_the_server_has_changed(void **state)
{
    (void)state;
    struct exchange_origin origin = {STR("/a b"), STR("q=1"), STR("POST"), 200};
    make();
    assert_false(has_var("REDIRECT_STATUS") || has_var("REDIRECT_URL"));
    ex.origin = &origin;
    make();
    assert_var("REDIRECT_STATUS", "200");
    assert_var("REDIRECT_URL", "/a b");
    assert_var("REDIRECT_QUERY_STRING", "q=1");
    assert_false(has_var("REDIRECT_REQUEST_METHOD"));
    origin.status = 404;
    origin.query = STR("");
    make();
    assert_var("REDIRECT_STATUS", "404");
    assert_var("REDIRECT_REQUEST_METHOD", "POST");
    assert_false(has_var("REDIRECT_QUERY_STRING"));
}

static void a_host_that_nobody_named(void **state)
{
    (void)state;

    static const struct {
        const char *site, *server_name;
    } CASES[] = {{"blog.example", "blog.example"}, {"*.example", "192.0.2.1"}, {"_", "192.0.2.1"}};

    ex.req.host = STR("");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct site site = {.name = str_c(CASES[i].site)};
        ex.site = &site;
        make();
        assert_var("SERVER_NAME", CASES[i].server_name);
    }
}

static void targets_become_request_uris(void **state)
{
    (void)state;

    static const struct {
        struct str target;
        const char *uri;
    } CASES[] = {
        {STR_INIT("/"), "/"},
        {STR_INIT("/a?b"), "/a?b"},
        {STR_INIT("http://h/a?b"), "/a?b"},
        {STR_INIT("HTTPS://h:1/"), "/"},
        {STR_INIT("http://h"), "/"},
        {STR_INIT("http://h?a=/b"), "/?a=/b"},
        {STR_INIT("*"), "*"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        ex.req.target = CASES[i].target;
        make();
        assert_var("REQUEST_URI", CASES[i].uri);
    }
}

static void add_header(const char *name, const char *value)
{
    header_list_add(&ex.req.headers, str_c(name), str_c(value));
}

static const struct header *passed(const char *name)
{
    for (size_t i = 0; i < env.header_count; i++)
        if (str_eq_nocase(env.headers[i].name, str_c(name)))
            return &env.headers[i];
    return NULL;
}

static void headers_that_must_not_pass(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "Proxy",
        "proxy",
        "X_Forged",
        "X.Forged",
        "X!Forged",
        "Connection",
        "Upgrade",
        "Keep-Alive",
        "Transfer-Encoding",
        "TE",
        "Trailer",
        "Expect",
        "Proxy-Connection",
        "Proxy-Authorization",
    };
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        add_header(NAMES[i], "evil");
    add_header("Authorization", "Basic YQ==");
    add_header("X-Fine", "yes");
    make();
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (passed(NAMES[i]))
            fail_msg("%s was passed", NAMES[i]);
    assert_non_null(passed("Authorization"));
    assert_non_null(passed("X-Fine"));
    assert_int_equal(env.header_count, 2);
}

static void equal_names_are_joined(void **state)
{
    (void)state;
    add_header("X-List", "1");
    add_header("Cookie", "a=1");
    add_header("x-list", "2");
    add_header("Cookie", "b=2");
    add_header("X-List", "3");
    make();
    assert_int_equal(env.header_count, 2);
    assert_true(str_eq(passed("X-List")->value, STR("1, 2, 3")));
    assert_true(str_eq(passed("Cookie")->value, STR("a=1; b=2")));
}

static void content_length_is_what_was_received(void **state)
{
    (void)state;
    make();
    assert_null(passed("Content-Length"));
    add_header("Content-Length", "99");
    make();
    assert_true(str_eq(passed("Content-Length")->value, STR("0")));
    cgi_env_make(&ex, &script, 12, &env);
    assert_true(str_eq(passed("Content-Length")->value, STR("12")));
    assert_int_equal(passed("Content-Length")->id, HEADER_CONTENT_LENGTH);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test_setup(an_ordinary_request, reset),
        cmocka_unit_test_setup(what_depends_on_the_request, reset),
        cmocka_unit_test_setup(what_the_server_has_changed, reset),
        cmocka_unit_test_setup(a_host_that_nobody_named, reset),
        cmocka_unit_test_setup(targets_become_request_uris, reset),
        cmocka_unit_test_setup(headers_that_must_not_pass, reset),
        cmocka_unit_test_setup(equal_names_are_joined, reset),
        cmocka_unit_test_setup(content_length_is_what_was_received, reset),
    };
    int failed = cmocka_run_group_tests(TESTS, NULL, NULL);
    arena_done(&ex.arena);
    return failed;
}
