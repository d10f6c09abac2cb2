// SPDX-License-Identifier: Apache-2.0
// libapp_test -- the example program under a stand-in for Godwit: handshake, exchanges, endings.
// argv[1] is the example's path.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"

static const char *program;
static struct driver driver;

static void start(const char *const *envp)
{
    struct ipc_msg hello;
    assert_true(driver_start(&driver, (const char *const[]){program, NULL}, envp));
    assert_true(driver_expect(&driver, IPC_HELLO, &hello, NULL));
    assert_true(str_starts(hello.text, STR("{\"program\":\"/")));
    char said[512]; // with a NUL
    (void)snprintf(said, sizeof said, "%.*s", STR_ARG(hello.text));
    assert_non_null(strstr(said, "/lsapi-hello\",\"runtime\":\"lsapi-hello\""));
}

static void stop(void)
{
    assert_int_equal(driver_stop(&driver), 0);
}

static struct driver_answer ask(int conn, const char *query, struct str body)
{
    struct driver_answer a;
    struct driver_request req = {.query = query, .body = body, .method = body.len ? "POST" : "GET"};
    assert_true(driver_exchange(conn, &req, &a));
    return a;
}

static void expect_ok(int conn, const char *query, const char *body)
{
    struct driver_answer a = ask(conn, query, STR(""));
    assert_true(a.ended);
    assert_true(driver_body_is(&a, body));
    driver_answer_done(&a);
}

static void state_is(uint32_t index, enum scoreboard_state state)
{
    struct scoreboard_record rec;
    uint64_t until_us = clock_mono_us() + DRIVER_WAIT_MS * 1000ull;
    bool reached = false;
    while (!reached && clock_mono_us() < until_us) // the worker writes it just after its answer
        reached = scoreboard_get(driver.board, index, &rec) && rec.state == state;
    assert_true(reached);
}

static void a_worker_serves_until_its_connection_closes(void **unused)
{
    (void)unused;
    struct driver_worker w;
    struct scoreboard_record rec;
    start(NULL);
    assert_true(driver_worker_start(&driver, 7, &w));
    state_is(7, SCOREBOARD_IDLE);
    struct driver_answer a = ask(w.conn, "", STR(""));
    assert_true(a.ended && !a.closed && !a.received && !a.pid);
    assert_int_equal(a.status, 0);
    assert_true(driver_head_has(&a, "Content-Type: text/plain\n"));
    assert_true(driver_body_is(&a, "Hello, world\n"));
    driver_answer_done(&a);
    expect_ok(w.conn, "", "Hello, world\n");
    state_is(7, SCOREBOARD_IDLE);
    assert_true(scoreboard_get(driver.board, 7, &rec));
    assert_int_equal(rec.requests, 2);
    assert_int_equal(rec.pid, w.pid);
    assert_int_equal(rec.worker_id, 7);
    assert_true(str_eq(str_n(rec.url, rec.url_len), STR("GET /index.php")));
    assert_int_equal(driver_worker_stop(&w), 0);
    stop();
}

static void requests_and_answers_are_whole(void **unused)
{
    (void)unused;
    static char big[300000];
    static const struct lsapi_pair SPECIAL[] = {{STR_INIT("\1\4memory_limit"), STR_INIT("64M")},
                                                {STR_INIT("\1\1precision"), STR_INIT("5")}};
    struct header headers[] = {header_make(STR("Host"), STR("h")),
                               header_make(STR("Transfer-Encoding"), STR("chunked")),
                               header_make(STR("X-Own"), STR("own"))};
    struct driver_worker w;
    struct driver_answer a;
    start((const char *const[]){"VISIBLE=yes", NULL});
    assert_true(driver_worker_start(&driver, 0, &w));

    struct driver_request req = {.query = "env",
                                 .special = SPECIAL,
                                 .special_count = 2,
                                 .headers = headers,
                                 .header_count = 3};
    assert_true(driver_exchange(w.conn, &req, &a));
    assert_true(driver_body_has(&a, "\nQUERY_STRING=env\n"));
    assert_true(driver_body_has(&a, "\nheader Host=h\nheader X-Own=own\n"));
    assert_true(driver_body_has(&a, "\nfinal setting memory_limit=64M\nsetting precision=5\n"));
    assert_false(driver_body_has(&a, "chunked"));
    driver_answer_done(&a);

    memset(big, 'b', sizeof big);
    a = ask(w.conn, "echo", str_n(big, sizeof big));
    assert_true(a.ended);
    assert_true(str_eq(buf_view(&a.body), str_n(big, sizeof big)));
    driver_answer_done(&a);

    a = ask(w.conn, "", str_n(big, sizeof big)); // body left unread
    assert_true(driver_body_is(&a, "Hello, world\n"));
    driver_answer_done(&a);

    a = ask(w.conn, "big=1000000", STR(""));
    assert_int_equal(buf_len(&a.body), 1000000);
    driver_answer_done(&a);

    a = ask(w.conn, "status=418", STR(""));
    assert_int_equal(a.status, 418);
    driver_answer_done(&a);

    a = ask(w.conn, "header", STR(""));
    assert_true(driver_head_has(&a, "Set-Cookie: a=1\nSet-Cookie: b=2\n"));
    assert_true(driver_body_is(&a, "(a header was refused)\n"));
    driver_answer_done(&a);

    a = ask(w.conn, "log", STR(""));
    assert_true(str_eq(buf_view(&a.log), STR("hello: something to note\n")));
    assert_true(driver_body_is(&a, "logged\n"));
    driver_answer_done(&a);

    expect_ok(w.conn, "stream=3", "piece 1\npiece 2\npiece 3\n");
    assert_int_equal(driver_worker_stop(&w), 0);
    stop();
}

