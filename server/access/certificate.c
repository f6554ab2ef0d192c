/*
 * certificate.c - see certificate.h.
 *
 * OpenSSL keeps errors in a queue of the thread: it is cleared before work, so
 * that a reason is not of something else, and after it, so that a later call on
 * this thread (TLS of a session) does not find it.
 */
#include "certificate.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "buffer.h"
#include "errors.h"

enum { SERIAL_BITS = 127, DAY_S = 24 * 3600, HOST_MAX = 64 };

void
certificate_fini(struct certificate *c)
{
    X509_free(c->leaf);
    sk_X509_pop_free(c->chain, X509_free);
    EVP_PKEY_free(c->key);
    memset(c, 0, sizeof(*c));
}

/* Adds OpenSSL's own reason, if there is one. */
static int
set_certificate_error(struct error *err, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    error_set(err, ER_WRONG_VALUE, "%s%s%s%s", what, reason ? " (" : "",
              reason ? reason : "", reason ? ")" : "");
    ERR_clear_error();
    return -1;
}

/* ---- reading ---- */

/* A daemon has no terminal to ask for a passphrase. */
static int
no_passphrase(char *out, int size, int writing, void *arg)
{
    (void)out;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static int
parse_certs(struct certificate *c, BIO *pem, struct error *err)
{
    X509 *next;

    c->leaf = PEM_read_bio_X509(pem, NULL, no_passphrase, NULL);
    if (!c->leaf)
        return set_certificate_error(err, "holds no certificate in PEM form");
    c->chain = sk_X509_new_null();
    while (c->chain &&
           (next = PEM_read_bio_X509(pem, NULL, no_passphrase, NULL))) {
        if (sk_X509_num(c->chain) >= CERTIFICATE_CHAIN_MAX ||
            sk_X509_push(c->chain, next) == 0) {
            X509_free(next);
            error_set(err, ER_WRONG_VALUE, "holds more than %d certificates",
                      CERTIFICATE_CHAIN_MAX + 1);
            return -1;
        }
    }
    if (!c->chain)
        return set_certificate_error(err, "cannot be held in memory");
    /* The loop ends at the end of the file, which OpenSSL reports as "no start
     * line"; any other reason is a broken certificate. */
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return set_certificate_error(
            err, "has a broken certificate behind its first");
    ERR_clear_error(); /* the end of the file */
    return 0;
}

/* Types whose signatures the keeper can make for another process. */
static bool
is_of_use(const EVP_PKEY *key)
{
    int kind = EVP_PKEY_get_base_id(key);

    return kind == EVP_PKEY_EC ||
           (kind == EVP_PKEY_RSA &&
            EVP_PKEY_get_bits(key) <= CERTIFICATE_RSA_MAX);
}

int
certificate_parse(struct certificate *out, struct span certs, struct span key,
                  struct error *err)
{
    BIO *certs_pem = BIO_new_mem_buf(certs.data, (int)certs.size);
    BIO *key_pem = BIO_new_mem_buf(key.data, (int)key.size);
    struct certificate c = {0};
    int rc = -1;

    ERR_clear_error();
    if (!certs_pem || !key_pem) {
        error_memory(err, "a certificate");
        goto out;
    }
    if (parse_certs(&c, certs_pem, err) != 0)
        goto out;
    c.key = PEM_read_bio_PrivateKey(key_pem, NULL, no_passphrase, NULL);
    if (!c.key) {
        set_certificate_error(
            err, "the key's file holds no private key in PEM form that can "
                 "be read without a passphrase");
        goto out;
    }
    if (!is_of_use(c.key)) {
        error_set(err, ER_WRONG_VALUE,
                  "the key must be of RSA, of at most %d bits, or of an "
                  "elliptic curve",
                  CERTIFICATE_RSA_MAX);
        goto out;
    }
    if (X509_check_private_key(c.leaf, c.key) != 1) {
        ERR_clear_error();
        error_set(err, ER_WRONG_VALUE, "the key is not the certificate's");
        goto out;
    }
    *out = c;
    memset(&c, 0, sizeof(c));
    rc = 0;
out:
    certificate_fini(&c);
    BIO_free(certs_pem);
    BIO_free(key_pem);
    return rc;
}

int
certificate_days_left(const struct certificate *c)
{
    int days = 0, seconds = 0;

    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(c->leaf)) != 1)
        return -1;
    return seconds < 0 ? days - 1 : days;
}

