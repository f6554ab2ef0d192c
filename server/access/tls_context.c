/* tls_context.c - see tls_context.h. */
#include "tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "certificate.h"
#include "errors.h"

/* For TLS 1.2; those of 1.3 are all good. */
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

/* As both ends need it: most connections are idle. */
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
