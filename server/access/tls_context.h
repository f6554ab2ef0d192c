/*
 * tls_context.h - what all TLS connections of a heapwired share.
 */
#ifndef HW_TLS_CONTEXT_H
#define HW_TLS_CONTEXT_H

#include <openssl/types.h>

struct certificate;
struct error;

/* TLS 1.2 and later, forward secret, authenticated ciphers; no renegotiation,
 * compression, tickets or session cache.  NULL with *err.  SSL_CTX_free; a
 * connection under way keeps its own reference. */
SSL_CTX *tls_context_new(const struct certificate *certificate,
                         struct error *err);

/* For links to other nodes, each of which proves its certificate by itself: no
 * authority is asked.  TLS 1.3 alone: with an older version a stranger chooses
 * the numbers that the loop computes with, for seconds. */
SSL_CTX *tls_context_for_links(struct error *err);

/* OpenSSL's reason for what just failed on this thread, and forgets it. */
const char *tls_reason(void);

#endif
