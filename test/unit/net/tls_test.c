// SPDX-License-Identifier: Apache-2.0
// tls_test -- TLS against OpenSSL's own client over a socket pair: handshakes however they come,
// full sockets, files, ends, and peers that speak something else.
#include "net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/mem.h"
#include "os/fd.h"

#define LARGE_BYTES ((size_t)(3 * 1024 * 1024))
#define STEPS_MAX   100000

// What a PEM file would hold.
struct pem {
    char *text;
    size_t len;
};

static struct pem cert_pem, key_pem, other_key_pem, locked_key_pem;

static struct loop *loop;
static struct tls_context *context;
static struct stream server;
static SSL_CTX *client_ctx;
static SSL *client;
static int client_fd;
static unsigned readable; // how often the loop has told

static void on_ready(struct loop_watch *watch, unsigned ready)
{
    assert_ptr_equal(watch, &server.watch);
    readable += (stream_ready(&server, ready) & POLL_READ) != 0;
}

static struct str text_of(const struct pem *pem)
{
    return str_n(pem->text, pem->len);
}

static struct pem take_bio(BIO *bio)
{
    char *text;
    long len = BIO_get_mem_data(bio, &text);
    struct pem pem = {mem_alloc((size_t)len + 1), (size_t)len};
    memcpy(pem.text, text, (size_t)len);
    BIO_free(bio);
    return pem;
}

static struct pem key_text(EVP_PKEY *key, bool is_locked)
{
    BIO *bio = BIO_new(BIO_s_mem());
    unsigned char password[] = "secret";
    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, is_locked ? EVP_aes_128_cbc() : NULL,
                                                   is_locked ? (char *)password : NULL,
                                                   is_locked ? 6 : 0, NULL, NULL),
                     1);
    return take_bio(bio);
}

static struct pem certificate_text(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    static const unsigned char NAME[] = "localhost";
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -86400);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    X509_set_pubkey(cert, key);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, NAME, -1, -1, 0), 1);
    X509_set_issuer_name(cert, name);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
    X509_free(cert);
    return take_bio(bio);
}

static int make_keys(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN); // as the server does: OpenSSL writes without MSG_NOSIGNAL
    EVP_PKEY *key = EVP_EC_gen("P-256");
    EVP_PKEY *other = EVP_EC_gen("P-256");
    cert_pem = certificate_text(key);
    key_pem = key_text(key, false);
    other_key_pem = key_text(other, false);
    locked_key_pem = key_text(key, true);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    mem_free(cert_pem.text);
    mem_free(key_pem.text);
    mem_free(other_key_pem.text);
    mem_free(locked_key_pem.text);
    return 0;
}

static int open_case(void **state)
{
    int error;
    int pair[2];
    enum tls_result result;
    (void)state;
    readable = 0;
    loop = loop_new(&error);
    assert_non_null(loop);
    assert_int_equal(fd_pair(SOCK_STREAM | SOCK_NONBLOCK, pair), 0);
    client_fd = pair[1];
    stream_open(&server, pair[0], on_ready);
    assert_int_equal(stream_watch(&server, loop), 0);
    context = tls_context_new(text_of(&cert_pem), text_of(&key_pem), &result);
    assert_non_null(context);
    assert_int_equal(tls_start(&server, context), 0);
    client_ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_mode(client_ctx, SSL_MODE_ENABLE_PARTIAL_WRITE);
    client = SSL_new(client_ctx);
    SSL_set_connect_state(client);
    assert_int_equal(SSL_set_fd(client, client_fd), 1);
    return 0;
}

static int close_case(void **state)
{
    (void)state;
    SSL_free(client);
    SSL_CTX_free(client_ctx);
    ERR_clear_error();
    fd_close(&client_fd);
    stream_close(&server);
    tls_context_free(context);
    loop_free(loop);
    return 0;
}

