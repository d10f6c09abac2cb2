// SPDX-License-Identifier: Apache-2.0
// php_test -- godwit-php under a stand-in for Godwit: what scripts see and what becomes of what
// they say. argv[1] is godwit-php, argv[2] the folder of the test scripts.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "app_driver.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/sock.h"

static const char *program, *folder;
static char suite[4096], where[4096];
static struct driver driver;
static struct driver_worker worker;

static int start_driver(void **state)
{
    (void)state;
    struct ipc_msg hello;
    const char *const argv[] = {program, "-d", "upload_tmp_dir=/tmp", "-d", "expose_php=0", NULL};
    const char *const envp[] = {"PATH=/usr/bin:/bin", "APP_ENV=test", NULL};
    snprintf(suite, sizeof suite, "%s/suite.php", folder);
    snprintf(where, sizeof where, "%s/sub/where.php", folder);
    if (!driver_start(&driver, argv, envp) || !driver_expect(&driver, IPC_HELLO, &hello, NULL))
        return -1;
    char said[512]; // with a NUL
    (void)snprintf(said, sizeof said, "%.*s", STR_ARG(hello.text));
    bool is_php = strstr(said, "\"runtime\":\"godwit-php\",\"version\":\"8.") != NULL;
    return is_php && str_starts(hello.text, STR("{\"program\":\"/")) ? 0 : -1;
}

static int stop_driver(void **state)
{
    (void)state;
    return driver_stop(&driver);
}

static int start_worker(void **state)
{
    (void)state;
    return driver_worker_start(&driver, 3, &worker) ? 0 : -1;
}

static int stop_worker(void **state)
{
    (void)state;
    return driver_worker_stop(&worker) == 0 ? 0 : -1;
}

static struct driver_answer ask_for(struct driver_request req)
{
    struct driver_answer a;
    if (!req.script_file)
        req.script_file = suite;
    if (!req.script_name)
        req.script_name = "/suite.php";
    assert_true(driver_exchange(worker.conn, &req, &a));
    return a;
}

static struct driver_answer ask(const char *query)
{
    return ask_for((struct driver_request){.query = query});
}

// Asks and compares: status, a header line (NULL: any), the whole body (NULL: any), the log.
static void check(struct driver_request req, int status, const char *head, const char *body,
                  const char *log)
{
    struct driver_answer a = ask_for(req);
    struct str text = buf_view(&a.body), lines = buf_view(&a.head);
    if (!a.ended || a.status != status || (head && !driver_head_has(&a, head))
        || (body && !driver_body_is(&a, body)))
        fail_msg("%s: status %d\n%.*s\n%.*s", req.query, a.status, STR_ARG(lines), STR_ARG(text));
    assert_true(str_eq(buf_view(&a.log), str_c(log ? log : "")));
    driver_answer_done(&a);
}

