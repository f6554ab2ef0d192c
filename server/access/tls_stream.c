/*
 * tls_stream.c - see tls_stream.h.
 *
 * OpenSSL is given a BIO of our own whose two ends are the caller's bytes and a
 * buffer: it never sees the socket, so one place (the session) does all
 * reading, writing and waiting, with TLS and without, and input is not copied
 * first.  Output stays in clear text until there is room to send, since
 * ciphertext would have to be kept for each slow client.  Cost: an idle
 * connection has no buffers, only OpenSSL's state.
 */
#include "tls_stream.h"

#include <pthread.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "buffer.h"
#include "certificate.h"
#include "errors.h"
#include "memory.h"

/* ---- what all connections share ---- */

/* For TLS 1.2: forward secret and authenticated; all those of TLS 1.3 are. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

const char *
tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return reason ? reason : "no reason given";
}

static bool
use_certificate(SSL_CTX *ctx, const struct certificate *c)
{
    return SSL_CTX_use_certificate(ctx, c->leaf) == 1 &&
           (!c->chain || SSL_CTX_set1_chain(ctx, c->chain) == 1) &&
           SSL_CTX_use_PrivateKey(ctx, c->key) == 1;
}

/* For both ends: most connections are idle, so buffers are not kept. */
static void
save_memory(SSL_CTX *ctx)
{
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ctx, 0);
}

SSL_CTX *
tls_context_new(const struct certificate *certificate, struct error *err)
{
    SSL_CTX *ctx;

    ERR_clear_error();
    ctx = SSL_CTX_new(TLS_server_method());
    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(ctx, CIPHERS) != 1 ||
        SSL_CTX_set_num_tickets(ctx, 0) != 1 ||
        !use_certificate(ctx, certificate)) {
        error_set(err, ER_WRONG_VALUE, "TLS cannot use the certificate: %s",
                  tls_reason());
        SSL_CTX_free(ctx);
        return NULL;
    }
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_NO_TICKET | SSL_OP_CLEANSE_PLAINTEXT |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    save_memory(ctx);
    return ctx;
}

SSL_CTX *
tls_context_for_links(struct error *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1) {
        error_set(err, ER_UNKNOWN, "TLS cannot begin: %s", tls_reason());
        SSL_CTX_free(ctx);
        return NULL;
    }
    save_memory(ctx);
    return ctx;
}

enum { RECORD = 16 * 1024 };

struct tls_stream {
    SSL *ssl;
    struct span in;      /* borrowed while tls_stream_receive runs */
    struct buffer out;   /* ciphertext for the next write */
    struct buffer clear; /* sealed up to sealed */
    size_t sealed;
    unsigned messages; /* since the last data */
    bool finished;     /* the other end's handshake */
    bool up, failed, close_notify_sent;
};

/* OpenSSL reads from and writes to the stream. */

static int
bio_read(BIO *bio, char *out, size_t size, size_t *done)
{
    struct tls_stream *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    /* There is no more input now: SSL_read_ex then says WANT_READ. */
    if (tls->in.size == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    *done = size < tls->in.size ? size : tls->in.size;
    memcpy(out, tls->in.data, *done);
    tls->in.data += *done;
    tls->in.size -= *done;
    return 1;
}

static int
bio_write(BIO *bio, const char *data, size_t size, size_t *done)
{
    struct tls_stream *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    buffer_add(&tls->out, data, size);
    *done = tls->out.failed ? 0 : size;
    return *done > 0;
}

static long
bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH; /* there is nothing to flush */
}

/* Made once for the process; NULL: no memory. */
static BIO_METHOD *bio_method;

static void
make_method(void)
{
    BIO_METHOD *made =
        BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "heapwire");

    if (made && BIO_meth_set_read_ex(made, bio_read) == 1 &&
        BIO_meth_set_write_ex(made, bio_write) == 1 &&
        BIO_meth_set_ctrl(made, bio_control) == 1)
        bio_method = made;
    else
        BIO_meth_free(made);
}

/* pthread_once: sessions are made under the loop's lock, links to nodes without
 * it. */
static BIO *
new_bio(struct tls_stream *tls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    BIO *bio;

    (void)pthread_once(&once, make_method);
    bio = bio_method ? BIO_new(bio_method) : NULL;
    if (!bio)
        return NULL;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    return bio;
}

/* Counts handshake messages after the last one of the handshake (Finished);
 * they may come in one piece with it.  A client could otherwise keep us
 * deriving keys with an endless run of KeyUpdate. */
static void
on_message(int writing, int version, int type, const void *data, size_t size,
           SSL *ssl, void *arg)
{
    struct tls_stream *tls = arg;

    (void)ssl;
    (void)version;
    if (writing || type != SSL3_RT_HANDSHAKE || size == 0)
        return;
    tls->messages += tls->finished;
    tls->finished = tls->finished || *(const uint8_t *)data == SSL3_MT_FINISHED;
}

struct tls_stream *
tls_stream_new(SSL_CTX *context, struct error *err)
{
    struct tls_stream *tls = mem_zalloc(1, sizeof(*tls));
    BIO *bio;

    if (!tls)
        goto out;
    buffer_init(&tls->out, TLS_OUT_MAX);
    tls->ssl = SSL_new(context);
    bio = tls->ssl ? new_bio(tls) : NULL;
    if (!bio)
        goto out;
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_msg_callback(tls->ssl, on_message);
    SSL_set_msg_callback_arg(tls->ssl, tls);
    if (SSL_is_server(tls->ssl))
        SSL_set_accept_state(tls->ssl);
    else
        SSL_set_connect_state(tls->ssl);
    return tls;
out:
    tls_stream_free(tls);
    ERR_clear_error();
    error_memory(err, "a TLS connection");
    return NULL;
}