/* ---- making ---- */

/* Host names end up in OpenSSL's list syntax, where a comma or a colon would
 * add entries. */
static bool
is_plain_host_name(const char *host)
{
    if (!*host || strlen(host) > HOST_MAX)
        return false;
    for (const char *p = host; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '.')
            return false;
    return true;
}

static bool
add_extension(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    bool ok = extension && X509_add_ext(cert, extension, -1) == 1;

    X509_EXTENSION_free(extension);
    return ok;
}

static bool
fill_serial(X509 *cert)
{
    BIGNUM *number = BN_new();
    bool ok = number &&
              /* RFC 5280: a positive number of at most 20 bytes, not guessable.
               */
              BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY,
                      BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));

    BN_free(number);
    return ok;
}

/* "0.0.0.0" and "::" stand for all addresses of a machine, so a certificate
 * cannot name them. */
static bool
is_specific_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)] = {0},
                                      zero[sizeof(bytes)] = {0};

    return (inet_pton(AF_INET, text, bytes) == 1 ||
            inet_pton(AF_INET6, text, bytes) == 1) &&
           memcmp(bytes, zero, sizeof(bytes)) != 0;
}

static bool
fill_certificate_fields(X509 *cert, EVP_PKEY *key, const char *host,
                        const char *address)
{
    static const char common[] = "heapwire";
    X509_NAME *name = X509_get_subject_name(cert);
    char names[HOST_MAX + INET6_ADDRSTRLEN + 64];

    snprintf(names, sizeof(names), "DNS:localhost,IP:127.0.0.1,IP:::1%s%s%s%s",
             is_plain_host_name(host) ? ",DNS:" : "",
             is_plain_host_name(host) ? host : "",
             is_specific_address(address) ? ",IP:" : "",
             is_specific_address(address) ? address : "");
    /* Valid from yesterday on, as clients' clocks may be behind. */
    return X509_set_version(cert, X509_VERSION_3) == 1 && fill_serial(cert) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), CERTIFICATE_DAYS, 0,
                            NULL) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                      (const unsigned char *)common, -1, -1,
                                      0) == 1 &&
           X509_set_issuer_name(cert, name) == 1 &&
           X509_set_pubkey(cert, key) == 1 &&
           add_extension(cert, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, NID_ext_key_usage, "serverAuth") &&
           add_extension(cert, NID_subject_alt_name, names) &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

int
certificate_init(struct certificate *out, const char *host, const char *address,
                 struct error *err)
{
    struct certificate c = {.leaf = X509_new(), .key = EVP_EC_gen("P-256")};

    if (!c.leaf || !c.key ||
        !fill_certificate_fields(c.leaf, c.key, host, address)) {
        set_certificate_error(err, "OpenSSL cannot make a certificate");
        certificate_fini(&c);
        return -1;
    }
    *out = c;
    return 0;
}

static void
take_pem(struct buffer *out, BIO *pem)
{
    char *data = NULL;
    long size = BIO_get_mem_data(pem, &data);

    if (size > 0)
        buffer_add(out, data, (size_t)size);
}

int
certificate_print(const struct certificate *c, struct buffer *certs,
                  struct buffer *key, struct error *err)
{
    BIO *certs_pem = BIO_new(BIO_s_mem());
    /* secure memory is wiped when it is freed */
    BIO *key_pem = BIO_new(BIO_s_secmem());
    int rc = -1;

    if (certs_pem && key_pem && PEM_write_bio_X509(certs_pem, c->leaf) == 1 &&
        PEM_write_bio_PKCS8PrivateKey(key_pem, c->key, NULL, NULL, 0, NULL,
                                      NULL) == 1) {
        take_pem(certs, certs_pem);
        take_pem(key, key_pem);
        if (!certs->failed && !key->failed)
            rc = 0;
    }
    if (rc != 0)
        set_certificate_error(err, "OpenSSL cannot write a certificate");
    BIO_free(certs_pem);
    BIO_free(key_pem);
    return rc;
}
