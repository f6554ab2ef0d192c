/*
 * keeper_key.c - see keeper_wire.h.
 *
 * OpenSSL insists on a private key before it makes a handshake.  This one has
 * the public parts, and methods whose signing asks the keeper; all else is
 * OpenSSL's.  OpenSSL 3 calls such methods deprecated in favour of providers,
 * which take several times the code for the same.  A signature runs within a
 * handshake, on the thread that has the session.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "keeper_wire.h"

#include <pthread.h>
#include <stdbool.h>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "errors.h"
#include "log.h"

/* Made once and kept. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static RSA_METHOD *rsa_method;
static EC_KEY_METHOD *ec_method;
/* Indexes of a key's extra data: its signer, and its certificate's number. */
static int rsa_signer, rsa_number, ec_signer, ec_number;

static int
sign_tls_digest(struct keeper_signer *signer, const void *number, int padding,
                const void *digest, int digest_size, uint8_t *out, size_t *size)
{
    struct span span = {digest, (size_t)digest_size};
    struct error err;

    if (signer->sign(signer, (uint32_t)(uintptr_t)number, padding, span, out,
                     size, &err) == 0)
        return 0;
    log_ratelimited("a TLS handshake failed: %s", err.text);
    return -1;
}

static int
rsa_sign(int size, const unsigned char *digest, unsigned char *out, RSA *rsa,
         int padding)
{
    size_t written = (size_t)RSA_size(rsa);

    return sign_tls_digest(RSA_get_ex_data(rsa, rsa_signer),
                           RSA_get_ex_data(rsa, rsa_number), padding, digest,
                           size, out, &written) == 0
               ? (int)written
               : -1;
}

static int
ec_sign(int type, const unsigned char *digest, int digest_size,
        unsigned char *out, unsigned *size, const BIGNUM *kinv, const BIGNUM *r,
        EC_KEY *ec)
{
    size_t written = (size_t)ECDSA_size(ec);

    (void)type;
    (void)kinv;
    (void)r;
    if (sign_tls_digest(EC_KEY_get_ex_data(ec, ec_signer),
                        EC_KEY_get_ex_data(ec, ec_number), 0, digest,
                        digest_size, out, &written) != 0)
        return 0;
    *size = (unsigned)written;
    return 1;
}

static void
make_methods(void)
{
    /* Extra data of a key is found by an index that the process draws once. */
    rsa_signer = RSA_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    rsa_number = RSA_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    ec_signer = EC_KEY_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    ec_number = EC_KEY_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    rsa_method = RSA_meth_dup(RSA_PKCS1_OpenSSL());
    ec_method = EC_KEY_METHOD_new(EC_KEY_OpenSSL());
    if (rsa_method)
        /* OpenSSL signs by "encrypting" with the private key. */
        RSA_meth_set_priv_enc(rsa_method, rsa_sign);
    if (ec_method)
        EC_KEY_METHOD_set_sign(ec_method, ec_sign, NULL, NULL);
}

static bool
assign_rsa(EVP_PKEY *out, EVP_PKEY *public, struct keeper_signer *signer,
           void *number)
{
    const RSA *from = EVP_PKEY_get0_RSA(public);
    RSA *rsa = from ? RSAPublicKey_dup(from) : NULL;

    if (rsa && RSA_set_method(rsa, rsa_method) == 1 &&
        RSA_set_ex_data(rsa, rsa_signer, signer) == 1 &&
        RSA_set_ex_data(rsa, rsa_number, number) == 1 &&
        EVP_PKEY_assign_RSA(out, rsa) == 1)
        return true;
    RSA_free(rsa);
    return false;
}

static bool
assign_ec(EVP_PKEY *out, EVP_PKEY *public, struct keeper_signer *signer,
          void *number)
{
    const EC_KEY *from = EVP_PKEY_get0_EC_KEY(public);
    EC_KEY *ec = from ? EC_KEY_dup(from) : NULL;

    if (ec && EC_KEY_set_method(ec, ec_method) == 1 &&
        EC_KEY_set_ex_data(ec, ec_signer, signer) == 1 &&
        EC_KEY_set_ex_data(ec, ec_number, number) == 1 &&
        EVP_PKEY_assign_EC_KEY(out, ec) == 1)
        return true;
    EC_KEY_free(ec);
    return false;
}

EVP_PKEY *
keeper_key_new(struct keeper_signer *signer, uint32_t number, EVP_PKEY *public,
               struct error *err)
{
    EVP_PKEY *key = EVP_PKEY_new();
    void *n = (void *)(uintptr_t)number;

    pthread_once(&once, make_methods);
    if (key && rsa_method && ec_method &&
        (EVP_PKEY_get_base_id(public) == EVP_PKEY_RSA
             ? assign_rsa(key, public, signer, n)
             : assign_ec(key, public, signer, n)))
        return key;
    EVP_PKEY_free(key);
    error_set(err, ER_UNKNOWN,
              "OpenSSL accepts no key that another process has");
    return NULL;
}
