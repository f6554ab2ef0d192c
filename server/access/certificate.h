/*
 * certificate.h - an X.509 certificate, its chain and its private key.
 *
 * Pure: PEM in, PEM out.  Files are certificate_files.c's.
 */
#ifndef HW_CERTIFICATE_H
#define HW_CERTIFICATE_H

#include <openssl/types.h>
#include <openssl/x509.h>
#include <stdbool.h>

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
    EVP_PKEY *key;          /* heapwired's signs by the keeper: keeper_wire.h */
};

void certificate_fini(struct certificate *c); /* zeroed is fine */

/* The leaf comes first in certs; the key must be its own, of RSA or of an
 * elliptic curve, and not encrypted. */
int certificate_parse(struct certificate *out, struct span certs,
                      struct span key, struct error *err);

/* Self-signed, ECDSA on P-256, which old clients know, too.  Good for
 * localhost, for host and for address, a numeric one ("" for none). */
int certificate_init(struct certificate *out, const char *host,
                     const char *address, struct error *err);
int certificate_print(const struct certificate *c, struct buffer *certs,
                      struct buffer *key, struct error *err);

/* Whole days until it expires; negative once it has. */
int certificate_days_left(const struct certificate *c);

/* ---- certificate_files.c ----
 * Reads a node's certificate: from the files that the configuration names, or
 * the node's own from its state directory. */

#define CERTIFICATE_OWN     "server-cert.pem"
#define CERTIFICATE_OWN_KEY "server-key.pem"
#define CERTIFICATE_NEW     "server-cert.pem.new"
#define CERTIFICATE_NEW_KEY "server-key.pem.new"

enum { CERTIFICATE_FILE_MAX = 256 * 1024, CERTIFICATE_NOTE = 1280 };

/* A line for the log; "": nothing to say. */
struct certificate_note {
    bool is_fault;
    char text[CERTIFICATE_NOTE];
};

/* Follows symbolic links (certbot hands its files out so); refuses a key that
 * others can read. */
int certificate_read(struct certificate *out, const char *cert_path,
                     const char *key_path, struct certificate_note *said,
                     struct error *err);

/* The certificate of an earlier start, or a new one if it is missing, broken or
 * about to expire.  dir: the state directory's descriptor; address: where the
 * node listens, numeric, or "". */
int certificate_own(struct certificate *out, int dir, const char *address,
                    struct certificate_note *said, struct error *err);

#endif