void
tls_stream_free(struct tls_stream *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    buffer_fini(&tls->out);
    buffer_fini(&tls->clear);
    mem_free(tls);
}

static enum tls_state
fail_tls_stream(struct tls_stream *tls, const char *why, struct error *err)
{
    tls->failed = true;
    error_set(err, ER_HANDSHAKE, "%s", why);
    ERR_clear_error();
    return TLS_FAILED;
}

/* Decrypts tls->in. */
static enum tls_state
decrypt_tls_input(struct tls_stream *tls, tls_sink *sink, void *arg,
                  struct error *err)
{
    char clear[RECORD]; /* may hold a password, so it is wiped below */
    size_t size;
    bool got;
    int rc;

    for (;;) {
        ERR_clear_error();
        got = SSL_read_ex(tls->ssl, clear, sizeof(clear), &size) == 1;
        /* checked before the data behind them is used */
        if (tls->messages > TLS_MESSAGES_MAX) {
            explicit_bzero(clear, sizeof(clear));
            return fail_tls_stream(tls, "too many messages without data", err);
        }
        if (!got)
            break;
        tls->messages = 0;
        tls->up = true;
        rc = sink(arg, clear, size);
        explicit_bzero(clear, size);
        if (rc != 0)
            return TLS_ENDED;
    }
    switch (SSL_get_error(tls->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
        tls->up = tls->up || SSL_is_init_finished(tls->ssl);
        break;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_ENDED;
    default:
        return fail_tls_stream(tls, tls_reason(), err);
    }
    return TLS_OPEN;
}

enum tls_state
tls_stream_receive(struct tls_stream *tls, struct span data, tls_sink *sink,
                   void *arg, struct error *err)
{
    enum tls_state state;

    if (tls->failed)
        return TLS_ENDED;
    tls->in = data;
    state = decrypt_tls_input(tls, sink, arg, err);
    /* the sink may have ended it before all was read */
    tls->in = (struct span){"", 0};
    return state;
}

bool
tls_stream_is_up(const struct tls_stream *tls)
{
    return tls->up;
}

size_t
tls_stream_unsent(const struct tls_stream *tls)
{
    return tls->clear.size - tls->sealed;
}

void
tls_stream_give(struct tls_stream *tls, struct buffer *clear)
{
    size_t max = clear->max;

    if (tls_stream_unsent(tls) > 0 || clear->size == 0)
        return; /* the former block is sealed and sent first */
    buffer_fini(&tls->clear);
    tls->clear = *clear;
    tls->sealed = 0;
    buffer_init(clear, max);
}

static int
seal_data(struct tls_stream *tls)
{
    size_t size = tls_stream_unsent(tls), done;

    if (size == 0)
        return 0;
    if (size > TLS_CHUNK)
        size = TLS_CHUNK;
    /* Reserved once instead of by doubling; records add little.  bio_write
     * takes everything or fails, so there are no partial writes. */
    if (!buffer_reserve(&tls->out, size + size / 64 + 256) ||
        SSL_write_ex(tls->ssl, tls->clear.data + tls->sealed, size, &done) != 1)
        return -1;
    tls->sealed += done;
    if (tls_stream_unsent(tls) > 0)
        return 0;
    buffer_fini(&tls->clear);
    tls->sealed = 0;
    return 0;
}

int
tls_stream_seal(struct tls_stream *tls, bool last, struct buffer *out)
{
    ERR_clear_error();
    if (!tls->failed && tls_stream_is_up(tls)) {
        if (seal_data(tls) != 0) {
            tls->failed = true;
            ERR_clear_error();
            return -1;
        }
        if (last && !tls->close_notify_sent && tls_stream_unsent(tls) == 0) {
            tls->close_notify_sent = true;
            SSL_shutdown(tls->ssl);
            ERR_clear_error();
        }
    }
    if (tls->out.failed)
        return -1;
    *out = tls->out;
    buffer_init(&tls->out, TLS_OUT_MAX);
    return 0;
}

const char *
tls_stream_version(const struct tls_stream *tls)
{
    return SSL_get_version(tls->ssl);
}

const char *
tls_stream_cipher(const struct tls_stream *tls)
{
    return SSL_get_cipher_name(tls->ssl);
}

static bool
hash_tls_certificate(const struct tls_stream *tls, const EVP_MD *kind,
                     size_t size, uint8_t *out)
{
    const X509 *shown = SSL_is_server(tls->ssl)
                            ? SSL_get_certificate(tls->ssl)
                            : SSL_get0_peer_certificate(tls->ssl);
    unsigned written = 0;

    return shown && X509_digest(shown, kind, out, &written) == 1 &&
           written == size;
}

bool
tls_stream_digest(const struct tls_stream *tls, uint8_t out[TLS_DIGEST])
{
    return hash_tls_certificate(tls, EVP_sha256(), TLS_DIGEST, out);
}

bool
tls_stream_fingerprint(const struct tls_stream *tls,
                       uint8_t out[TLS_FINGERPRINT])
{
    return hash_tls_certificate(tls, EVP_sha1(), TLS_FINGERPRINT, out);
}