static void a_finished_request_detaches_the_worker_for_a_while(void **unused)
{
    (void)unused;
    struct driver_worker w;
    start(NULL);
    assert_true(driver_worker_start(&driver, 1, &w));
    struct driver_answer a = ask(w.conn, "finish", STR(""));
    assert_true(a.ended && a.closed);
    assert_true(driver_body_is(&a, "finished\n"));
    driver_answer_done(&a);
    expect_ok(w.conn, "", "Hello, world\n"); // it has come back
    state_is(1, SCOREBOARD_IDLE);
    assert_int_equal(driver_worker_stop(&w), 0);
    stop();
}

static void a_copy_disturbs_nobody(void **unused)
{
    (void)unused;
    struct driver_worker w;
    struct scoreboard_record rec;
    start(NULL);
    assert_true(driver_worker_start(&driver, 2, &w));
    expect_ok(w.conn, "copy", "begin\nend\n");
    expect_ok(w.conn, "", "Hello, world\n");
    state_is(2, SCOREBOARD_IDLE);
    assert_true(scoreboard_get(driver.board, 2, &rec));
    assert_int_equal(rec.pid, w.pid);
    assert_int_equal(rec.requests, 2);
    assert_int_equal(driver_worker_stop(&w), 0);
    stop();
}

static void a_bad_program_ends_only_its_worker(void **unused)
{
    (void)unused;

    static const struct {
        const char *query;
        int status;
    } CASES[] = {{"crash", SIGSEGV}, {"exit=3", 3 << 8}};

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct driver_worker w, next;
        start(NULL);
        assert_true(driver_worker_start(&driver, 1, &w));
        assert_true(driver_worker_start(&driver, 2, &next));
        struct driver_answer a = ask(w.conn, CASES[i].query, STR(""));
        assert_true(a.eof && !a.has_head);
        driver_answer_done(&a);
        assert_int_equal(driver_wait(w.pid) & ~0x80, CASES[i].status); // but for "core dumped"
        fd_close(&w.conn);
        fd_close(&w.errors);
        expect_ok(next.conn, "", "Hello, world\n");
        assert_int_equal(driver_worker_stop(&next), 0);
        stop();
    }
}

static void sigterm_ends_an_idle_worker_at_once(void **unused)
{
    (void)unused;
    struct driver_worker w;
    start(NULL);
    assert_true(driver_worker_start(&driver, 1, &w));
    expect_ok(w.conn, "", "Hello, world\n"); // surely in its loop
    kill(w.pid, SIGTERM);
    assert_int_equal(driver_wait(w.pid), 0);
    fd_close(&w.conn);
    fd_close(&w.errors);
    stop();
}

