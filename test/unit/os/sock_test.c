// SPDX-License-Identifier: Apache-2.0
// sock_test -- addresses as text and back; listeners of TCP and of Unix sockets.
#include "os/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
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

#include "os/fd.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/sock_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

// The address "unix:DIR/NAME"; the path goes to out_path.
static struct sock_addr path_addr(const char *name, char out_path[static 96])
{
    char text[128];
    struct sock_addr addr;
    (void)snprintf(out_path, 96, "%s/%s", dir, name);
    (void)snprintf(text, sizeof text, "unix:%s", out_path);
    assert_true(sock_addr_parse(str_c(text), &addr));
    return addr;
}

static struct sock_addr parsed(const char *text)
{
    struct sock_addr addr;
    assert_true(sock_addr_parse(str_c(text), &addr));
    return addr;
}

#define PATH_107                                                                              \
 "/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890" \
 "12345678901234567"

static void addresses_are_read_and_written(void **state)
{
    (void)state;

    static const struct {
        const char *in, *out, *ip;
        unsigned port;
    } CASES[] = {
        {"8080", "*:8080", "::", 8080},
        {"*:80", "*:80", "::", 80},
        {"[::]:80", "*:80", "::", 80},
        {"0", "*:0", "::", 0},
        {"127.0.0.1:65535", "127.0.0.1:65535", "127.0.0.1", 65535},
        {"0.0.0.0:1", "0.0.0.0:1", "0.0.0.0", 1},
        {"localhost:8080", "127.0.0.1:8080", "127.0.0.1", 8080},
        {"LocalHost:8080", "127.0.0.1:8080", "127.0.0.1", 8080},
        {"[::1]:443", "[::1]:443", "::1", 443},
        {"[2001:DB8::1]:443", "[2001:db8::1]:443", "2001:db8::1", 443},
        {"[::ffff:10.0.0.1]:9", "10.0.0.1:9", "10.0.0.1", 9},
        {"unix:/run/godwit.sock", "unix:/run/godwit.sock", "unix:", 0},
        {"unix:" PATH_107, "unix:" PATH_107, "unix:", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct sock_addr addr = parsed(CASES[i].in);
        char room[SOCK_TEXT_MAX];
        unsigned port = 99;
        assert_int_equal(sock_addr_text(&addr, room), strlen(CASES[i].out));
        assert_string_equal(room, CASES[i].out);
        assert_int_equal(sock_addr_ip(&addr, room, &port), strlen(CASES[i].ip));
        assert_string_equal(room, CASES[i].ip);
        assert_int_equal(port, CASES[i].port);
    }
}

static void malformed_addresses_are_refused(void **state)
{
    (void)state;
    static const struct str CASES[] = {
        STR_INIT(""),
        STR_INIT(":"),
        STR_INIT(":80"),
        STR_INIT("65536"),
        STR_INIT("000080"),
        STR_INIT("-1"),
        STR_INIT("80 "),
        STR_INIT("1.2.3:80"),
        STR_INIT("1.2.3.4"),
        STR_INIT("1.2.3.4:"),
        STR_INIT("1.2.3.4:x"),
        STR_INIT("256.1.1.1:80"),
        STR_INIT("::1:80"),
        STR_INIT("[::1]"),
        STR_INIT("[::1:80"),
        STR_INIT("[]:80"),
        STR_INIT("[1.2.3.4]:80"),
        STR_INIT("[::1%lo]:80"),
        STR_INIT("host:80"),
        STR_INIT("unix:"),
        STR_INIT("unix:run/x"),
        STR_INIT("unix:/a\0b"),
        STR_INIT("127.0.0.1\0:80"),
        STR_INIT("unix:" PATH_107 "8"),
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct sock_addr addr = {.len = 77};
        assert_false(sock_addr_parse(CASES[i], &addr));
        assert_int_equal(addr.len, 77);
    }
}

static void connections_are_ready_for_a_loop(void **state)
{
    (void)state;
    struct sock_addr addr = parsed("127.0.0.1:0");
    struct sock_addr peer;
    int listener = sock_listen(&addr, 0);
    assert_true(listener >= 0);
    assert_int_equal(sock_accept(listener, &peer), -EAGAIN);
    assert_int_equal(sock_name(listener, &addr), 0);
    int client = sock_connect(&addr);
    assert_true(client >= 0);
    assert_int_equal(sock_accept(listener, &peer), -EAGAIN); // it has said nothing yet
    assert_int_equal(fd_write(client, STR("x")), 1);
    int conn = sock_accept(listener, &peer);
    assert_true(conn >= 0);
    assert_true(fcntl(conn, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(conn, F_GETFD) & FD_CLOEXEC);
    int nodelay = 0;
    socklen_t len = sizeof nodelay;
    assert_int_equal(getsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &nodelay, &len), 0);
    assert_true(nodelay);
    struct sock_addr local;
    assert_int_equal(sock_name(client, &local), 0);
    assert_int_equal(local.u.v4.sin_port, peer.u.v4.sin_port);
    sock_shutdown_write(client);
    char byte;
    assert_int_equal(fd_set_nonblock(conn, false), 0);
    assert_int_equal(fd_read(conn, &byte, 1), 1);
    assert_int_equal(fd_read(conn, &byte, 1), 0);
    fd_close(&conn);
    fd_close(&client);
    fd_close(&listener);
}

static void who_says_nothing_comes_later(void **state)
{
    (void)state;
    struct sock_addr addr = parsed("127.0.0.1:0");
    int listener = sock_listen(&addr, 0);
    assert_true(listener >= 0);
    assert_int_equal(sock_name(listener, &addr), 0);
    int client = sock_connect(&addr);
    assert_true(client >= 0);
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 60000), 1);
    int conn = sock_accept(listener, &addr);
    assert_true(conn >= 0);
    fd_close(&conn);
    fd_close(&client);
    fd_close(&listener);
}