// What the client does once: count, 0 at the end told by TLS, or -1.
static int client_read(char *room, int size)
{
    ERR_clear_error();
    int n = SSL_read(client, room, size);
    if (n > 0)
        return n;
    return SSL_get_error(client, n) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

// Both sides go on until the server has read something. The handshake is made on the way.
static ssize_t server_reads(char *room, size_t size)
{
    char byte;
    ssize_t n = -EAGAIN;
    for (int i = 0; i < STEPS_MAX && n == -EAGAIN; i++) {
        n = stream_read(&server, room, size);
        (void)client_read(&byte, 0); // takes what the handshake has for it
    }
    return n;
}

static void client_says(const char *text)
{
    int len = (int)strlen(text);
    char byte;
    for (int i = 0; i < STEPS_MAX; i++) {
        ERR_clear_error();
        if (SSL_write(client, text, len) == len)
            return;
        assert_int_equal(stream_read(&server, &byte, 1), -EAGAIN);
    }
    fail_msg("the client cannot write");
}

static void client_hears(const char *text)
{
    char got[256] = "";
    size_t len = 0;
    for (int i = 0; i < STEPS_MAX && len < strlen(text); i++) {
        int n = client_read(got + len, (int)(sizeof got - 1 - len));
        assert_true(n != 0);
        len += n > 0 ? (size_t)n : 0;
    }
    assert_string_equal(got, text);
}

static ssize_t server_says(const char *text)
{
    char room[256];
    struct iovec iov = {room, strlen(text)};
    memcpy(room, text, strlen(text));
    return stream_write(&server, &iov, 1, false);
}

static void meet(void)
{
    char room[16];
    client_says("hello");
    assert_int_equal(server_reads(room, sizeof room), 5);
    assert_memory_equal(room, "hello", 5);
}

static void both_versions(void **state)
{
    static const int VERSIONS[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < ARRAY_LEN(VERSIONS); i++) {
        assert_int_equal(SSL_set_min_proto_version(client, VERSIONS[i]), 1);
        assert_int_equal(SSL_set_max_proto_version(client, VERSIONS[i]), 1);
        meet();
        assert_int_equal(SSL_version(client), VERSIONS[i]);
        assert_int_equal(server_says("good day"), 8);
        client_hears("good day");
        close_case(state);
        open_case(state);
    }
}

static void old_versions_are_refused(void **state)
{
    char room[16];
    (void)state;
    SSL_set_security_level(client, 0);
    assert_int_equal(SSL_set_min_proto_version(client, TLS1_VERSION), 1);
    assert_int_equal(SSL_set_max_proto_version(client, TLS1_1_VERSION), 1);
    (void)client_read(room, 1);
    assert_int_equal(server_reads(room, sizeof room), -EPROTO);
    assert_true(server.is_cut && !server.is_misled);
}

static void the_protocol_is_chosen(void **state)
{
    static const unsigned char OFFER[] = "\x02h2\x08http/1.1";
    static const unsigned char FOREIGN[] = "\x02h2";
    const unsigned char *chosen;
    unsigned len;
    char room[16];
    assert_int_equal(SSL_set_alpn_protos(client, OFFER, sizeof OFFER - 1), 0);
    meet();
    SSL_get0_alpn_selected(client, &chosen, &len);
    assert_int_equal(len, 8);
    assert_memory_equal(chosen, "http/1.1", 8);
    close_case(state);
    open_case(state);
    assert_int_equal(SSL_set_alpn_protos(client, FOREIGN, sizeof FOREIGN - 1), 0);
    (void)client_read(room, 1);
    assert_int_equal(server_reads(room, sizeof room), -EPROTO);
}

// The client's bytes go through memory and come one at a time.
static void a_handshake_in_single_bytes(void **state)
{
    BIO *in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_mem());
    char room[4096];
    ssize_t got = -EAGAIN;
    (void)state;
    SSL_set_bio(client, in, out);
    for (int i = 0; i < STEPS_MAX && got == -EAGAIN; i++) {
        ssize_t n = fd_read(client_fd, room, sizeof room);
        if (n > 0)
            assert_int_equal(BIO_write(in, room, (int)n), n);
        ERR_clear_error();
        (void)SSL_write(client, "hello", 5);
        while (got == -EAGAIN && BIO_read(out, room, 1) == 1) {
            assert_int_equal(fd_write(client_fd, str_n(room, 1)), 1);
            got = stream_read(&server, room, sizeof room);
        }
    }
    assert_int_equal(got, 5);
    assert_memory_equal(room, "hello", 5);
}

