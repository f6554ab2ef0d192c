/*
 * tls_stream.h - the TLS of one connection: bytes in, bytes out, no socket.
 *
 * Decrypts at once whatever comes in; keeps output in clear text until the
 * socket takes more, so that an idle connection holds no buffers.  One thread
 * at a time.
 */
#ifndef HW_TLS_STREAM_H
#define HW_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/types.h>

#include "reader.h"

struct buffer;
struct error;
struct tls_stream;
struct certificate;

enum {
    TLS_CHUNK = 128 * 1024,   /* clear text that becomes one write */
    TLS_OUT_MAX = 256 * 1024, /* ciphertext, what TLS says itself included */
    TLS_MESSAGES_MAX = 16,    /* after the handshake, between two bytes of data:
                                 KeyUpdate costs us more than the sender */
    TLS_DIGEST = 32,
    TLS_FINGERPRINT = 20
};

/* The end that context is for.  A client's begins once tls_stream_receive is
 * called, with nothing. */
struct tls_stream *tls_stream_new(SSL_CTX *context, struct error *err);
void tls_stream_free(struct tls_stream *tls); /* NULL is fine */

/* Where clear text goes; -1 ends it. */
typedef int tls_sink(void *arg, const void *data, size_t size);

enum tls_state {
    TLS_OPEN,  /* goes on */
    TLS_ENDED, /* the other side closed, or sink returned -1 */
    TLS_FAILED /* *err; an alert may have to be sent */
};

/* Takes all of data. */
enum tls_state tls_stream_receive(struct tls_stream *tls, struct span data,
                                  tls_sink *sink, void *arg, struct error *err);

/* Takes what clear has; it counts as unsent until it is sealed. */
void tls_stream_give(struct tls_stream *tls, struct buffer *clear);
size_t tls_stream_unsent(const struct tls_stream *tls);

/* The next ciphertext to write, at most TLS_OUT_MAX, into the empty out.  last:
 * ends with TLS's close_notify once nothing is left.  -1: close the connection.
 */
int tls_stream_seal(struct tls_stream *tls, bool last, struct buffer *out);

bool tls_stream_is_up(const struct tls_stream *tls); /* handshake done */
/* Static names, once it is up. */
const char *tls_stream_version(const struct tls_stream *tls);
const char *tls_stream_cipher(const struct tls_stream *tls);
/* SHA-256 of the certificate that the server showed. */
bool tls_stream_digest(const struct tls_stream *tls, uint8_t out[TLS_DIGEST]);
/* SHA-1 of that certificate, which nodes prove to each other. */
bool tls_stream_fingerprint(const struct tls_stream *tls,
                            uint8_t out[TLS_FINGERPRINT]);

/* TLS 1.2 and later, forward secret, authenticated ciphers; no renegotiation,
 * compression, tickets or session cache.  NULL with *err.  SSL_CTX_free; a
 * connection under way keeps its own reference. */
SSL_CTX *tls_context_new(const struct certificate *certificate,
                         struct error *err);
/* For links to other nodes, each of which proves its certificate by itself: no
 * authority is asked.  TLS 1.3 alone: with an older version an unauthenticated
 * peer chooses the numbers that the loop computes with, for seconds. */
SSL_CTX *tls_context_for_links(struct error *err);
/* Returns OpenSSL's reason for what just failed on this thread, and clears it.
 */
const char *tls_reason(void);

#endif