static void answers_reach_the_server(void **state)
{
    (void)state;

    static const struct {
        const char *query;
        int status;
        const char *head, *body, *log;
    } CASES[] = {
        {"t=hello", 200, "Content-type: text/html; charset=UTF-8\n", "Hello, world\n", NULL},
        {"t=sapi", 200, NULL, "litespeed opcache 1\n", NULL},
        {"t=status", 404, NULL, "not here\n", NULL},
        {"t=cgistatus", 410, NULL, "gone\n", NULL},
        {"t=redirect", 302, "Location: /there\n", "", NULL},
        {"t=code", 503, "Retry-After: 7\n", "", NULL},
        {"t=cookie", 200, "Set-Cookie: one=1\nSet-Cookie: two=2\n", "[]\n", NULL},
        {"t=flush", 200, NULL, "first\nsecond\n", NULL},
        {"t=exit", 200, NULL, "bye\nshutdown\n", NULL},
        {"t=log", 200, NULL, "logged\n", "a message\n"},
        {"t=responseheaders", 200, "X-A: b\n", "{\"X-A\":\"b\"}\n", NULL},
        {"t=hello", 200, NULL, "Hello, world\n", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        check((struct driver_request){.query = CASES[i].query}, CASES[i].status, CASES[i].head,
              CASES[i].body, CASES[i].log);
}

static void scripts_see_the_request(void **state)
{
    (void)state;
    static const struct lsapi_pair ENV[] = {{STR_INIT("PATH_INFO"), STR_INIT("/more")}};
    struct header headers[] = {header_make(STR("Host"), STR("example.org")),
                               header_make(STR("X-Own"), STR("own")),
                               header_make(STR("Proxy"), STR("evil")),
                               header_make(STR("Authorization"), STR("Basic dXNlcjpwYXNz")),
                               header_make(STR("Cookie"), STR("a=1; b=two"))};
    struct driver_request req = {.headers = headers,
                                 .header_count = ARRAY_LEN(headers),
                                 .env = ENV,
                                 .env_count = ARRAY_LEN(ENV)};
    req.query = "t=server&n=HTTP_HOST,HTTP_X_OWN,HTTP_PROXY,PHP_SELF,REMOTE_ADDR,APP_ENV,"
                "GODWIT_CHANNEL,REQUEST_METHOD";
    check(req, 200, NULL,
          "HTTP_HOST=example.org\nHTTP_X_OWN=own\nHTTP_PROXY=(none)\nPHP_SELF=/suite.php/more\n"
          "REMOTE_ADDR=192.0.2.7\nAPP_ENV=test\nGODWIT_CHANNEL=(none)\nREQUEST_METHOD=GET\n",
          NULL);
    req.query = "t=getenv&n=PATH_INFO,HTTP_X_OWN,APP_ENV,GODWIT_BOARD,NONE";
    check(req, 200, NULL,
          "PATH_INFO='/more'\nHTTP_X_OWN='own'\nAPP_ENV='test'\nGODWIT_BOARD=false\nNONE=false\n",
          NULL);
    req.query = "t=auth";
    check(req, 200, NULL, "user pass\n", NULL);
    req.query = "t=cookie";
    check(req, 200, NULL, "{\"a\":\"1\",\"b\":\"two\"}\n", NULL);
    req.query = "t=headers";
    check(req, 200, NULL,
          "{\"Authorization\":\"Basic dXNlcjpwYXNz\",\"Cookie\":\"a=1; b=two\","
          "\"Host\":\"example.org\",\"X-Own\":\"own\",\"Proxy\":\"evil\"}\n",
          NULL);
    check((struct driver_request){.query = "t=auth"}, 200, NULL, "- -\n", NULL);
    check((struct driver_request){.query = "t=hello", .method = "HEAD"}, 200, NULL, NULL, NULL);
}

static void bodies_reach_the_script(void **state)
{
    (void)state;
    static char big[1000000];
    static const char UPLOAD[] = "--xx\r\n"
                                 "Content-Disposition: form-data; name=\"field\"\r\n\r\nvalue\r\n"
                                 "--xx\r\n"
                                 "Content-Disposition: form-data; name=\"file\"; filename=\"f.txt\""
                                 "\r\nContent-Type: text/plain\r\n\r\nhello\r\n"
                                 "--xx--\r\n";
    struct header type = header_make(STR("Content-Type"), STR("application/x-www-form-urlencoded"));
    struct driver_request req = {.method = "POST",
                                 .query = "t=post",
                                 .body = STR("b=2&a=x+y"),
                                 .headers = &type,
                                 .header_count = 1};
    check(req, 200, NULL, "{\"a\":\"x y\",\"b\":\"2\"} 9\n", NULL);
    type.value = STR("multipart/form-data; boundary=xx");
    req.query = "t=upload";
    req.body = str_n(UPLOAD, sizeof UPLOAD - 1);
    check(req, 200, NULL, "f.txt 5 0 5d41402abc4b2a76b9719d911017c592 value\n", NULL);
    memset(big, 'z', sizeof big);
    type.value = STR("application/octet-stream");
    req.query = "t=input";
    req.method = "PUT";
    req.body = str_n(big, sizeof big);
    check(req, 200, NULL, "ef0fe4f633573ca14ce6d1589fa0159a\n", NULL);
    req.query = "t=hello"; // does not read it
    check(req, 200, NULL, "Hello, world\n", NULL);
    struct driver_answer a = ask("t=big&n=1000000");
    assert_int_equal(buf_len(&a.body), 1000000);
    driver_answer_done(&a);
}

static void settings_last_one_request(void **state)
{
    (void)state;
    static const struct lsapi_pair SPECIAL[] = {
        {STR_INIT("\1\4arg_separator.output"), STR_INIT(";")},
        {STR_INIT("\1\1precision"), STR_INIT("5")},
        {STR_INIT("\1\4post_max_size"), STR_INIT("3")},
    };
    static const struct lsapi_pair OFF[] = {{STR_INIT("\1\4engine"), STR_INIT("0")}};
    const char *query = "t=ini&n=arg_separator.output,precision,post_max_size";
    check((struct driver_request){.query = query, .special = SPECIAL, .special_count = 3}, 200,
          NULL, "arg_separator.output=; false\nprecision=5 '5'\npost_max_size=3 false\n", NULL);
    check((struct driver_request){.query = query}, 200, NULL,
          "arg_separator.output=& '&'\nprecision=14 '14'\npost_max_size=8M false\n", NULL);
    check((struct driver_request){.query = query, .special = OFF, .special_count = 1}, 403,
          "Content-Type: text/html\n", NULL, NULL);
    check((struct driver_request){.query = "t=hello"}, 200, NULL, "Hello, world\n", NULL);
}

static void the_working_directory_is_the_scripts(void **state)
{
    (void)state;
    char here[5000], sub[5000];
    snprintf(here, sizeof here, "%s\n", folder);
    snprintf(sub, sizeof sub, "%s/sub\n", folder);
    check((struct driver_request){.query = "t=cwd"}, 200, NULL, here, NULL);
    check((struct driver_request){.script_file = where}, 200, NULL, sub, NULL);
    check((struct driver_request){.query = "t=cwd&to=/"}, 200, NULL, here, NULL);
    check((struct driver_request){.query = "t=cwd"}, 200, NULL, here, NULL);
}

static void errors_are_answered_and_logged(void **state)
{
    (void)state;
    struct driver_answer a = ask("t=fatal");
    assert_int_equal(a.status, 500);
    assert_true(a.ended);
    assert_true(str_starts(buf_view(&a.log), STR("PHP Fatal error:  Uncaught Error: Call to "
                                                 "undefined function no_such_function()")));
    driver_answer_done(&a);
    a = ask("t=loop");
    assert_int_equal(a.status, 500);
    assert_true(str_starts(buf_view(&a.log),
                           STR("PHP Fatal error:  Maximum execution time of 1 second exceeded")));
    driver_answer_done(&a);
    check((struct driver_request){.query = "t=hello"}, 200, NULL, "Hello, world\n", NULL);
}

static void finishing_early_detaches(void **state)
{
    (void)state;
    struct driver_worker w;
    struct driver_answer a;
    struct buf text = {0};
    struct driver_request req = {.script_file = suite, .query = "t=finish"};
    assert_true(driver_worker_start(&driver, 9, &w));
    assert_true(driver_exchange(w.conn, &req, &a));
    assert_true(a.ended && a.closed);
    assert_true(driver_body_is(&a, "finished\n"));
    assert_true(driver_head_has(&a, "X-Before: yes\n"));
    assert_false(driver_head_has(&a, "X-After"));
    driver_answer_done(&a);
    fd_close(&w.conn); // it would come back and wait for the next request
    assert_true(driver_read_all(w.errors, &text));
    assert_string_equal(buf_put(&text, str_n("", 1)) ? buf_view(&text).ptr : "",
                        "still working 0 false\n");
    buf_done(&text);
    assert_int_equal(driver_worker_stop(&w), 0);
}

static void a_lost_server_aborts_the_script(void **state)
{
    (void)state;
    struct driver_worker w;
    struct buf text = {0};
    struct driver_request req = {.script_file = suite, .query = "t=abort"};
    assert_true(driver_worker_start(&driver, 10, &w));
    assert_true(driver_send(w.conn, &req));
    char byte;
    assert_int_equal(fd_read(w.conn, &byte, 1), 1); // it runs
    fd_close(&w.conn);
    assert_true(driver_read_all(w.errors, &text));
    assert_true(str_eq(buf_view(&text), STR("aborted=1\n")));
    buf_done(&text);
    assert_int_equal(driver_worker_stop(&w), 0);
}

static void it_serves_by_itself_too(void **state)
{
    (void)state;
    char address[64];
    struct sock_addr addr;
    snprintf(address, sizeof address, "unix:/tmp/godwit-php-test-%d", (int)getpid());
    assert_true(sock_addr_parse(str_c(address), &addr));
    int listener = sock_listen(&addr, 0600);
    assert_true(listener >= 0);
    const char *const argv[] = {program, NULL};
    const char *const envp[] = {"PHP_LSAPI_CHILDREN=2", NULL};
    pid_t pid = proc_start(&(struct proc_start){.path = program,
                                                .argv = argv,
                                                .envp = envp,
                                                .stdin_fd = listener,
                                                .stdout_fd = FD_NONE,
                                                .stderr_fd = FD_NONE,
                                                .death_signal = SIGKILL});
    fd_close(&listener);
    assert_true(pid > 0);
    for (int i = 0; i < 2; i++) {
        struct driver_answer a;
        struct driver_request req = {.script_file = suite,
                                     .query = "t=server&n=PHP_LSAPI_CHILDREN,REQUEST_METHOD"};
        int conn = sock_connect(&addr);
        assert_true(conn >= 0);
        assert_true(driver_exchange(conn, &req, &a));
        assert_true(a.ended && (i || a.pid));
        assert_true(driver_body_is(&a, "PHP_LSAPI_CHILDREN=(none)\nREQUEST_METHOD=GET\n"));
        driver_answer_done(&a);
        fd_close(&conn);
    }
    kill(pid, SIGTERM);
    assert_int_equal(driver_wait(pid), 0);
    unlink(address + 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_reach_the_server, start_worker, stop_worker),
        cmocka_unit_test_setup_teardown(scripts_see_the_request, start_worker, stop_worker),
        cmocka_unit_test_setup_teardown(bodies_reach_the_script, start_worker, stop_worker),
        cmocka_unit_test_setup_teardown(settings_last_one_request, start_worker, stop_worker),
        cmocka_unit_test_setup_teardown(the_working_directory_is_the_scripts, start_worker,
                                        stop_worker),
        cmocka_unit_test_setup_teardown(errors_are_answered_and_logged, start_worker, stop_worker),
        cmocka_unit_test(finishing_early_detaches),
        cmocka_unit_test(a_lost_server_aborts_the_script),
        cmocka_unit_test(it_serves_by_itself_too),
    };
    if (argc != 3)
        return 2;
    program = argv[1];
    folder = argv[2];
    return cmocka_run_group_tests(tests, start_driver, stop_driver);
}