static char byte_at(size_t at)
{
    return (char)(at * 7 % 251);
}

// Reads what there is at the client and compares; returns the new place.
static size_t compare(size_t at)
{
    static char room[65536];
    int n;
    while ((n = client_read(room, sizeof room)) > 0)
        for (int i = 0; i < n; i++, at++)
            if (room[i] != byte_at(at))
                fail_msg("byte %zu is wrong", at);
    return at;
}

// The caller gives the same bytes again from another place in memory, as it may.
static void a_full_socket(void **state)
{
    char *large = mem_alloc(LARGE_BYTES);
    size_t sent = 0;
    size_t seen = 0;
    unsigned full = 0;
    (void)state;
    for (size_t i = 0; i < LARGE_BYTES; i++)
        large[i] = byte_at(i);
    meet();
    for (int i = 0; i < STEPS_MAX && sent < LARGE_BYTES; i++) {
        size_t len = LARGE_BYTES - sent < 100000 ? LARGE_BYTES - sent : 100000;
        char *copy = mem_alloc(len);
        memcpy(copy, large + sent, len);
        struct iovec iov[2] = {{copy, len / 2}, {copy + len / 2, len - len / 2}};
        ssize_t n = stream_write(&server, iov, 2, true);
        mem_free(copy);
        if (n == -EAGAIN) {
            full++;
            seen = compare(seen);
            continue;
        }
        assert_true(n > 0);
        sent += (size_t)n;
    }
    assert_true(full > 0);
    for (int i = 0; i < STEPS_MAX && seen < LARGE_BYTES; i++)
        seen = compare(seen);
    assert_int_equal(seen, LARGE_BYTES);
    mem_free(large);
}

static int make_file(void)
{
    char path[] = "/tmp/tls-test-XXXXXX";
    char room[1000];
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(unlink(path), 0);
    for (size_t at = 0; at < LARGE_BYTES; at += sizeof room) {
        size_t len = LARGE_BYTES - at < sizeof room ? LARGE_BYTES - at : sizeof room;
        for (size_t i = 0; i < len; i++)
            room[i] = byte_at(at + i);
        assert_int_equal(fd_write_all(file, str_n(room, len)), 0);
    }
    return file;
}

static void a_file(void **state)
{
    int file = make_file();
    off_t offset = 0;
    size_t seen = 0;
    (void)state;
    meet();
    for (int i = 0; i < STEPS_MAX && offset < (off_t)LARGE_BYTES; i++) {
        off_t before = offset;
        ssize_t n = stream_send_file(&server, file, &offset, 300000);
        assert_true(n == -EAGAIN || (n > 0 && offset == before + n));
        if (n == -EAGAIN)
            seen = compare(seen);
    }
    assert_int_equal(offset, LARGE_BYTES);
    assert_int_equal(stream_send_file(&server, file, &offset, 1), 0); // it is no longer than that
    for (int i = 0; i < STEPS_MAX && seen < LARGE_BYTES; i++)
        seen = compare(seen);
    assert_int_equal(seen, LARGE_BYTES);
    fd_close(&file);
}

static void client_changes_keys(int update)
{
    ERR_clear_error();
    assert_int_equal(SSL_key_update(client, update), 1);
    assert_int_equal(SSL_do_handshake(client), 1);
}

// A client may ask for new keys of ours with its own, and not read for long.
static void keys_may_change(void **state)
{
    static const int UPDATES[] = {SSL_KEY_UPDATE_NOT_REQUESTED, SSL_KEY_UPDATE_REQUESTED};
    (void)state;
    meet();
    for (int i = 0; i < 20; i++) {
        client_changes_keys(UPDATES[i % 2]);
        meet();
        assert_int_equal(server_says("good day"), 8);
        client_hears("good day");
    }
}