static void sigterm_lets_a_request_finish(void **unused)
{
    (void)unused;
    static const struct lsapi_pair ENV[] = {{STR_INIT("SCRIPT_FILENAME"), STR_INIT("/x")},
                                            {STR_INIT("SCRIPT_NAME"), STR_INIT("/x")},
                                            {STR_INIT("QUERY_STRING"), STR_INIT("echo")},
                                            {STR_INIT("REQUEST_METHOD"), STR_INIT("PUT")}};
    struct lsapi_request req = {.env = ENV, .env_count = 4, .body_bytes = 6};
    char packet[1024];
    struct wr out = {.ptr = packet, .size = sizeof packet};
    struct driver_worker w;
    struct driver_answer a;
    start(NULL);
    assert_true(driver_worker_start(&driver, 1, &w));
    assert_true(lsapi_put_request(&out, &req));
    wr_bytes(&out, STR("abc"));
    assert_int_equal(fd_write_all(w.conn, wr_view(&out)), 0);
    state_is(1, SCOREBOARD_READING);
    kill(w.pid, SIGTERM);
    assert_int_equal(fd_write_all(w.conn, STR("def")), 0);
    assert_true(driver_receive(w.conn, &a));
    assert_true(a.ended && a.closed);
    assert_true(driver_body_is(&a, "abcdef"));
    driver_answer_done(&a);
    assert_int_equal(driver_wait(w.pid), 0);
    driver_worker_stop(&w);
    stop();
}

static void sigterm_does_not_wait_forever(void **unused)
{
    (void)unused;
    struct driver_worker w;
    struct driver_answer a;
    struct driver_request req = {.query = "hang"};
    start(NULL);
    assert_true(driver_worker_start(&driver, 1, &w));
    assert_true(driver_send(w.conn, &req));
    state_is(1, SCOREBOARD_RUNNING);
    uint64_t begin_us = clock_mono_us();
    kill(w.pid, SIGTERM);
    assert_true(driver_receive(w.conn, &a));
    assert_true(a.eof && !a.ended);
    assert_true(clock_mono_us() - begin_us > 3000000);
    driver_answer_done(&a);
    assert_int_equal(driver_wait(w.pid), SIGKILL);
    driver_worker_stop(&w);
    stop();
}

static void boot_failures_are_told(void **unused)
{
    (void)unused;
    struct ipc_msg msg;
    struct buf text = {0};
    int errors;
    start((const char *const[]){"HELLO_BOOT=fail", NULL});
    assert_true(driver_fork(&driver, 5, &msg, &errors));
    pid_t pid = msg.pid;
    assert_true(driver_expect(&driver, IPC_FAILED, &msg, NULL));
    assert_int_equal(msg.id, 5);
    assert_int_equal(msg.stage, IPC_STAGE_BOOT);
    assert_int_equal(msg.pid, pid);
    assert_true(msg.text.len > 0);
    assert_true(driver_read_all(errors, &text));
    assert_true(str_eq(buf_view(&text), STR("hello: HELLO_BOOT=fail\n")));
    assert_int_equal(driver_wait(pid), 1 << 8);
    buf_done(&text);
    fd_close(&errors);
    stop();
}

static void workers_outlive_their_spawner(void **unused)
{
    (void)unused;
    struct driver_worker w;
    start(NULL);
    assert_true(driver_worker_start(&driver, 1, &w));
    stop();
    expect_ok(w.conn, "", "Hello, world\n");
    assert_int_equal(driver_worker_stop(&w), 0);
}

static void a_malformed_packet_closes(void **unused)
{
    (void)unused;
    struct driver_worker w;
    struct driver_answer a;
    struct buf text = {0};
    start(NULL);
    assert_true(driver_worker_start(&driver, 1, &w));
    assert_int_equal(fd_write_all(w.conn, STR("GET / HTTP/1.1\r\n\r\n")), 0);
    assert_true(driver_receive(w.conn, &a));
    assert_true(a.eof && !a.has_head);
    assert_true(driver_read_all(w.errors, &text));
    assert_true(str_eq(buf_view(&text), STR("godwit-app: malformed request, connection closed\n")));
    buf_done(&text);
    assert_int_equal(driver_worker_stop(&w), 0);
    stop();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_serves_until_its_connection_closes),
        cmocka_unit_test(requests_and_answers_are_whole),
        cmocka_unit_test(a_finished_request_detaches_the_worker_for_a_while),
        cmocka_unit_test(a_copy_disturbs_nobody),
        cmocka_unit_test(a_bad_program_ends_only_its_worker),
        cmocka_unit_test(sigterm_ends_an_idle_worker_at_once),
        cmocka_unit_test(sigterm_lets_a_request_finish),
        cmocka_unit_test(sigterm_does_not_wait_forever),
        cmocka_unit_test(boot_failures_are_told),
        cmocka_unit_test(workers_outlive_their_spawner),
        cmocka_unit_test(a_malformed_packet_closes),
    };
    if (argc != 2)
        return 2;
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
