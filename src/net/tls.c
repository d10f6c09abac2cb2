// SPDX-License-Identifier: Apache-2.0
// tls -- see tls.h. An idle connection holds no record buffers (SSL_MODE_RELEASE_BUFFERS).
#include "net/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>
#include <unistd.h>

#include "os/sock.h"

#define RECORD_BYTES 16384                         // the most that one record carries
#define CIPHERS      "ECDHE+AESGCM:ECDHE+CHACHA20" // of TLS 1.2: forward secrecy and AEAD only
// Records behind the handshake that carry no bytes, over a connection's life. Who keeps to what TLS
// needs sends one in hundreds of gigabytes.
#define EMPTY_RECORDS_MAX 64

struct tls_context; // is an SSL_CTX

static SSL_CTX *ctx_of(struct tls_context *context)
{
    return (SSL_CTX *)context;
}

static int no_password(char *room, int size, int writing, void *arg)
{
    (void)room;
    (void)size;
    (void)writing;
    *(bool *)arg = true;
    return -1;
}

// RFC 7301: what the client offers must hold what we speak, or there is no common protocol.
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *arg)
{
    static const unsigned char OURS[] = "\x08http/1.1";
    unsigned char *chosen = NULL;
    (void)ssl;
    (void)arg;
    int result =
        SSL_select_next_proto(&chosen, out_len, OURS, sizeof OURS - 1, offered, offered_len);
    *out = chosen;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static BIO *memory(struct str text)
{
    return text.len <= INT_MAX ? BIO_new_mem_buf(text.ptr, (int)text.len) : NULL;
}

// The certificate, then those of its issuers.
static enum tls_result use_certificate(SSL_CTX *ctx, struct str text)
{
    BIO *bio = memory(text);
    X509 *cert = bio ? PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL) : NULL;
    bool ok = cert && SSL_CTX_use_certificate(ctx, cert) == 1;
    X509_free(cert);
    while (ok && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        ok = SSL_CTX_add0_chain_cert(ctx, cert) == 1;
        if (!ok)
            X509_free(cert);
    }
    // The end of the text is told as an error, too.
    bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    BIO_free(bio);
    return ok && at_end ? TLS_OK : TLS_BAD_CERTIFICATE;
}

static enum tls_result use_key(SSL_CTX *ctx, struct str text)
{
    bool is_locked = false;
    BIO *bio = memory(text);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, &is_locked) : NULL;
    BIO_free(bio);
    if (!key)
        return is_locked ? TLS_LOCKED_KEY : TLS_BAD_KEY;
    bool ok = SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;
    EVP_PKEY_free(key);
    return ok ? TLS_OK : TLS_MISMATCH;
}

// Counts records that make OpenSSL work and give us nothing: new keys, attempts to renegotiate,
// warnings. It reads on behind each, so that a client which sends nothing else would keep the
// thread in one call, where no time-out reaches it.
static void on_message(int is_ours, int version, int type, const void *bytes, size_t len, SSL *ssl,
                       void *arg)
{
    struct stream *s = arg;
    (void)version;
    // TLS 1.3 hides the type in a record that looks like bytes.
    bool tells_type = type == SSL3_RT_HEADER || type == SSL3_RT_INNER_CONTENT_TYPE;
    if (!s || is_ours || !tells_type || len == 0 || !SSL_is_init_finished(ssl))
        return;
    if (*(const unsigned char *)bytes != SSL3_RT_APPLICATION_DATA
        && s->empty_records <= EMPTY_RECORDS_MAX)
        s->empty_records++;
}

// Called before and behind what OpenSSL does with the socket: a stream with too many empty records
// reads no more. What is buffered of it already is looked at still.
static long on_socket(BIO *bio, int call, const char *bytes, size_t size, int number, long arg,
                      int result, size_t *len)
{
    const struct stream *s = (const struct stream *)(void *)BIO_get_callback_arg(bio);
    (void)bytes;
    (void)size;
    (void)number;
    (void)arg;
    (void)len;
    if (call != BIO_CB_READ || s->empty_records <= EMPTY_RECORDS_MAX)
        return result;
    BIO_clear_retry_flags(bio);
    return -1;
}

bool tls_is_flooded(const struct stream *s)
{
    return s->is_cut && s->empty_records > EMPTY_RECORDS_MAX;
}

static bool set_up(SSL_CTX *ctx)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION
                                 | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE
                              | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // Sessions are resumed by tickets, which the clients keep.
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    SSL_CTX_set_msg_callback(ctx, on_message);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1
           && SSL_CTX_set_cipher_list(ctx, CIPHERS) == 1 && SSL_CTX_set_num_tickets(ctx, 1) == 1;
}

struct tls_context *tls_context_new(struct str certificate, struct str key,
                                    enum tls_result *out_result)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    enum tls_result result = ctx && set_up(ctx) ? TLS_OK : TLS_FAILED;
    if (result == TLS_OK)
        result = use_certificate(ctx, certificate);
    if (result == TLS_OK)
        result = use_key(ctx, key);
    ERR_clear_error();
    *out_result = result;
    if (result == TLS_OK)
        return (struct tls_context *)ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