// Each is work for us and nothing to answer. Bytes in between do not pay for them.
static void keys_that_change_without_end_end_the_stream(void **state)
{
    char room[16];
    int updates = 0;
    ssize_t n = -EAGAIN;
    (void)state;
    meet();
    for (; updates < 200 && (n == -EAGAIN || n == 5); updates++) {
        client_changes_keys(SSL_KEY_UPDATE_NOT_REQUESTED);
        if (updates % 2)
            client_says("hello");
        n = stream_read(&server, room, sizeof room);
    }
    assert_int_equal(n, -EPROTO);
    assert_true(updates > 60 && updates < 70);
    assert_true(server.is_cut);
}

// All are in the socket when the server looks: it must not read them all.
static void keys_that_change_in_one_go_end_the_stream(void **state)
{
    char room[16];
    char *bytes;
    int before = 0;
    int after = 0;
    (void)state;
    meet();
    BIO *out = BIO_new(BIO_s_mem());
    SSL_set0_wbio(client, out);
    for (int i = 0; i < 3000; i++)
        client_changes_keys(SSL_KEY_UPDATE_NOT_REQUESTED);
    long len = BIO_get_mem_data(out, &bytes);
    assert_int_equal(fd_write(client_fd, str_n(bytes, (size_t)len)), len);
    assert_int_equal(ioctl(server.fd, FIONREAD, &before), 0);
    assert_int_equal(before, len);
    assert_int_equal(stream_read(&server, room, sizeof room), -EPROTO);
    assert_int_equal(ioctl(server.fd, FIONREAD, &after), 0);
    assert_true(before - after < 20000);
}

static void renegotiation_is_refused(void **state)
{
    char room[16];
    (void)state;
    assert_int_equal(SSL_set_max_proto_version(client, TLS1_2_VERSION), 1);
    meet();
    ERR_clear_error();
    assert_int_equal(SSL_renegotiate(client), 1);
    assert_int_equal(SSL_do_handshake(client), -1);
    assert_int_equal(stream_read(&server, room, sizeof room), -EAGAIN);
    assert_int_equal(client_read(room, sizeof room), -1);
    assert_int_equal(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
    assert_int_equal(server.empty_records, 1);
}

static void ends_are_told(void **state)
{
    char room[16];
    meet();
    assert_int_equal(server_says("bye"), 3);
    stream_end(&server);
    client_hears("bye");
    assert_int_equal(client_read(room, sizeof room), 0);
    close_case(state);
    open_case(state);
    meet();
    assert_int_equal(SSL_shutdown(client), 0); // the client's end
    assert_int_equal(server_reads(room, sizeof room), 0);
    assert_int_equal(server_says("you may still read"), 18);
    client_hears("you may still read");
}

static void a_reset_tells_no_end(void **state)
{
    char room[16];
    (void)state;
    meet();
    assert_int_equal(server_says("half"), 4);
    client_hears("half");
    stream_reset(&server);
    stream_close(&server);
    assert_int_equal(client_read(room, sizeof room), -1);
}

// Who was not told the end knows that something is missing.
static void a_cut_is_no_end(void **state)
{
    char room[16];
    (void)state;
    meet();
    stream_cut(&server);
    stream_close(&server);
    assert_int_equal(client_read(room, sizeof room), -1);
    assert_int_equal(SSL_get_shutdown(client) & SSL_RECEIVED_SHUTDOWN, 0);
}

static void a_peer_that_vanishes(void **state)
{
    char room[16];
    (void)state;
    meet();
    SSL_set_quiet_shutdown(client, 1);
    fd_close(&client_fd);
    assert_true(server_reads(room, sizeof room) < 0); // no end was told
    assert_true(server.is_cut);
}

static void noise(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool is_misled;
    } CASES[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, true},
        {"POST / HTTP/1.1\r\nHost: a\r\n\r\n", 28, true},
        {"HEAD / HTTP/1.0\r\n\r\n", 19, true},
        {"CONNECT a:443 HTTP/1.1\r\n\r\n", 26, true},
        {"SSH-2.0-OpenSSH_9.2\r\n", 21, false},
        {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, false},
        {"\x16\x03\x01\xff\xff\x01\x00\x00\x00\x00\x00\x00", 12, false},
        {"\x15\x03\x01\x00\x02\x02\x28", 7, false},
    };

    char room[64];
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_int_equal(fd_write(client_fd, str_n(CASES[i].bytes, CASES[i].len)), CASES[i].len);
        assert_int_equal(stream_read(&server, room, sizeof room), -EPROTO);
        assert_int_equal(server.is_misled, CASES[i].is_misled);
        if (CASES[i].is_misled) { // and can be answered
            assert_int_equal(server_says("plain"), 5);
            assert_int_equal(fd_read(client_fd, room, sizeof room), 5);
            assert_memory_equal(room, "plain", 5);
        }
        stream_end(&server);
        close_case(state);
        open_case(state);
    }
}