static void a_port_in_use_is_refused(void **state)
{
    (void)state;
    struct sock_addr addr = parsed("127.0.0.1:0");
    int first = sock_listen(&addr, 0);
    assert_true(first >= 0);
    assert_int_equal(sock_name(first, &addr), 0);
    assert_int_equal(sock_listen(&addr, 0), -EADDRINUSE);
    fd_close(&first);
    assert_int_equal(sock_connect(&addr), -ECONNREFUSED);
}

static void inherited_listeners_are_adopted(void **state)
{
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(sock_adopt(fd), -EINVAL);
    struct sock_addr addr = parsed("127.0.0.1:0");
    assert_int_equal(bind(fd, &addr.u.any, addr.len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(sock_adopt(fd), 0);
    assert_int_equal(sock_accept(fd, &addr), -EAGAIN);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    fd_close(&fd);
    int pipes[2];
    assert_int_equal(fd_pipe(pipes), 0);
    assert_int_equal(sock_adopt(pipes[0]), -ENOTSOCK);
    fd_close(&pipes[0]);
    fd_close(&pipes[1]);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void a_stale_unix_socket_is_replaced(void **state)
{
    (void)state;
    char path[96];
    struct sock_addr addr = path_addr("stale", path);
    mode_t mask = umask(077);
    int first = sock_listen(&addr, 0);
    assert_true(first >= 0);
    assert_int_equal(mode_of(path), 0666);
    fd_close(&first);
    assert_int_equal(access(path, F_OK), 0);
    int second = sock_listen(&addr, 0600);
    assert_true(second >= 0);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(umask(mask), 077); // as it was
    int client = sock_connect(&addr);
    struct sock_addr peer;
    int conn = sock_accept(second, &peer);
    assert_true(client >= 0 && conn >= 0);
    char room[SOCK_TEXT_MAX];
    unsigned port;
    sock_addr_ip(&peer, room, &port);
    assert_string_equal(room, "unix:");
    fd_close(&conn);
    fd_close(&client);
    fd_close(&second);
    assert_int_equal(unlink(path), 0);
}

static void what_is_no_stale_socket_is_left_alone(void **state)
{
    (void)state;
    char path[96];
    struct sock_addr addr = path_addr("live", path);
    int live = sock_listen(&addr, 0);
    assert_true(live >= 0);
    assert_int_equal(sock_listen(&addr, 0), -EADDRINUSE);
    int client = sock_connect(&addr);
    assert_true(client >= 0);
    fd_close(&client);
    fd_close(&live);
    assert_int_equal(unlink(path), 0);
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    fd_close(&file);
    assert_int_equal(sock_listen(&addr, 0), -EADDRINUSE);
    assert_int_equal(unlink(path), 0);
    addr = path_addr("missing/dir", path);
    assert_int_equal(sock_listen(&addr, 0), -ENOENT);
}

static void files_are_sent_from_an_offset(void **state)
{
    (void)state;
    int pair[2];
    char name[96];
    (void)snprintf(name, sizeof name, "%s/file", dir);
    int file = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(fd_write_all(file, STR("0123456789")), 0);
    assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
    off_t at = 3;
    assert_int_equal(sock_sendfile(pair[0], file, &at, 4), 4);
    assert_int_equal(at, 7);
    assert_int_equal(sock_sendfile(pair[0], file, &at, 100), 3);
    assert_int_equal(sock_sendfile(pair[0], file, &at, 100), 0);
    char room[16];
    assert_int_equal(fd_read(pair[1], room, sizeof room), 7);
    assert_memory_equal(room, "3456789", 7);
    fd_close(&pair[0]);
    fd_close(&pair[1]);
    fd_close(&file);
    assert_int_equal(unlink(name), 0);
}

static void what_waits_in_a_socket_is_told(void **state)
{
    (void)state;
    int fds[2];
    char room[1000] = {0};
    assert_int_equal(fd_pair(SOCK_STREAM, fds), 0);
    assert_int_equal(sock_untaken(fds[0]), 0);
    assert_int_equal(fd_write(fds[0], str_n(room, sizeof room)), sizeof room);
    assert_true(sock_untaken(fds[0]) >= sizeof room);
    assert_int_equal(fd_read(fds[1], room, sizeof room), sizeof room);
    assert_int_equal(sock_untaken(fds[0]), 0);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
    assert_int_equal(sock_untaken(FD_NONE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_in_a_socket_is_told),
        cmocka_unit_test(addresses_are_read_and_written),
        cmocka_unit_test(malformed_addresses_are_refused),
        cmocka_unit_test(connections_are_ready_for_a_loop),
        cmocka_unit_test(who_says_nothing_comes_later),
        cmocka_unit_test(a_port_in_use_is_refused),
        cmocka_unit_test(inherited_listeners_are_adopted),
        cmocka_unit_test(a_stale_unix_socket_is_replaced),
        cmocka_unit_test(what_is_no_stale_socket_is_left_alone),
        cmocka_unit_test(files_are_sent_from_an_offset),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
