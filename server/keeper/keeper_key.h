/*
 * keeper_key.h - an OpenSSL private key that signs by asking the keeper.
 *
 * RSA and elliptic curves: OpenSSL's own methods, except for signing.
 */
#ifndef HW_KEEPER_KEY_H
#define HW_KEEPER_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <openssl/types.h>

#include "reader.h"

struct error;

struct keeper_signer {
    /* Signs with the key of the certificate of that number; padding is one of
     * RSA's, or 0. *size: its room, then what was written.  -1 with *err. */
    int (*sign)(struct keeper_signer *signer, uint32_t number, int padding,
                struct span digest, uint8_t *out, size_t *size,
                struct error *err);
};

/* For the certificate of that number and this public key; borrows the signer
 * for the key's life.  NULL with *err. */
EVP_PKEY *keeper_key_new(struct keeper_signer *signer, uint32_t number,
                         EVP_PKEY *public, struct error *err);

#endif
