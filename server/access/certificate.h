/*
 * certificate.h - an X.509 certificate, its chain and its private key.
 *
 * Pure: PEM in, PEM out.  Files are certificate_files.h's.
 */
#ifndef HW_CERTIFICATE_H
#define HW_CERTIFICATE_H

#include <openssl/types.h>
#include <openssl/x509.h>

#include "reader.h"

struct buffer;
struct error;

enum {
    CERTIFICATE_DAYS = 3650,   /* validity of the certificates that we make */
    CERTIFICATE_EXPIRING = 30, /* days left of "about to expire" */
    CERTIFICATE_CHAIN_MAX = 10,
    CERTIFICATE_RSA_MAX = 8192 /* bits */
};

struct certificate {
    X509 *leaf;
    STACK_OF(X509) * chain; /* what leads from it to an authority */
    EVP_PKEY *key;          /* heapwired's signs by the keeper: keeper_key.h */
};

void certificate_fini(struct certificate *c); /* zeroed is fine */

/* The leaf comes first in certs; the key must be its own, of RSA or of an
 * elliptic curve, and not encrypted. */
int certificate_parse(struct certificate *out, struct span certs,
                      struct span key, struct error *err);

/* Self-signed, ECDSA on P-256, which old clients know, too.  Good for
 * localhost, for host and for address, a numeric one ("" for none). */
int certificate_make(struct certificate *out, const char *host,
                     const char *address, struct error *err);
int certificate_print(const struct certificate *c, struct buffer *certs,
                      struct buffer *key, struct error *err);

/* Whole days until it expires; negative once it has. */
int certificate_days_left(const struct certificate *c);

#endif