void tls_context_free(struct tls_context *context)
{
    SSL_CTX_free(ctx_of(context));
}

const char *tls_result_text(enum tls_result result)
{
    switch (result) {
    case TLS_OK:
        return "is fine";
    case TLS_BAD_CERTIFICATE:
        return "holds no certificate in PEM that can be used";
    case TLS_BAD_KEY:
        return "holds no private key in PEM";
    case TLS_LOCKED_KEY:
        return "holds a private key with a password, one without was expected";
    case TLS_MISMATCH:
        return "holds another key than that of the certificate";
    case TLS_FAILED:
        return "cannot be used: OpenSSL refuses";
    }
    return "?";
}

// What a call of OpenSSL means for the stream: 0 at the end, or -errno.
static ssize_t failure(struct stream *s, int rc)
{
    SSL *ssl = s->tls;
    int reason = SSL_get_error(ssl, rc);
    switch (reason) {
    case SSL_ERROR_WANT_READ:
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        s->wants_write = true;
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        s->is_cut = true;
        return reason == SSL_ERROR_SYSCALL && errno ? -errno : -EPROTO;
    }
}

static void tls_release(struct stream *s);

// A client that asks for http:// at the port of https:// can be told so, but only without TLS.
static bool is_misled(void)
{
    int reason = ERR_GET_REASON(ERR_peek_error());
    return reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST;
}

static ssize_t tls_read(struct stream *s, void *room, size_t size)
{
    size_t len = 0;
    ERR_clear_error();
    errno = 0;
    s->wants_write = false;
    int rc = SSL_read_ex(s->tls, room, size, &len);
    if (rc == 1)
        return (ssize_t)len;
    ssize_t error = failure(s, rc);
    if (s->is_cut && is_misled()) {
        tls_release(s);
        stream_make_plain(s);
        s->is_misled = true;
    }
    return error;
}

static ssize_t write_some(struct stream *s, const void *bytes, size_t size)
{
    size_t len = 0;
    ERR_clear_error();
    errno = 0;
    int rc = SSL_write_ex(s->tls, bytes, size, &len);
    if (rc == 1)
        return (ssize_t)len;
    ssize_t error = failure(s, rc);
    return error == 0 ? -EPIPE : error;
}

// What has gone out counts; the error comes again.
static ssize_t tls_write(struct stream *s, const struct iovec *iov, size_t count, bool more)
{
    ssize_t total = 0;
    (void)more;
    for (size_t i = 0; i < count; i++) {
        for (size_t done = 0; done < iov[i].iov_len;) {
            const char *from = iov[i].iov_base;
            ssize_t n = write_some(s, from + done, iov[i].iov_len - done);
            if (n < 0)
                return total > 0 ? total : n;
            done += (size_t)n;
            total += n;
        }
    }
    return total;
}

static ssize_t tls_send_file(struct stream *s, int file, off_t *offset, size_t count)
{
    char record[RECORD_BYTES];
    size_t total = 0;
    while (total < count) {
        size_t want = count - total < sizeof record ? count - total : sizeof record;
        ssize_t got = pread(file, record, want, *offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return total > 0 ? (ssize_t)total : (got < 0 ? -errno : 0);
        ssize_t n = write_some(s, record, (size_t)got);
        if (n < 0)
            return total > 0 ? (ssize_t)total : n;
        *offset += n;
        total += (size_t)n;
    }
    return (ssize_t)total;
}

static void say_end(struct stream *s)
{
    SSL *ssl = s->tls;
    if (!s->is_cut && SSL_is_init_finished(ssl) && !(SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN)) {
        ERR_clear_error();
        (void)SSL_shutdown(ssl);
    }
}

static void tls_end(struct stream *s)
{
    say_end(s);
    sock_shutdown_write(s->fd);
}

static void tls_reset(struct stream *s)
{
    s->is_cut = true;
    sock_reset_on_close(s->fd);
}

static void tls_release(struct stream *s)
{
    say_end(s);
    SSL_free(s->tls);
    ERR_clear_error();
    s->tls = NULL;
}

static const struct stream_ops OPS = {
    .read = tls_read,
    .write = tls_write,
    .send_file = tls_send_file,
    .end = tls_end,
    .reset = tls_reset,
    .release = tls_release,
};

int tls_start(struct stream *s, struct tls_context *context)
{
    SSL *ssl = SSL_new(ctx_of(context));
    if (!ssl || SSL_set_fd(ssl, s->fd) != 1) {
        SSL_free(ssl);
        ERR_clear_error();
        return -ENOMEM;
    }
    SSL_set_accept_state(ssl);
    SSL_set_msg_callback_arg(ssl, s);
    BIO_set_callback_arg(SSL_get_rbio(ssl), (char *)(void *)s);
    BIO_set_callback_ex(SSL_get_rbio(ssl), on_socket);
    s->tls = ssl;
    s->ops = &OPS;
    return 0;
}