// A request within TLS is none without.
static void what_is_written_within_tls_misleads_nobody(void **state)
{
    char room[64];
    (void)state;
    client_says("GET / HTTP/1.1\r\n");
    assert_int_equal(server_reads(room, sizeof room), 16);
    assert_false(server.is_misled);
    assert_int_equal(fd_write(client_fd, STR("GET / HTTP/1.1\r\n\r\n")), 18);
    assert_int_equal(server_reads(room, sizeof room), -EPROTO);
    assert_false(server.is_misled);
}

static void a_stream_outlives_its_context(void **state)
{
    (void)state;
    tls_context_free(context);
    context = NULL;
    meet();
    assert_int_equal(server_says("fine"), 4);
    client_hears("fine");
}

static void readiness_comes_from_the_loop(void **state)
{
    char room[16];
    (void)state;
    (void)client_read(room, 1); // sends its first message
    loop_turn(loop, 1000);
    assert_int_equal(readable, 1);
}

static void contexts(void **state)
{
    struct pem both = {mem_alloc(cert_pem.len * 2), cert_pem.len * 2};
    (void)state;
    memcpy(both.text, cert_pem.text, cert_pem.len);
    memcpy(both.text + cert_pem.len, cert_pem.text, cert_pem.len);

    const struct {
        struct str certificate, key;
        enum tls_result result;
    } cases[] = {
        {text_of(&cert_pem), text_of(&key_pem), TLS_OK},
        {text_of(&both), text_of(&key_pem), TLS_OK},
        {STR(""), text_of(&key_pem), TLS_BAD_CERTIFICATE},
        {text_of(&key_pem), text_of(&key_pem), TLS_BAD_CERTIFICATE},
        {str_n(both.text, cert_pem.len * 2 - 40), text_of(&key_pem), TLS_BAD_CERTIFICATE},
        {text_of(&cert_pem), STR(""), TLS_BAD_KEY},
        {text_of(&cert_pem), text_of(&cert_pem), TLS_BAD_KEY},
        {text_of(&cert_pem), text_of(&locked_key_pem), TLS_LOCKED_KEY},
        {text_of(&cert_pem), text_of(&other_key_pem), TLS_MISMATCH},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum tls_result result;
        struct tls_context *made = tls_context_new(cases[i].certificate, cases[i].key, &result);
        assert_int_equal(result, cases[i].result);
        assert_int_equal(made != NULL, result == TLS_OK);
        assert_true(strlen(tls_result_text(result)) > 5);
        assert_int_equal(ERR_peek_error(), 0); // nothing is left for the next reader of errors
        tls_context_free(made);
    }
    mem_free(both.text);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_case, close_case)
    static const struct CMUnitTest TESTS[] = {
        CASE(both_versions),
        CASE(old_versions_are_refused),
        CASE(the_protocol_is_chosen),
        CASE(a_handshake_in_single_bytes),
        CASE(a_full_socket),
        CASE(a_file),
        CASE(keys_may_change),
        CASE(keys_that_change_without_end_end_the_stream),
        CASE(keys_that_change_in_one_go_end_the_stream),
        CASE(renegotiation_is_refused),
        CASE(ends_are_told),
        CASE(a_reset_tells_no_end),
        CASE(a_peer_that_vanishes),
        CASE(a_cut_is_no_end),
        CASE(noise),
        CASE(what_is_written_within_tls_misleads_nobody),
        CASE(a_stream_outlives_its_context),
        CASE(readiness_comes_from_the_loop),
        cmocka_unit_test(contexts),
    };
    return cmocka_run_group_tests(TESTS, make_keys, free_keys);
}
