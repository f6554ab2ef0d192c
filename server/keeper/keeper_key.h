/*
 * keeper_key.h - a private key of OpenSSL's whose private half is the keeper's.
 *
 * RSA and elliptic curves: OpenSSL's own methods, but for the one that signs.
 */
#ifndef HW_KEEPER_KEY_H
#define HW_KEEPER_KEY_H

#include <stdint.h>
#include <openssl/types.h>

struct error;
struct keeper;

/* Of the certificate of that number, whose public key is given.  NULL with
 * *err. */
EVP_PKEY *keeper_key_new(struct keeper *keeper, uint32_t number,
                         EVP_PKEY *public, struct error *err);
#endif
